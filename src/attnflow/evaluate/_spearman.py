"""`spearman`: rank correlation, of many rows at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks, optional
from attnflow.errors import InputError


def spearman(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Spearman's rank correlation of `x`, or of each row of it, with `y`.

    `rho = corr(rank(x), rank(y))`, equal values sharing the mean of their ranks. It is NaN where it
    is undefined: all values of a side are equal, or there are fewer than two.

    Parameters
    ----------
    x
        One value a token, or any number of such rows: (…, token).
    y
        One value a token.

    Notes
    -----
    `O(n log n)` a row. Ranks are scipy's.
    Spearman (1904), https://doi.org/10.2307/1412159

    Examples
    --------
    >>> spearman([[1, 2, 3, 4], [4, 3, 3, 1], [1, 1, 1, 1]], [10, 20, 30, 40]).round(3)
    array([ 1.   , -0.949,    nan])
    """
    rows = checks.as_floats(x, "x").astype(np.float64, copy=False)
    row = checks.as_floats(y, "y").astype(np.float64, copy=False)
    if row.ndim != 1 or rows.ndim < 1 or rows.shape[-1] != len(row):
        raise InputError(
            f"x has shape {rows.shape} and y {row.shape}; the same number of values in each row is "
            "wanted, and one row in y"
        )
    for name, values in (("x", rows), ("y", row)):
        if not np.isfinite(values).all():
            raise InputError(f"{name} holds values that are not finite, which have no rank")
    if len(row) < 2:
        return np.full(rows.shape[:-1], np.nan)
    return _correlation(_ranks(rows), _ranks(row))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    optional.require("scipy", need="ranks need", extra="models")
    from scipy.stats import rankdata

    return rankdata(values, axis=-1)


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y = x - x.mean(axis=-1, keepdims=True), y - y.mean()
    # Ranks are halves of whole numbers, so the squares of equal ones add up to zero and not to
    # almost zero.
    spread = np.sqrt((x**2).sum(axis=-1) * (y**2).sum())
    rho = np.full(x.shape[:-1], np.nan)
    _ = np.divide(x @ y, spread, out=rho, where=spread > 0)
    return np.clip(rho, -1.0, 1.0)
