"""Rank correlation, of many rows at once: `spearman`, and `dense_spearman` as published."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
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
    `O(n log n)` for each row.
    Spearman (1904), https://doi.org/10.2307/1412159

    Examples
    --------
    >>> spearman([[1, 2, 3, 4], [4, 3, 3, 1], [1, 1, 1, 1]], [10, 20, 30, 40]).round(3)
    array([ 1.   , -0.949,    nan])
    """
    rows, row = checked_rows(x, y)
    shape = rows.shape[:-1]
    flat = rows.reshape(1, math.prod(shape), len(row))  # -1 is ambiguous for rows without values
    return rank_correlation(flat, row[None]).reshape(shape)


def rank_correlation(rows: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's rank correlation (text, row) of rows (text, row, token) with (text, token).

    All are ranked at once, since for a short text a call takes longer than its work.
    """
    n_tokens = others.shape[-1]
    if not (np.isfinite(rows).all() and np.isfinite(others).all()):
        raise InputError("expected finite values, which have ranks, got NaN or infinity")
    rho = np.full(rows.shape[:-1], np.nan)
    if n_tokens < 2:
        return rho
    # The mean rank is the same with ties.
    ranks = _average_ranks(np.concatenate([rows, others[:, None]], axis=1)) - (n_tokens + 1) / 2
    own, other = ranks[:, :-1], ranks[:, -1:]
    # Ranks are halves of integers, so that the squares of equal ones sum to exactly zero.
    scale = np.sqrt((own**2).sum(axis=-1) * (other**2).sum(axis=-1))
    _ = np.divide((own * other).sum(axis=-1), scale, out=rho, where=scale > 0)
    return np.clip(rho, -1.0, 1.0)


def dense_spearman(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the rank correlation that the paper's code computes, for comparisons with it.

    `rho = 1 − 6 sum (rank(x) − rank(y))² / (n (n² − 1))`, the formula for n values without ties, on
    dense ranks: equal values share a rank, and the next value has the next rank. Without ties it
    equals `spearman`; with ties it differs. NaN if there are fewer than two values.

    Parameters
    ----------
    x, y
        As for `spearman`.

    Examples
    --------
    >>> dense_spearman([[1, 2, 3, 4], [4, 3, 3, 1], [1, 1, 1, 1]], [10, 20, 30, 40]).round(3)
    array([ 1. , -0.4, -0.4])
    """
    rows, row = checked_rows(x, y)
    n = len(row)
    if n < 2:
        return np.full(rows.shape[:-1], np.nan)
    squares = (_dense_ranks(rows) - _dense_ranks(row)) ** 2
    return 1 - 6 * squares.sum(axis=-1) / (n * (n**2 - 1))


def checked_rows(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows (…, token) and one row (token) to compare them with; all values are finite."""
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
    return rows, row


def _average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; equal values share the mean of their ranks.

    >>> _average_ranks(np.array([0.5, 0.1, 0.5]))
    array([2.5, 1. , 2.5])
    """
    order, starts = _sorted(values)
    places = np.arange(values.shape[-1])
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    ends = np.concatenate([starts[..., 1:], np.ones_like(starts[..., :1])], axis=-1)
    last = np.where(ends, places, places[-1])[..., ::-1]
    last = np.minimum.accumulate(last, axis=-1)[..., ::-1]
    return _unsorted((first + last) / 2 + 1, order)


def _dense_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; equal values share a rank, and none is left out.

    >>> _dense_ranks(np.array([0.5, 0.1, 0.5]))
    array([2., 1., 2.])
    """
    order, starts = _sorted(values)
    return _unsorted(np.cumsum(starts, axis=-1, dtype=np.float64), order)


def _sorted(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.bool]]:
    """Return the order of values, and where in it each run of equal values starts."""
    order = np.argsort(values, axis=-1)
    ranked = np.take_along_axis(values, order, axis=-1)
    starts = np.ones(values.shape, dtype=bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    return order, starts


def _unsorted(ranks: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the ranks of sorted values in the order of the values."""
    found = np.empty_like(ranks)
    np.put_along_axis(found, order, ranks, axis=-1)
    return found
