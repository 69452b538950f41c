"""The verb-number model: architecture, tokenizer, loading and accuracy."""

from typing import TYPE_CHECKING, Any

from attnflow.paper.model._accuracy import (
    Accuracies,
    Accuracy,
    accuracies,
    accuracy,
    accuracy_of_ids,
    by_attractors,
    count_attractors,
    pad,
)
from attnflow.paper.model._load import (
    CONFIG,
    SHIPPED,
    WEIGHTS,
    WORDS,
    is_verb_number,
    load,
    model_files,
    require_packages,
)
from attnflow.paper.model._tokenizer import MASK, PAD, SPECIAL, Vocabulary, tokenizer

if TYPE_CHECKING:
    from attnflow.paper.model._model import VerbNumberConfig, VerbNumberModel

__all__ = [
    "CONFIG", "MASK", "PAD", "SHIPPED", "SPECIAL", "WEIGHTS", "WORDS", "Accuracies", "Accuracy",
    "VerbNumberConfig", "VerbNumberModel", "Vocabulary", "accuracies", "accuracy",
    "accuracy_of_ids", "by_attractors", "count_attractors", "is_verb_number", "load", "model_files",
    "pad", "require_packages", "tokenizer",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the classes of the model on first use: they import torch and transformers."""
    if name in {"VerbNumberConfig", "VerbNumberModel"}:
        from attnflow.paper.model import _model  # noqa: PLC0415 - imports torch

        return getattr(_model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
