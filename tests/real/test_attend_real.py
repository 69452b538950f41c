"""Attention captured from real models is what they give themselves; they stay as they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from oracle import own_attentions
from pictures import noise
from real_models import REAL_MODELS, marked
from sounds import hiss

import attnflow as af
from attnflow.models import attend

Load = Callable[[str], tuple[Any, Any]]
Weights = dict[str, NDArray[np.float32]]

# Float error of the model's own arithmetic between two implementations of its attention.
TOLERANCE = 1e-5

TAKE_TEXT = [name for name, each in REAL_MODELS.items() if each.text]
CAUSAL = ["smollm2", "iglm"]


def _inputs(model: Any, tokenizer: Any, name: str) -> dict[str, Any]:
    """What the model's forward takes for its example, by the model's own tokenizer."""
    example = REAL_MODELS[name]
    if name == "dinov2":
        return {"pixel_values": noise(112)}
    if not example.text:  # Whisper; start, no timestamps, " (", "water"
        said = torch.tensor([[50257, 50362, 357, 7050]])
        return {"input_features": hiss(), "decoder_input_ids": said}
    inputs = dict(tokenizer(example.text, return_tensors="pt"))
    if example.target is not None:
        said = tokenizer(example.target, add_special_tokens=False, return_tensors="pt").input_ids
        start = torch.tensor([[model.config.decoder_start_token_id]])
        inputs["decoder_input_ids"] = torch.cat([start, said], dim=1)
    return inputs


def _captured(model: Any, tokenizer: Any, name: str, **options: Any) -> Weights:
    example = REAL_MODELS[name]
    if example.text:
        found = attend(model, tokenizer, example.text, text_target=example.target, **options)
    else:
        [found] = attend(model, None, _inputs(model, None, name), **options)
    return _weights(found)


def _weights(found: Any) -> Weights:
    if isinstance(found, af.Attention):
        return {"self": found.weights}
    return {"encoder": found.encoder, "decoder": found.decoder, "cross": found.cross}


def _assert_close(found: Weights, expected: Weights) -> None:
    assert found.keys() == expected.keys() != set()
    for role, weights in expected.items():
        assert found[role].shape == weights.shape
        assert np.abs(found[role] - weights).max() < TOLERANCE, role


@pytest.mark.parametrize("name", marked(REAL_MODELS))
def test_captured_attention_equals_the_models_own_and_its_mean(real: Load, name: str):
    model, tokenizer = real(name)
    # The fused kernels hide the weights; transformers has none for MPNet.
    assert model.config._attn_implementation == ("eager" if name == "mpnet" else "sdpa")
    own = own_attentions(model, _inputs(model, tokenizer, name))
    _assert_close(_captured(model, tokenizer, name), own)
    mean = {role: weights.mean(axis=1, keepdims=True) for role, weights in own.items()}
    _assert_close(_captured(model, tokenizer, name, heads="mean"), mean)


@pytest.mark.parametrize("name", marked(REAL_MODELS))
def test_the_model_is_left_as_it_was(real: Load, name: str):
    model, tokenizer = real(name)
    inputs = _inputs(model, tokenizer, name)

    def state() -> tuple[Any, ...]:
        with torch.no_grad():
            output = model(**inputs)[0]
        hooks = sum(
            len(module._forward_hooks) + len(module._forward_pre_hooks)
            for module in model.modules()
        )
        modes = [module.training for module in model.modules()]
        return output, model.config._attn_implementation, model.config.to_dict(), hooks, modes

    output, *before = state()
    _ = _captured(model, tokenizer, name)
    output_after, *after = state()
    torch.testing.assert_close(output_after, output)
    assert before == after


@pytest.mark.parametrize("name", marked(TAKE_TEXT))
def test_texts_of_a_batch_are_as_if_alone_and_decoders_are_causal(real: Load, name: str):
    model, tokenizer = real(name)
    example = REAL_MODELS[name]
    texts = [example.text, example.text[: len(example.text) // 2]]
    targets = None if example.target is None else [example.target, example.target]
    together = attend(model, tokenizer, texts, text_target=targets)
    assert len(together) == 2
    assert all(getattr(found, "causal", False) == (name in CAUSAL) for found in together)
    for text, found in zip(texts, together, strict=True):
        alone = attend(model, tokenizer, text, text_target=example.target)
        assert found.tokens == alone.tokens
        _assert_close(_weights(found), _weights(alone))
