"""Pipelines of transformers, which hold a model and what reads its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnflow.models._model import checked_model

if TYPE_CHECKING:
    from torch import nn

# What a pipeline reads its input with, the most complete first.
_READERS = ("processor", "tokenizer", "image_processor", "feature_extractor")


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[nn.Module, Any]:
    """Return the checked model and the tokenizer or processor; a pipeline has both.

    A tokenizer that is passed with a pipeline is used instead of its own.
    """
    if is_pipeline(model):
        own = (getattr(model, name, None) for name in _READERS)
        if tokenizer is None:
            tokenizer = next((reader for reader in own if reader is not None), None)
        model = model.model
    return checked_model(model), tokenizer


def is_pipeline(model: object) -> bool:
    """Whether this is a pipeline of transformers, without an import of it."""
    return any(
        kind.__name__ == "Pipeline" and kind.__module__.startswith("transformers.")
        for kind in type(model).__mro__
    )
