"""`kendall`: rank correlation by pairs of tokens, of many rows at once."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow.evaluate._spearman import checked_rows

# Pairs that are compared at once, of eight bytes each. Chosen.
_PAIRS = 2**21


def kendall(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return Kendall's rank correlation τ-b of `x`, or of each of its rows, with `y`.

    `tau = (C − D) / sqrt((P − T_x) (P − T_y))`, where C of the P pairs of tokens are in the same
    order on both sides, D in opposite order, and T_x and T_y are equal on one side. It is NaN if it
    is undefined: all values of one side are equal, or there are fewer than two.

    Parameters
    ----------
    x, y
        As for `spearman`.

    Notes
    -----
    `O(n²)` for each row: fast for the tokens of a text, not for long arrays.
    Kendall (1945), https://doi.org/10.2307/2332303

    Examples
    --------
    >>> kendall([[1, 2, 3, 4], [4, 3, 3, 1], [1, 1, 1, 1]], [10, 20, 30, 40]).round(3)
    array([ 1.   , -0.913,    nan])
    """
    rows, row = checked_rows(x, y)
    # -1 is ambiguous for rows without values.
    flat = rows.reshape(math.prod(rows.shape[:-1]), len(row))
    pairs = np.triu_indices(len(row), k=1)
    others = _signs(row[None], pairs)[0]
    tau = np.full(len(flat), np.nan)
    step = max(1, _PAIRS // max(1, len(others)))
    for start in range(0, len(flat), step):
        signs = _signs(flat[start : start + step], pairs)
        # Sums of integers, which are exact.
        scale = np.sqrt(np.abs(signs).sum(axis=1) * np.abs(others).sum())
        part = tau[start : start + step]
        _ = np.divide(signs @ others, scale, out=part, where=scale > 0)
    return np.clip(tau, -1.0, 1.0).reshape(rows.shape[:-1])


def _signs(rows: NDArray[np.float64], pairs: tuple[NDArray[np.intp], ...]) -> NDArray[np.float64]:
    """Return for each row and pair 1 if the first value is larger, −1 if the second is, else 0."""
    first, second = (rows[:, places] for places in pairs)
    return np.subtract(first > second, first < second, dtype=np.float64)
