"""Figure 4, counted: how often token attention points to the candidate that decides a pronoun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.errors import InputError
from attnflow.evaluate import LayerTable
from attnflow.models import attend
from attnflow.paper.results._pronoun_choice import (
    NOT_ONCE,
    PronounChoice,
    choose_pronouns,
    mentions,
    prepare_choices,
)
from attnflow.paper.results._pronoun_counts import (
    CHANCE,
    EFFECT,
    FIRST,
    NEAREST,
    SUPPORT,
    PronounCounts,
)
from attnflow.paper.results._pronouns import (
    mask_token,
    unsupported,
    word_positions,
    word_scores,
)
from attnflow.types import METHODS, Attention

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.paper.data import PronounSchema
    from attnflow.types import TokenAttention

# Rollout and flow of a decoder without the correction for the receptive field.
_UNCORRECTED = ("rollout, uncorrected", "flow, uncorrected")
_CHANCE = 0.5  # of two candidates
_BATCH_SIZE = 32  # sentences, each with five inputs; chosen: short texts, a bar that moves


def count_pronouns(
    model: nn.Module,
    tokenizer: Any,
    schemas: Sequence[PronounSchema],
    *,
    progress: Progress | None = None,
) -> PronounCounts:
    """Return how often each method points to the candidate that decides the model's pronoun.

    The model prefers one of two pronouns. A candidate decides this choice if the model prefers the
    other pronoun when the candidate is replaced by the other candidate, and the same pronoun when
    the other candidate is replaced by this one. Only sentences with one such candidate are counted.

    Parameters
    ----------
    model, tokenizer
        A masked language model, whose input is the sentence; or a decoder, whose input is the words
        before the pronoun. Sentences with the same input and pronouns count once. Of a decoder,
        rollout and flow are corrected for the receptive field, as in `resolve`.
    schemas
        The sentences, of `read_winogender` or `read_winobias`.
    progress
        Called with the number of sentences done and the number of all that can be asked.

    Notes
    -----
    Five rows of a forward pass for each sentence, and one more with its attention for each that is
    counted. The score of a candidate is the sum over its tokens, without its article.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> paper.count_pronouns(shipped.model, shipped.tokenizer, [])
    Traceback (most recent call last):
    attnflow.errors.UnsupportedModelError: expected a masked language model such as
    bert-base-uncased, or a decoder, got VerbNumberModel, which predicts no words
    """
    choices = prepare_choices(model, tokenizer, schemas)
    masked = mask_token(model, tokenizer) is not None
    values: dict[int, NDArray[np.float64]] = {}
    for indices in _batches(choices, progress):
        asked = choose_pronouns(model, tokenizer, [choices[index] for index in indices])
        for index, choice in zip(indices, asked, strict=True):
            choices[index] = choice
        counted = [index for index in indices if not choices[index].reason]
        if not counted:
            continue
        found = attend(model, tokenizer, [choices[index].text for index in counted], heads="mean")
        for index, attention in zip(counted, found, strict=True):
            if not isinstance(attention, Attention):
                raise unsupported(model)
            causal = attention.causal and not masked
            try:
                values[index] = _hits(attention, choices[index], causal=causal)
            except InputError as error:  # words of a text that are not words of the tokenizer
                choices[index] = replace(choices[index], reason=NOT_ONCE, error=str(error))
    if not values:
        counts = Counter(choice.reason for choice in choices)
        raise InputError(
            "expected a sentence in which one candidate decides the pronoun, got none: "
            + "; ".join(f"{number}: {reason}" for reason, number in counts.items())
        )
    counted = [choices[index] for index in sorted(values)]
    stacked = np.array([values[index] for index in sorted(values)])
    table, uncorrected = _tables(counted, stacked, corrected=stacked.shape[1] > len(METHODS))
    return PronounCounts(table, uncorrected, tuple(choices))


def _batches(choices: Sequence[PronounChoice], progress: Progress | None) -> Iterator[list[int]]:
    """Yield indices of sentences that can be asked, of similar length."""
    usable = [index for index, choice in enumerate(choices) if not choice.reason]
    order = sorted(usable, key=lambda index: len(choices[index].text))
    for start in range(0, len(order), _BATCH_SIZE):
        if progress is not None:
            progress(start, len(order))
        yield order[start : start + _BATCH_SIZE]
    if progress is not None:
        progress(len(order), len(order))


def _hits(attention: Attention, choice: PronounChoice, *, causal: bool) -> NDArray[np.float64]:
    """Return (row, layer): whether the candidate that decides the pronoun has more weight."""
    scores = [*word_scores(attention, choice.position, receptive_field=causal)]
    if causal:
        scores += word_scores(attention, choice.position, receptive_field=False)[1:]
    places = [
        list(word_positions(scores[0].tokens, noun, choice.text))
        for noun in choice.schema.candidates
    ]
    if choice.decides == 1:
        places.reverse()
    return np.array([_larger(item, *places) for item in scores])


def _larger(item: TokenAttention, one: list[int], other: list[int]) -> NDArray[np.float64]:
    """Return for each layer 1 if the sum of `one` is larger, 0.5 if the sums are equal, else 0."""
    row = item.scores[:, 0]
    return (np.sign(row[:, one].sum(axis=1) - row[:, other].sum(axis=1)) + 1) / 2


def _tables(
    choices: Sequence[PronounChoice], values: NDArray[np.float64], *, corrected: bool
) -> tuple[LayerTable, LayerTable | None]:
    rules = np.array([_rules(choice) for choice in choices]).T
    per_text: dict[str, Any] = dict(
        zip((CHANCE, FIRST, NEAREST, SUPPORT, EFFECT), rules, strict=True)
    )
    texts, layers = [choice.text for choice in choices], range(1, values.shape[2] + 1)
    settings = {"measure": "pronoun", "heads": "mean", "residual": 0.5}
    n_rows = len(METHODS)
    own = {**settings, "receptive_field": corrected}
    table = LayerTable(values[:, :n_rows], METHODS, layers, texts, per_text, own)
    if not corrected:
        return table, None
    own = {**settings, "receptive_field": False}
    return table, LayerTable(values[:, n_rows:], _UNCORRECTED, layers, texts, None, own)


def _rules(choice: PronounChoice) -> tuple[float, ...]:
    """Return chance, and whether the candidate that decides is the one that each rule takes."""
    text, at, own = choice.text, len(choice.schema.before), choice.decides
    places = mentions(choice.schema, text)
    if places is None or own is None:
        raise InputError(f"expected a sentence that is counted, got {choice}")
    # Words between a candidate and the pronoun; after the pronoun, the mask is the first word.
    between = [
        len(text[place.end() : at].split())
        if place.end() <= at
        else len(text[at : place.start()].split()) - 1
        for place in places
    ]
    support = choice.support
    pairs = (
        [-place.start() for place in places],
        [-number for number in between],
        support,
        [abs(each) for each in support],
    )
    return (_CHANCE, *(float(np.sign(pair[own] - pair[1 - own]) + 1) / 2 for pair in pairs))
