"""The upper end of a scale of colours, widths or bars, which a few large scores do not decide."""

import numpy as np
from numpy.typing import NDArray

# Chosen with MiniLM and SmolLM2 on texts of 7 to 512 tokens: the median column then has at least an
# eighth of the scale in most heat maps. Without the largest tenth instead of the largest quarter,
# it often has less than a tenth, which is nearly white, and two sinks of a short text stay.
_TIMES = 5.0
# Scores below which none is an outlier; two remaining ones would say little.
_LEAST = 4


def scale_end(scores: NDArray[np.float64]) -> float:
    """Return the largest score that is no outlier.

    An outlier is more than five times as large as every score outside the largest quarter (rounded
    up). Zeros, NaN and infinite scores do not count, and of fewer than four scores none is an
    outlier. If no score is above 0, the end is 1.

    >>> scale_end(np.array([0.9, 0.3, 0.02, 0.05, 0.03, 0.04]))
    0.05
    >>> scale_end(np.array([0.2, 0.1, 0.02, 0.05, 0.03, 0.04]))
    0.2
    """
    counted = np.sort(scores[np.isfinite(scores) & (scores > 0)])
    if len(counted) < _LEAST:
        return float(counted.max(initial=0.0)) or 1.0
    limit = _TIMES * counted[len(counted) * 3 // 4 - 1]
    return float(counted[counted <= limit].max())


def largest_other(scores: NDArray[np.float64], own: NDArray[np.bool_]) -> float:
    """Return the end of the scale of scores (row, token): `scale_end` of the columns' maxima.

    Own cells, which hold what a query has of itself through the residual connection, do not count,
    unless all other scores are 0.

    >>> largest_other(np.array([[0.6, 0.3, 0.02, 0.05, 0.03, 0.04]]), np.arange(6) == 0)
    0.05
    """
    finite = np.where(np.isfinite(scores), scores, 0.0)
    others = np.where(own, 0.0, finite)
    return scale_end((others if others.any() else finite).max(axis=0))
