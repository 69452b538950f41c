"""`top_k_overlap`: how many of the highest values two rows have in common."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow.evaluate._spearman import checked_rows


def top_k_overlap(x: ArrayLike, y: ArrayLike, k: int) -> NDArray[np.float64]:
    """Return the share of the k highest values of `x`, or of each of its rows, that `y` shares.

    `overlap = |top_k(x) ∩ top_k(y)| / k`. Where several values are equal to the k-th highest, each
    counts its share of the places that are left, so that the result is the mean over all ways to
    choose among them. It is NaN if there are no more than k values: all are in the top k.

    Parameters
    ----------
    x, y
        As for `spearman`.
    k
        How many values to compare.

    Examples
    --------
    >>> top_k_overlap([[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1]], [10, 20, 30, 40], 2)
    array([1. , 0. , 0.5])
    """
    k = checks.as_int(k, "k", least=1)
    rows, row = checked_rows(x, y)
    if len(row) <= k:
        return np.full(rows.shape[:-1], np.nan)
    return (_shares(rows, k) * _shares(row, k)).sum(axis=-1) / k


def _shares(rows: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return for each value the probability that it is among the k highest."""
    least = np.partition(rows, -k, axis=-1)[..., -k, None]  # the k-th highest
    above, equal = rows > least, rows == least
    places = k - above.sum(axis=-1, keepdims=True)
    return above + equal * (places / equal.sum(axis=-1, keepdims=True))
