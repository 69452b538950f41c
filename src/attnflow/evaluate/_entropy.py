"""`normalized_entropy`: how evenly scores are distributed over tokens."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow.errors import InputError


def normalized_entropy(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the entropy of each row of scores, divided by that of equal scores.

    `H = - Σ_j p_j log p_j / log n` with `p = scores / Σ scores`: 1 if all n tokens have the same
    score, 0 if one token has everything. It is NaN for a single token, if all scores are zero, and
    if one is infinite.

    Parameters
    ----------
    scores
        (…, token), at least 0.

    Examples
    --------
    >>> normalized_entropy([[1, 1, 1, 1], [0, 3, 3, 0], [0, 0, 2, 0]])
    array([1. , 0.5, 0. ])
    """
    rows = checks.as_floats(scores, "scores")
    if not rows.ndim or not rows.shape[-1]:
        raise InputError(f"scores: expected at least one row of scores, got shape {rows.shape}")
    if not (rows >= 0).all():
        raise InputError(f"scores: expected numbers of at least 0, got {rows.min()}")
    with np.errstate(divide="ignore", invalid="ignore"):
        # Divided by the highest score first, since the sum of large scores may be infinite.
        shares = rows / rows.max(axis=-1, keepdims=True)
        shares = shares / shares.sum(axis=-1, keepdims=True)
        terms = np.where(shares == 0, 0.0, shares * np.log(shares))
        return np.asarray(np.abs(terms.sum(axis=-1)) / np.log(rows.shape[-1]))
