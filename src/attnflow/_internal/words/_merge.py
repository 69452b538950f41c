"""Merge scores of tokens into scores of words."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.words._group import Word
from attnflow.errors import InputError

QueryReduction: TypeAlias = Literal["mean", "last"]


def merge_scores(
    scores: NDArray[np.float64], rows: Sequence[Sequence[int]], words: Sequence[Word]
) -> NDArray[np.float64]:
    """Return scores (layer, word, word) of scores (layer, query, token).

    Scores are summed over the tokens of a word, and averaged over the `rows` of each query word.

    >>> scores = np.array([[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]])
    >>> merge_scores(scores, [[0, 1]], [Word((0, 4), (0, 1)), Word((5, 8), (2,))])
    array([[[0.65, 0.35]]])
    """
    by_query = _sum_groups(scores, rows, axis=1)
    by_query /= np.array([len(indices) for indices in rows])[:, None]
    return _sum_groups(by_query, [word.pieces for word in words], axis=2)


def query_rows(
    queries: Sequence[int], words: Sequence[Word], reduction: QueryReduction
) -> dict[int, list[int]]:
    """Return the rows of each query word, in the order of the queries.

    `queries` are the positions of the rows. A word is a query if one of its tokens is; its rows are
    those of all its tokens ("mean"), or that of its last token ("last").

    >>> query_rows([0, 1], [Word((0, 4), (0, 1)), Word((5, 8), (2,))], "mean")
    {0: [0, 1]}
    """
    choices = get_args(QueryReduction)
    if not isinstance(cast("object", reduction), str) or reduction not in choices:
        raise InputError(f"queries must be one of {', '.join(choices)}, got {reduction!r}")
    word_of = {piece: number for number, word in enumerate(words) for piece in word.pieces}
    row_of = {query: row for row, query in enumerate(queries)}
    found: dict[int, list[int]] = {}
    for query, row in row_of.items():
        if query not in word_of:
            raise InputError(
                f"expected queries that are positions of the {len(word_of)} tokens, got {query}. "
                "Words can be made only of layers whose positions are the input tokens"
            )
        found.setdefault(word_of[query], []).append(row)
    if reduction == "mean":
        return found
    for number in found:
        last = words[number].pieces[-1]
        if last not in row_of:
            raise InputError(
                f"query {last}, the last token of word {number}, was not computed. Compute it, or "
                'use queries="mean"'
            )
        found[number] = [row_of[last]]
    return found


def _sum_groups(
    scores: NDArray[np.float64], groups: Sequence[Sequence[int]], *, axis: int
) -> NDArray[np.float64]:
    """Return sums over groups of indices of an axis.

    Not as a matrix product, since infinity times zero is NaN.
    """
    sizes = [len(group) for group in groups]
    order = [index for group in groups for index in group]
    return np.add.reduceat(scores.take(order, axis), np.cumsum([0, *sizes[:-1]]), axis)
