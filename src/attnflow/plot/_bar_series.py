"""The content of a bar chart: the bars of each result, their names, colours and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import label_names, method_title
from attnflow.errors import InputError
from attnflow.plot._checks import query_index
from attnflow.plot._labels import (
    flow_mark,
    position_tokens,
    query_name,
    score_label,
    score_notes,
    taken_out,
)
from attnflow.plot._palette import OTHERS, TITLES, colour_of
from attnflow.plot._scale import own_column
from attnflow.types import Importance, TokenAttention

Result: TypeAlias = TokenAttention | Importance
_ANSWERS = ("target_name", "other_name")
# Names of the scores that importance explains, where they are not plain.
_SCORES = {
    "log_probability": "log probability",
    "difference": "difference of probabilities",
    "logit_difference": "difference of logits",
}


class Series(NamedTuple):
    """The bars of one result."""

    values: NDArray[np.float64]
    own: NDArray[np.bool_] | None  # whether a value is that of the query itself; not of importance
    method: str
    label: str
    unit: str
    of: str  # layer and query; "" for importance
    removed: NDArray[np.bool_]  # whether a token has no score
    notes: list[str]  # what was taken out of scores; of importance the answer it is for


def series_of(results: Sequence[object], query: int | None, layer: int | None) -> list[Series]:
    """Return the bars of each result, checked."""
    if not results:
        raise InputError("expected token attention or importance, got nothing")
    series: list[Series] = []
    for place, one in enumerate(results):
        if not isinstance(one, TokenAttention | Importance):
            raise InputError(
                f"expected token attention or importance, got {type(one).__name__}. Pass raw(x), "
                "rollout(x), flow(x) or what attnflow.importance returns; of an explanation e, "
                "*e.scores.values(), *e.importance.values()"
            )
        first = cast("Result", results[0]).tokens
        if one.tokens != first:
            raise InputError(
                f"results 0 and {place} are of different tokens, {' '.join(first[:3])} … and "
                f"{' '.join(one.tokens[:3])} …. Pass results of one text, all of tokens or all of "
                "words"
            )
        is_attention = isinstance(one, TokenAttention)
        series.append(_of_scores(one, query, layer) if is_attention else _of_importance(one))
    if all(not one.of for one in series) and (query is not None or layer is not None):
        raise InputError("query and layer need token attention, got importance. Leave them out")
    return series


def _of_scores(one: TokenAttention, query: int | None, layer: int | None) -> Series:
    place = query_index(one, query)
    position = one.queries[place]
    chosen = max(one.layers) if layer is None else layer
    scores = one.row(chosen, position)
    label = TITLES[one.method]
    edges = one.settings.get("edges", "attention")
    if edges != "attention":
        label += f", {edges}"
    label += flow_mark(one, chosen, position)
    finite = scores[np.isfinite(scores)].max(initial=0.0) or 1.0
    return Series(
        values=np.minimum(scores, finite),
        own=own_column(one, position),
        method=one.method,
        label=label,
        unit=score_label(one),
        of=f"layer {chosen}, from {query_name(one, position)}",
        removed=_removed(one, position, scores),
        notes=score_notes(one),
    )


def _removed(one: TokenAttention, query: int, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which tokens have no score, because they were taken out; none of words.

    In rollout and flow the query keeps its residual connection, also if it is taken out; in raw
    attention it has none.
    """
    places = np.arange(len(one.tokens))
    known = bool(position_tokens(one)) and "words" not in one.settings
    return np.isin(places, taken_out(one)) & ((places != query) | (scores == 0)) & known


def _of_importance(one: Importance) -> Series:
    label = method_title(one.method)
    none = np.zeros(len(one.tokens), dtype=np.bool_)
    title, notes = label.capitalize(), _answer_notes(one)
    return Series(one.values, None, one.method, title, "importance", "", none, notes)


def _answer_notes(one: Importance) -> list[str]:
    """Return a line about the answers that importance is for, and their score, if recorded.

    >>> settings = {"score": "logit", "target_name": "Ġhis"}
    >>> _answer_notes(Importance([1.0], ["a"], "blank_out", settings))
    ['importance for his (logit)']
    """
    given = [str(one.settings[key]) for key in _ANSWERS if key in one.settings]
    if not any(given):
        return []
    names = label_names(given)
    score = str(one.settings.get("score", ""))
    shown = f" ({_SCORES.get(score, score)})" if score else ""
    return [f"importance for {' against '.join(map(names.__getitem__, given))}{shown}"]


def title_of(series: Sequence[Series], names: Sequence[str]) -> str:
    """Return layer and query, if they are the same for all; with one result, its name too."""
    where = {one.of for one in series if one.of}
    parts = [*names[: len(series) == 1], *(where if len(where) == 1 else ())]
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def notes_of(series: Sequence[Series], names: Sequence[str]) -> list[str]:
    """Return the notes about all token attention or all importance; with names those about some."""
    about: dict[tuple[bool, str], list[str]] = {}
    for one, name in zip(series, names, strict=True):
        for note in one.notes:
            about.setdefault((bool(one.of), note), []).append(name)
    counts = Counter(bool(one.of) for one in series)
    return [
        note if len(those) == counts[scored] else f"{note}: {', '.join(those)}"
        for (scored, note), those in about.items()
    ]


def colours_of(series: Sequence[Series]) -> list[str]:
    """Return a colour for each result; those of one method differ."""
    colours: list[str] = []
    for place, one in enumerate(series):
        free = [c for c in (colour_of(one.method, place), *OTHERS) if c not in colours]
        colours.append(free[0] if free else colour_of("", place))
    return colours
