"""Columns of scores and edges that the scale of a figure treats in their own way."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.scale import scale_end
from attnflow.types import TokenAttention

# Edges to one node that are many: at least so many, and at least this share of the rows. Chosen:
# fewer cover no others, and the last tokens of a causal model have only a few.
_MANY, _MANY_SHARE = 4, 0.25


def own_column(token_attention: TokenAttention, query: int) -> NDArray[np.bool_]:
    """Return for each column whether it is the position of the query itself.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[0.5, 0.5]]], ["a", "b"], [1], [1], "raw")
    >>> own_column(t, 1)
    array([False,  True])
    """
    return (np.arange(len(token_attention.tokens)) == query) & (not is_segmented(token_attention))


def is_segmented(token_attention: TokenAttention) -> bool:
    """Return whether the columns are segments of several tokens."""
    return token_attention.settings.get("segments", "tokens") != "tokens"


def fans(edges: NDArray[np.float64], own: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each column of edges (above, below) whether it is a fan, as to an attention sink.

    The node of a fan has many edges, and their median is more than five times that of every node
    outside the largest quarter (rounded up), see `scale_end`. Edges of weight 0 and `own` ones do
    not count. Many edges are four or more, from a quarter or more of the positions with edges.

    >>> W = np.full((8, 8), 0.02)
    >>> W[:, 0], W[2, 4] = 0.5, 0.4
    >>> fans(W, np.eye(8, dtype=np.bool_)).nonzero()[0]
    array([0])
    """
    counted = (edges > 0) & ~own
    masked: Any = np.ma  # its types are incomplete
    medians = masked.median(masked.masked_where(~counted, edges), axis=0).filled(0.0)
    least = max(_MANY, _MANY_SHARE * counted.any(axis=1).sum())
    return (counted.sum(axis=0) >= least) & (medians > scale_end(medians))


def widest_edge(edges: NDArray[np.float64], own: NDArray[np.bool_]) -> float:
    """Return the weight of the widest of the edges (above, below): no `own` edge and not of a fan.

    If there are no others, the largest weight; 0 without edges.
    """
    others = np.where(own | fans(edges, own), 0.0, edges)
    return float(others.max() or edges.max())
