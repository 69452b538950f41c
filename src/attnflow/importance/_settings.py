"""Keyword settings that the functions of `attnflow.importance` share, for their overloads."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from attnflow._internal.checks import Progress
from attnflow.models.scoring import OneTarget, Score, Target

Special: TypeAlias = Literal["unk", "mask", "pad"]
# What takes the place of a token: a special one of the tokenizer, the mean embedding of the
# vocabulary, an attention mask of 0, or any token by its id.
Replace: TypeAlias = Special | Literal["mean", "attention_mask"] | int
Reduce: TypeAlias = Literal["sum", "norm", "input", "raw_sum"]
# Embeddings of zeros, or those of one token at every position.
Baseline: TypeAlias = Literal["zero"] | Special | int


class PassSettings(TypedDict, total=False):
    """Settings of every function."""

    position: int | None
    truncate: bool
    batch_size: int | None


class TargetSettings(PassSettings, total=False):
    """Settings of every importance."""

    target: Target
    against: OneTarget
    score: Score


class BlankOutSettings(TargetSettings, total=False):
    """Settings of `blank_out` and `leave_span_out`."""

    replace: Replace | None
    signed: bool
    progress: Progress | None


class InputGradientSettings(TargetSettings, total=False):
    """Settings of `input_gradient`."""

    reduce: Reduce | None
    signed: bool


class IntegratedGradientsSettings(TargetSettings, total=False):
    """Settings of `integrated_gradients`."""

    baseline: Baseline
    steps: int
