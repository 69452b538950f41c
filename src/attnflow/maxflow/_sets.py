"""Sets of nodes as one source or one sink.

Edges from one node into a set are in parallel: once the set is one sink, they are one edge of their
total capacity. So the flow to a set is that to one node in a network with fewer nodes, as deep and
as exact as before, and needs no edges of infinite capacity to a node below all others.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.maxflow._network import TOO_LARGE, Floats


def merge_columns(matrix: NDArray[np.floating], sets: Sequence[Sequence[int]]) -> Floats:
    """Return capacities (node above, set): of all edges from the node into the set.

    >>> merge_columns(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, np.inf]]), [[0, 1], [1, 2], [1]])
    array([[0.75, 0.5 , 0.25],
           [1.  ,  inf, 0.  ]])
    """
    merged = np.empty((len(matrix), len(sets)))
    for number, nodes in enumerate(sets):
        part = matrix[:, list(nodes)]
        with np.errstate(over="ignore"):
            merged[:, number] = part.sum(axis=1, dtype=np.float64)
        # A sum beyond float64 is not an unbounded edge.
        if (np.isinf(merged[:, number]) & np.isfinite(part).all(axis=1)).any():
            raise InputError(TOO_LARGE)
    return merged


def spread(flow: Floats, capacity: NDArray[np.floating]) -> Floats:
    """Return the flow (node, set member) over parallel edges that together carry `flow` (node).

    Edges are filled in their order. Shares in proportion to the capacities would round where
    weights are as small as float64 can hold, and then not add up.

    >>> spread(np.array([0.6, 0.1]), np.array([[0.5, 0.25], [0.0, np.inf]]))
    array([[0.5, 0.1],
           [0. , 0.1]])
    """
    most = np.minimum(capacity, flow[:, None], dtype=np.float64)
    with np.errstate(over="ignore"):
        before = np.cumsum(most, axis=1) - most
    return np.clip(flow[:, None] - before, 0.0, most)
