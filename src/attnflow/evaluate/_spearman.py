"""`spearman`: rank correlation, of many rows at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks, optional
from attnflow.errors import InputError


def spearman(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return Spearman's rank correlation of `x`, or of each of its rows, with `y`.

    `rho = corr(rank(x), rank(y))`; equal values share the mean of their ranks. It is NaN if it is
    undefined: all values of one side are equal, or there are fewer than two.

    Parameters
    ----------
    x
        One value for each token, or any number of such rows: (…, token).
    y
        One value for each token.

    Notes
    -----
    `O(n log n)` for each row. Ranks are scipy's.
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
            "expected one row in y, and as many values in each row of x, got shapes "
            f"{rows.shape} and {row.shape}"
        )
    for name, values in (("x", rows), ("y", row)):
        if not np.isfinite(values).all():
            raise InputError(f"{name} must be finite to have ranks, got NaN or infinity")
    if len(row) < 2:
        return np.full(rows.shape[:-1], np.nan)
    ranks, others = _ranks(rows), _ranks(row)
    ranks, others = ranks - ranks.mean(axis=-1, keepdims=True), others - others.mean()
    # Ranks are halves of integers, so that the squares of equal ones sum to exactly zero.
    scale = np.sqrt((ranks**2).sum(axis=-1) * (others**2).sum())
    rho = np.full(ranks.shape[:-1], np.nan)
    _ = np.divide(ranks @ others, scale, out=rho, where=scale > 0)
    return np.clip(rho, -1.0, 1.0)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    optional.require("scipy", need="ranks need", extra="models")
    from scipy.stats import rankdata

    return rankdata(values, axis=-1)
