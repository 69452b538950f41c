"""Segments: groups of input positions that are the columns of a rollout."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.display import one_line
from attnflow._internal.words import word_spans
from attnflow.errors import InputError
from attnflow.types import Origin, Span

# Spans, or a list of them for each text; regions of an image. Not "texts", which joins the input.
Segments: TypeAlias = (
    Literal["tokens", "words", "lines"]
    | Sequence[Span]
    | Sequence[Sequence[Span]]
    | Sequence[Sequence[int]]
    | NDArray[np.integer[Any]]
)

# Separator of the texts with segments="texts". Chosen.
SEPARATOR = "\n"
# Name of the column of positions in no segment, such as special tokens.
REST = "[rest]"


@dataclass(frozen=True, slots=True)
class Columns:
    """The column of each position, and the names of the columns."""

    labels: NDArray[np.int64]  # one per position
    names: tuple[str, ...]
    settings: dict[str, object]  # the segments for the settings of the result, valid JSON


@dataclass(frozen=True, slots=True)
class JoinedTexts:
    """The segments of a prompt joined from texts: their spans."""

    spans: list[Span]


def segment_columns(
    segments: Segments | JoinedTexts, tokens: tuple[str, ...], origin: Origin | None, text: str
) -> Columns:
    """Return the columns for the positions `tokens` of a text or an image.

    Positions in no segment share a last column, so that rows still sum to one.
    """
    if isinstance(segments, JoinedTexts):
        settings: dict[str, object] = {"segments": "texts", "spans": segments.spans}
        return _of_spans(segments.spans, _token_spans(origin), text, settings)
    if isinstance(segments, str):
        settings = {"segments": segments}
        if segments == "tokens":
            return Columns(np.arange(len(tokens)), tokens, settings)
        if segments not in ("words", "lines"):
            raise InputError(
                "segments: expected tokens, words, lines or texts, a list of character spans "
                "(start, end), or for an image an array (rows, columns) of regions, got "
                f"{segments!r}"
            )
        token_spans = _token_spans(origin)
        spans = word_spans(text) if segments == "words" else _line_spans(text)
        return _of_spans(spans, token_spans, text, settings, drop_empty=True)
    if origin is not None and origin.grid is not None:
        return _of_regions(segments, origin, len(tokens))
    token_spans, spans = _token_spans(origin), _checked_spans(segments, text)
    return _of_spans(spans, token_spans, text, {"segments": spans})


def join_texts(texts: Sequence[str]) -> JoinedTexts:
    """Return the span of each text in the joined text.

    >>> join_texts(["one", "four"])
    JoinedTexts(spans=[(0, 3), (4, 8)])
    """
    lengths = [len(text) for text in texts]
    starts = itertools.accumulate((length + len(SEPARATOR) for length in lengths), initial=0)
    return JoinedTexts(
        [(start, start + length) for start, length in zip(starts, lengths, strict=False)]
    )


def _token_spans(origin: Origin | None) -> tuple[Span | None, ...]:
    if origin is None or origin.spans is None:
        raise InputError(
            "segments of a text need the character spans of the tokens, which are unknown for "
            "tensors, and for tokenizers that rewrite the text. Pass the text and its tokenizer"
        )
    return origin.spans


def _line_spans(text: str) -> list[Span]:
    """Return the spans of lines that are not blank."""
    spans: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            spans.append((start, start + len(line.rstrip())))
        start += len(line)
    return spans


def _checked_spans(segments: object, text: str) -> list[Span]:
    try:
        given = list(cast("Iterable[Any]", segments))
    except TypeError as reason:
        raise InputError(
            f"segments: expected a list of character spans, got {segments!r}"
        ) from reason
    spans: list[Span] = []
    for number, span in enumerate(given):
        ends = checks.as_ints(span, f"segment {number}")
        if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= len(text):
            raise InputError(
                f"segment {number}: expected a span (start, end) within the {len(text)} characters "
                f"of the text, got {span!r}"
            )
        spans.append((ends[0], ends[1]))
    if not spans:
        raise InputError("segments: expected at least one span (start, end), got none")
    order = sorted(range(len(spans)), key=lambda number: spans[number])
    for first, second in itertools.pairwise(order):
        if spans[second][0] < spans[first][1]:
            raise InputError(
                f"segments must not overlap, got segment {first} {spans[first]} and segment "
                f"{second} {spans[second]}"
            )
    return spans


def _of_spans(
    spans: list[Span],
    token_spans: tuple[Span | None, ...],
    text: str,
    settings: dict[str, object],
    *,
    drop_empty: bool = False,
) -> Columns:
    """Assign each token to the first segment that contains most of its characters.

    A segment without tokens is an error or, with `drop_empty`, left out: it is after the end of a
    truncated text, or the tokenizer drops its characters.
    """
    starts, ends = np.array(spans).T  # (segment,)
    labels = np.full(len(token_spans), len(spans))
    for position, span in enumerate(token_spans):
        if span is not None:
            shared = np.minimum(ends, span[1]) - np.maximum(starts, span[0])
            best = int(shared.argmax())
            if shared[best] > 0:
                labels[position] = best
    empty = np.setdiff1d(np.arange(len(spans)), labels)
    if drop_empty:
        kept = np.setdiff1d(np.arange(len(spans)), empty)
        spans = [spans[int(number)] for number in kept]
        labels = np.searchsorted(kept, labels)
    elif empty.size:
        start, end = spans[int(empty[0])]
        raise InputError(
            f"segment {empty[0]} ({start}, {end}) {one_line(text[start:end])!r} contains no token. "
            "If the text was truncated before it, leave it out"
        )
    return _with_rest(labels, [one_line(text[start:end]) for start, end in spans], settings)


def _of_regions(segments: object, origin: Origin, count: int) -> Columns:
    """Return the columns of regions of an image: an integer per patch, negative for none."""
    grid = origin.grid
    assert grid is not None  # noqa: S101 (checked by the caller)
    regions = np.asarray(segments)
    if regions.shape != (grid.rows, grid.columns) or regions.dtype.kind not in "iu":
        raise InputError(
            f"segments: expected integers of shape {(grid.rows, grid.columns)}, the region of each "
            f"patch or -1, got {regions.dtype} of shape {regions.shape}"
        )
    numbers = np.unique(regions[regions >= 0])
    if not numbers.size:
        raise InputError("segments: expected a region of at least 0 for some patch, got none")
    labels = np.full(count, len(numbers))
    patches = np.searchsorted(numbers, regions.ravel())
    labels[grid.prefix : grid.prefix + grid.size] = np.where(
        regions.ravel() >= 0, patches, len(numbers)
    )
    names = [f"region {number}" for number in numbers]
    return _with_rest(labels, names, {"segments": regions.tolist()})


def _with_rest(labels: NDArray[np.int64], names: list[str], settings: dict[str, object]) -> Columns:
    rest = (REST,) if (labels == len(names)).any() else ()
    return Columns(labels, (*names, *rest), settings)
