"""What is measured of a model's answer: one number for each row of logits.

probability
    `p(t)`, the probability of the target t: softmax over all classes, or the sigmoid of its own
    logit where a model says that its classes do not exclude one another.
logit
    `z(t)`, the target's logit as it is.
difference
    `p(t) − p(o)`, the probability of the target less that of the other class. Of more than two
    classes the other is the best one besides the target for the input as it is; it stays the same
    when the input is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from attnflow.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

Score: TypeAlias = Literal["probability", "logit", "difference"]


def checked_score(score: object) -> Score:
    """The score, if it is one.

    >>> checked_score("logit")
    'logit'
    """
    for known in get_args(Score):
        if isinstance(score, str) and score == known:
            return known
    raise InputError(f"score is {score!r}; use one of {', '.join(get_args(Score))}")


def probabilities(logits: Tensor, *, independent: bool) -> Tensor:
    """Probabilities (row, class) of logits; `independent` where classes exclude none other."""
    return logits.sigmoid() if independent else logits.softmax(dim=-1)


def scores(
    logits: Tensor,
    targets: Sequence[int],
    others: Sequence[int],
    *,
    score: Score,
    independent: bool,
) -> Tensor:
    """The score (row) of logits (row, class), with a target and another class for each row.

    >>> import torch
    >>> scores(torch.tensor([[0.0, 0.0]]), [0], [1], score="difference", independent=False)
    tensor([0.])
    """
    import torch

    rows = torch.arange(len(targets), device=logits.device)
    if score == "logit":
        return logits[rows, list(targets)]
    p = probabilities(logits, independent=independent)
    if score == "probability":
        return p[rows, list(targets)]
    return p[rows, list(targets)] - p[rows, list(others)]
