"""Keyword settings that the functions of `attnflow.importance` share, for their overloads."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from attnflow._internal.checks import Progress
from attnflow.models.scoring import Score, Target

Special: TypeAlias = Literal["unk", "mask", "pad"]
# The token in the place of another: a special one of the tokenizer, or any by its id.
Replace: TypeAlias = Special | int
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
