"""Faithfulness of scores: what the prediction loses without, and keeps with, the top tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.display import count_texts
from attnflow._internal.records import Record
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.evaluate._counted import counted_positions
from attnflow.importance import log_probabilities_without
from attnflow.models.inputs import takes_pipeline

if TYPE_CHECKING:
    from torch import nn

    from attnflow.models.inputs import Inputs, SeveralTexts

# Percent of the tokens, those of the ERASER benchmark.
BINS = (1, 5, 10, 20, 50)


@dataclass(frozen=True, slots=True, eq=False)
class Faithfulness(Record):
    """How the probability of the target changes with the tokens that scores put on top.

    Attributes
    ----------
    comprehensiveness
        Mean over bins of `p(x) − p(x without the top tokens)`, for each row of scores; higher is
        better.
    sufficiency
        Mean over bins of `p(x) − p(x with only the top tokens)`; lower is better.
    log_odds
        Mean over bins of `log p(x without the top tokens) − log p(x)`; lower is better.
    settings
        Target, blank, bins and which tokens count.
    """

    comprehensiveness: NDArray[np.float64]
    sufficiency: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    settings: Settings

    def __post_init__(self) -> None:
        names = ("comprehensiveness", "sufficiency", "log_odds")
        arrays = {name: checks.as_read_only(getattr(self, name)) for name in names}
        self._set(**arrays, settings=freeze_settings(self.settings))


@takes_pipeline
def faithfulness(
    model: nn.Module,
    tokenizer: Any,
    text: SeveralTexts | Inputs,
    scores: Sequence[ArrayLike],
    *,
    bins: Sequence[float] = BINS,
    target: Any = None,
    replace: Any = None,
    special: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> list[Faithfulness]:
    """Return comprehensiveness, sufficiency and log-odds of scores for each of several texts.

    The tokens with the highest scores are replaced by the blank, or all others are. A bin of k
    percent is `ceil(k / 100 · n)` of the n tokens that count, and at least one; short texts keep
    every bin. Of equal scores the earlier token comes first.

    Parameters
    ----------
    model, tokenizer, target, replace, position, truncate, batch_size
        As for `attnflow.importance.blank_out`. The target is the prediction for the unchanged text
        by default, and stays the same for all variants.
    text
        Several texts, or tensors.
    scores
        For each text an array (…, token): any number of rows, of methods or layers. The results
        have one value for each row.
    bins
        Percent of the tokens.
    special
        Whether special tokens, such as CLS or a mask token in the text, count. By default they are
        not replaced, unless the input has no other tokens. Without a tokenizer all tokens count.

    Notes
    -----
    Signed differences, in one call for all rows of a text: a variant that several rows and bins
    share runs once. DeYoung et al. (2020), https://doi.org/10.18653/v1/2020.acl-main.408, whose
    code takes the mean over bins, as here; log-odds: Shrikumar et al. (2017),
    https://doi.org/10.48550/arXiv.1704.02685

    Examples
    --------
    >>> from attnflow import evaluate, paper
    >>> shipped = paper.load()
    >>> [found] = evaluate.faithfulness(
    ...     shipped.model, shipped.tokenizer, ["the keys"], [[[0.0, 0.1, 0.9, 0.0]]])
    >>> bool(found.comprehensiveness[0] > 0.4)
    True
    """
    shares = check_bins(bins)
    special = checks.as_bool(special, "special")
    plans: list[_Plan] = []

    def groups(index: int, item: Any) -> list[tuple[int, ...]]:
        if index >= len(scores):
            raise InputError(f"scores: expected an array for each text, got only {len(scores)}")
        plans.append(
            _Plan.of(
                scores[index],
                counted_positions(item.tokens, tokenizer, special=special),
                shares,
                item.tokens,
            )
        )
        return plans[-1].groups

    found = log_probabilities_without(
        model, tokenizer, text, groups, target=target, replace=replace, position=position,
        truncate=truncate, batch_size=batch_size,
    )  # fmt: skip
    if len(found) != len(scores):
        raise InputError(
            f"scores: expected an array for each text, got {len(scores)} for "
            f"{count_texts(len(found))}"
        )
    made = {
        "bins": shares,
        "special": special,
        "rounding": "ceil",
        "ties": "first",
    }
    return [
        plan.result(values, {**settings, **made})
        for plan, (values, settings) in zip(plans, found, strict=True)
    ]


def check_bins(bins: Sequence[float]) -> tuple[float, ...]:
    """Return percents if they are valid.

    >>> check_bins([1, 50])
    (1.0, 50.0)
    """
    shares = checks.as_floats(bins, "bins").ravel()
    if not shares.size or not ((shares > 0) & (shares <= 100)).all():
        raise InputError(f"bins: expected percents above 0 and up to 100, got {bins!r}")
    return tuple(float(share) for share in shares)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The variants of one text, each once, and which of them every row and bin needs."""

    groups: list[tuple[int, ...]]
    without: NDArray[np.intp]  # (row, bin): number of the variant without the top tokens
    alone: NDArray[np.intp]  # (row, bin): number of the variant with only the top tokens
    shape: tuple[int, ...]  # of the rows

    @classmethod
    def of(
        cls, scores: ArrayLike, places: list[int], shares: Sequence[float], tokens: Sequence[str]
    ) -> _Plan:
        rows = checks.as_floats(scores, "scores")
        if not rows.ndim or rows.shape[-1] != len(tokens) or np.isnan(rows).any():
            raise InputError(
                f"scores: expected a number for each of {len(tokens)} tokens in the last axis, "
                f"none of them NaN, got shape {rows.shape}"
            )
        flat = rows.reshape(-1, len(tokens))[:, places]
        order = np.argsort(-flat, axis=1, kind="stable")
        numbers: dict[tuple[int, ...], int] = {}
        pairs = np.empty((2, len(flat), len(shares)), dtype=np.intp)
        for row, ranked in enumerate(order):
            for column, share in enumerate(shares):
                count = max(1, ceil(share * len(places) / 100))
                top, rest = ranked[:count], ranked[count:]
                for side, chosen in enumerate((top, rest)):
                    group = tuple(sorted(places[at] for at in chosen))
                    pairs[side, row, column] = numbers.setdefault(group, len(numbers))
        # A group of no tokens is the unchanged text, whose value comes first.
        unchanged = numbers.pop((), None)
        groups = list(numbers)
        value_of = {number: 1 + at for at, number in enumerate(numbers.values())}
        if unchanged is not None:
            value_of[unchanged] = 0
        renumber = np.vectorize(value_of.__getitem__, otypes=[np.intp])
        return cls(groups, renumber(pairs[0]), renumber(pairs[1]), rows.shape[:-1])

    def result(self, values: NDArray[np.float64], settings: Settings) -> Faithfulness:
        """Return the measures from the log-probabilities of the text and of its variants."""
        p = np.exp(values)
        return Faithfulness(
            (p[0] - p[self.without]).mean(axis=1).reshape(self.shape),
            (p[0] - p[self.alone]).mean(axis=1).reshape(self.shape),
            (values[self.without] - values[0]).mean(axis=1).reshape(self.shape),
            settings,
        )
