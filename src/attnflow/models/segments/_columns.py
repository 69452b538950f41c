"""Segments: which positions of the input belong together as one column of a rollout."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.words import word_spans
from attnflow.errors import InputError
from attnflow.types import Origin, Span

Segments: TypeAlias = "Literal['tokens', 'words', 'lines', 'texts'] | Sequence[Span] | ArrayLike"

# What the texts of segments="texts" are put together with. Chosen here.
JOINT = "\n"
# The column of positions that are in no segment: special tokens, and what no span covers.
REST = "[rest]"
# Characters of a segment that its name shows; so that a table fits a page, chosen by eye.
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Columns:
    """For each position the column of its segment, and the names of the columns."""

    labels: NDArray[np.int64]  # one a position
    names: tuple[str, ...]
    settings: dict[str, object]  # the segments for the record, as JSON has them


@dataclass(frozen=True, slots=True)
class JoinedTexts:
    """The segments of a prompt that was put together from texts: where each of them lies."""

    spans: list[Span]


def segment_columns(
    segments: Segments | JoinedTexts, tokens: tuple[str, ...], origin: Origin | None, text: str
) -> Columns:
    """Columns for the positions called `tokens`, of a text or an image.

    Positions that belong to no segment share a last column, so that rows still sum to one.
    """
    if isinstance(segments, JoinedTexts):
        settings: dict[str, object] = {"segments": "texts", "spans": segments.spans}
        return _of_spans(segments.spans, _placed(origin), text, settings)
    if isinstance(segments, str):
        settings = {"segments": segments}
        if segments == "tokens":
            return Columns(np.arange(len(tokens)), tokens, settings)
        if segments not in ("words", "lines"):
            raise InputError(
                f"segments is {segments!r}; use tokens, words, lines or texts, a list of character "
                "spans (start, end), or for an image an array (rows, columns) of regions"
            )
        placed = _placed(origin)
        spans = word_spans(text) if segments == "words" else _line_spans(text)
        return _of_spans(spans, placed, text, settings, found=True)
    if origin is not None and origin.grid is not None:
        return _of_regions(segments, origin, len(tokens))
    placed, spans = _placed(origin), _checked_spans(segments, text)
    return _of_spans(spans, placed, text, {"segments": spans})


def join_texts(texts: Sequence[str]) -> JoinedTexts:
    """Where each text lies in all of them put together.

    >>> join_texts(["one", "four"])
    JoinedTexts(spans=[(0, 3), (4, 8)])
    """
    lengths = [len(text) for text in texts]
    starts = itertools.accumulate((length + len(JOINT) for length in lengths), initial=0)
    return JoinedTexts(
        [(start, start + length) for start, length in zip(starts, lengths, strict=False)]
    )


def _placed(origin: Origin | None) -> tuple[Span | None, ...]:
    """The characters of the tokens."""
    if origin is None or origin.spans is None:
        raise InputError(
            "segments of a text came, and the characters of the tokens are not known: ready inputs "
            "came instead of a text, or the tokenizer rewrites it. Pass the text and its tokenizer"
        )
    return origin.spans


def _line_spans(text: str) -> list[Span]:
    """Lines that hold more than white space."""
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
            f"segments is {segments!r}; a list of character spans is wanted"
        ) from reason
    spans: list[Span] = []
    for number, span in enumerate(given):
        ends = checks.as_ints(span, f"segment {number}")
        if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= len(text):
            raise InputError(
                f"segment {number} is {span!r}; a span (start, end) within the text's "
                f"{len(text)} characters is wanted"
            )
        spans.append((ends[0], ends[1]))
    if not spans:
        raise InputError("segments is empty; give at least one span (start, end)")
    order = sorted(range(len(spans)), key=lambda number: spans[number])
    for first, second in itertools.pairwise(order):
        if spans[second][0] < spans[first][1]:
            raise InputError(
                f"segments {first} {spans[first]} and {second} {spans[second]} overlap; a token "
                "belongs to one segment, so give spans that do not"
            )
    return spans


def _of_spans(
    spans: list[Span],
    placed: tuple[Span | None, ...],
    text: str,
    settings: dict[str, object],
    *,
    found: bool = False,
) -> Columns:
    """The segment of a token is the one that holds most of its characters, the first of equals.

    A segment without any token is refused, or left out if it was `found` and not given: the words
    after the place where a text was cut off, or characters that the tokenizer drops.
    """
    starts, ends = np.array(spans).T  # (segment,)
    labels = np.full(len(placed), len(spans))
    for position, span in enumerate(placed):
        if span is not None:
            shared = np.minimum(ends, span[1]) - np.maximum(starts, span[0])
            best = int(shared.argmax())
            if shared[best] > 0:
                labels[position] = best
    empty = np.setdiff1d(np.arange(len(spans)), labels)
    if found:
        kept = np.setdiff1d(np.arange(len(spans)), empty)
        spans = [spans[int(number)] for number in kept]
        labels = np.searchsorted(kept, labels)
    elif empty.size:
        start, end = spans[int(empty[0])]
        raise InputError(
            f"segment {empty[0]} ({start}, {end}) {_short(text[start:end])!r} holds no token; was "
            "the text cut off before it?"
        )
    return _with_rest(labels, [_short(text[start:end]) for start, end in spans], settings)


def _of_regions(segments: object, origin: Origin, count: int) -> Columns:
    """Regions of an image: one whole number a patch, below zero for patches of none."""
    grid = origin.grid
    assert grid is not None  # noqa: S101 (the caller looked)
    regions = np.asarray(segments)
    if regions.shape != (grid.rows, grid.columns) or regions.dtype.kind not in "iu":
        raise InputError(
            f"segments of an image came with shape {regions.shape} of {regions.dtype}; an array of "
            f"whole numbers with {grid.rows} rows and {grid.columns} columns is wanted, the region "
            "of each patch, -1 for none"
        )
    numbers = np.unique(regions[regions >= 0])
    if not numbers.size:
        raise InputError("segments names no region; give a number from 0 to at least one patch")
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


def _short(text: str) -> str:
    r"""A name for a segment: its text in one line, cut short.

    >>> _short("one\n two")
    'one two'
    """
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
