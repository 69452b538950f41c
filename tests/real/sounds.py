"""Sounds as Whisper hears them: spectra of 30 seconds."""

from typing import Any

import numpy as np

RATE = 16_000  # samples a second, of all Whisper models
SECONDS = 5


def silence() -> Any:
    """No sound at all."""
    return _spectra(np.zeros(RATE * SECONDS, np.float32))


def hiss() -> Any:
    """White noise."""
    noise = np.random.default_rng(0).standard_normal(RATE * SECONDS, np.float32)
    return _spectra(0.1 * noise)


def _spectra(samples: Any) -> Any:
    from transformers import WhisperFeatureExtractor

    extractor = WhisperFeatureExtractor()
    return extractor(samples, sampling_rate=RATE, return_tensors="pt").input_features
