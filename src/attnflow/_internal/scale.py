"""The upper end of a scale of colours, widths or bars, which one large score does not decide."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A column is a sink if its median is this many times that of the next. Chosen: the other columns
# would have less than a fifth of the scale, too little to tell them apart.
_TIMES = 5.0
# Sinks at most, and columns that remain at least. Chosen: [CLS], [SEP] and a full stop are three,
# and two remaining columns would say little.
_MOST_SINKS, _LEAST_LEFT = 3, 3


def largest_other(scores: NDArray[np.float64], own: NDArray[np.bool_]) -> float:
    """Return the largest score (row, token) but for `own` cells and attention sinks.

    Own cells hold what a query has of itself through the residual connection. Sinks are up to three
    columns whose medians over the rows are more than five times those of all others. Zeros and
    infinite scores do not count. If nothing else is above 0, the largest score is returned, or 1.

    >>> largest_other(np.array([[0.6, 0.3, 0.02, 0.05, 0.03]]), np.arange(5) == 0)
    0.05
    """
    finite = np.where(np.isfinite(scores), scores, 0.0)
    others = np.where(own, 0.0, finite)
    masked: Any = np.ma  # its types are incomplete
    medians: NDArray[np.float64]
    medians = masked.median(masked.masked_equal(others, 0.0), axis=0).filled(0.0)
    order = np.argsort(-medians, kind="stable")
    for count in range(min(_MOST_SINKS, len(order) - _LEAST_LEFT), 0, -1):
        if medians[order[count - 1]] > _TIMES * medians[order[count]] > 0:
            others = others[:, order[count:]]
            break
    return float(others.max()) or float(finite.max()) or 1.0
