"""The score that gradients and contributions explain: a logit, or the difference of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from attnflow.errors import InputError
from attnflow.models.inputs import Inputs
from attnflow.models.scoring import Logits, OneTarget, Scorer, SingleInput, split_batch

if TYPE_CHECKING:
    from torch import Tensor, nn


class TargetSettings(TypedDict, total=False):
    """Settings that choose the score, for the overloads of functions that explain it."""

    target: OneTarget
    against: OneTarget
    position: int | None


def target_scorer(
    model: nn.Module,
    tokenizer: Any,
    inputs: Inputs,
    target: OneTarget,
    against: OneTarget,
    position: int | None,
) -> Scorer:
    """Return the scorer of one input."""
    score = "logit" if against is None else "logit_difference"
    [(fields, main, _)] = split_batch(inputs)
    axes = 3 if fields[main].is_floating_point() else 2
    if fields[main].ndim == axes and fields[main].shape == inputs.forward[main].shape:
        chosen: Any = {"against": against, "position": position}
        return Scorer.of(model, tokenizer, inputs, score, target, **chosen)
    # Images, audio, and plain modules with another batch axis than the first: no tokens are known
    # before the pass, and classifiers have no position to read.
    unknown: Any = {"kept": (), "tokens": (), "origin": None, "text": "", "read_at": position}
    item = SingleInput(dict(inputs.forward), main, **unknown, given_position=position)
    return Scorer(
        model, tokenizer, [item], single=True, score=score, targets=(target,), against=against
    )


def target_logit(scorer: Scorer, logits: Logits) -> tuple[Tensor, dict[str, Any]]:
    """Return the score of a pass, and settings that describe it."""
    [found] = scorer.target_scores(logits, [0])
    settings = {name: value for name, value in found.settings.items() if name != "target_given"}
    return scorer.scores(logits.values, [found])[0], settings


def check_single(target: object, against: object) -> None:
    """Reject a target for each text, which importance takes."""
    for name, given in (("target", target), ("against", against)):
        if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
            raise InputError(
                f"{name}: expected one class or token for all texts, by name or number, got "
                f"{given!r}. Call the function once for each text"
            )
