"""Scores of tokens made scores of words."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.words._group import Word
from attnflow.errors import InputError

Pieces: TypeAlias = Literal["mean", "last"]


def merged(
    scores: NDArray[np.float64],
    queries: Sequence[int],
    words: Sequence[Word],
    *,
    rows: Pieces,
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Scores (layer, query, token) and positions of the queries, as those of words.

    What a word is given is the sum over its pieces. What it gives is the mean over its pieces, or
    that of the last one. A word is a query where one of its pieces is.

    >>> scores = np.array([[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]])
    >>> merged(scores, [0, 1], [Word((0, 4), (0, 1)), Word((5, 8), (2,))], rows="mean")
    (array([[[0.65, 0.35]]]), (0,))
    """
    if not isinstance(cast("object", rows), str) or rows not in get_args(Pieces):
        raise InputError(f"queries is {rows!r}; use one of {', '.join(get_args(Pieces))}")
    rows_of = _rows(queries, words, rows)
    by_query = _reduced(scores, list(rows_of.values()), axis=1)
    by_query /= np.array([len(each) for each in rows_of.values()])[:, None]
    return _reduced(by_query, [word.pieces for word in words], axis=2), tuple(rows_of)


def _rows(queries: Sequence[int], words: Sequence[Word], rows: Pieces) -> dict[int, list[int]]:
    """For each word that is a query the rows of its pieces, in the order of the queries."""
    word_of = {piece: number for number, word in enumerate(words) for piece in word.pieces}
    row_of = {query: row for row, query in enumerate(queries)}
    found: dict[int, list[int]] = {}
    for query, row in row_of.items():
        if query not in word_of:
            raise InputError(
                f"query {query} is not a position of the {len(word_of)} tokens; words are made of "
                "layers whose positions are the tokens"
            )
        found.setdefault(word_of[query], []).append(row)
    if rows == "mean":
        return found
    for number in found:
        last = words[number].pieces[-1]
        if last not in row_of:
            raise InputError(
                f"query {last}, the last piece of word {number}, was not computed; compute it, or "
                'use queries="mean" for the mean of the pieces that were'
            )
        found[number] = [row_of[last]]
    return found


def _reduced(
    scores: NDArray[np.float64], groups: Sequence[Sequence[int]], *, axis: int
) -> NDArray[np.float64]:
    """Sums over groups of indices of an axis. By slices, as infinity times zero is not a number."""
    sizes = [len(group) for group in groups]
    order = [index for group in groups for index in group]
    return np.add.reduceat(scores.take(order, axis), np.cumsum([0, *sizes[:-1]]), axis)
