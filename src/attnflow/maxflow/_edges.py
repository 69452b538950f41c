"""The edges of a layered network that a flow can use, and linear systems on its nodes."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._network import Floats, Matrices

# In units of the flow; chosen. All edges narrower than that carry less than 1e-16 of it together,
# and none wider than that limits it.
_NARROW, _WIDE = 1e-16, 1e12
# Nodes that are eliminated one by one. Best among 4 to 32.
_FEW = 16


class Edges:
    """The edges on paths from some nodes of the top layer to the lowest, as flat arrays.

    `capacity` is in units of `value`, infinite for an unbounded edge. `above` and `below` number
    the nodes of the edges. Nodes between the ends come first, layer by layer, `starts[l - 1]` being
    the first of layer l; then one node for all sources and one for all sinks.
    """

    def __init__(self, matrices: Matrices, sources: Sequence[int], value: float) -> None:
        chosen = np.zeros(len(matrices[-1]), dtype=bool)
        chosen[list(sources)] = True
        edges = sum(m.size for m in matrices)
        with np.errstate(over="ignore", under="ignore"):
            scaled = [m.astype(np.float64) / value for m in matrices]
        self._used = _on_paths([m > _NARROW / edges for m in scaled], chosen)
        capacity = np.concatenate([m[u] for m, u in zip(scaled, self._used, strict=True)])
        self.capacity = np.where(capacity < _WIDE, capacity, np.inf)
        self.starts = np.cumsum([0, *(len(m) for m in matrices[:-1])])
        self.nodes = int(self.starts[-1])
        source, sink = self.nodes, self.nodes + 1
        above, below = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        for layer, used in enumerate(self._used):
            i, k = np.nonzero(used)
            top, lowest = layer == len(matrices) - 1, layer == 0
            above.append(np.full_like(i, source) if top else i + self.starts[layer])
            below.append(np.full_like(k, sink) if lowest else k + self.starts[layer - 1])
        self.above, self.below = np.concatenate(above), np.concatenate(below)
        # The edges of each matrix are a slice of the flat arrays.
        ends = np.cumsum([0, *map(len, above)]).tolist()
        self.slices = [slice(a, b) for a, b in itertools.pairwise(ends)]

    def drops(self, potentials: Floats) -> Floats:
        """Return the potential above minus that below, for each edge."""
        return potentials[self.above] - potentials[self.below]

    def surplus(self, flow: Floats) -> Floats:
        """Return what enters each node between the ends minus what leaves it."""
        return self._sums(self.below, flow) - self._sums(self.above, flow)

    def degrees_at_ends(self, weights: Floats) -> Floats:
        """Return the weights of each node's edges from the sources and to the sinks."""
        ends = np.zeros(self.nodes + 2)
        for nodes, part in ((self.above, self.slices[0]), (self.below, self.slices[-1])):
            ends += np.bincount(nodes[part], weights[part], minlength=self.nodes + 2)
        return ends[: self.nodes]

    def total(self, flow: Floats) -> float:
        """Return what leaves the sources."""
        return float(flow[self.slices[-1]].sum())

    def matrices(self, flow: Floats) -> list[Floats]:
        """Return one matrix per layer, zero for edges that are not used."""
        flows = [np.zeros(used.shape) for used in self._used]
        for matrix, used, part in zip(flows, self._used, self.slices, strict=True):
            matrix[used] = flow[part]
        return flows

    def _sums(self, nodes: NDArray[np.int64], amounts: Floats) -> Floats:
        sums: Floats = np.bincount(nodes, amounts, minlength=self.nodes + 2).astype(np.float64)
        return sums[: self.nodes]


class Laplacian:
    """The weighted Laplacian of the nodes between the ends, factorized; O(L n³).

    Elimination goes through the layers from the lowest, and only adds, multiplies and divides
    numbers above zero (Grassmann, Taksar & Heyman 1985, https://doi.org/10.1287/opre.33.5.1107). A
    diagonal of a Laplacian is a sum of weights, and subtracting from it would lose the small ones:
    where many flows are maximum, nodes are joined to the ends by weights of 1e-20 of the others.
    """

    def __init__(self, edges: Edges, weights: Floats) -> None:
        self._parts = [slice(a, b) for a, b in itertools.pairwise(edges.starts.tolist())]
        # Weights of the edges from each of these layers to the one below it.
        self._weights = [
            _between(edges, weights, *pair) for pair in enumerate(itertools.pairwise(self._parts))
        ]
        to_ends = edges.degrees_at_ends(weights)
        self._inverses: list[Floats] = []
        for layer, part in enumerate(self._parts):
            # Edges in place of the paths through the layers below, and in place of those to sinks.
            joined, ends = np.zeros((part.stop - part.start,) * 2), to_ends[part]
            if layer:
                between, inverse = self._weights[layer - 1], self._inverses[-1]
                joined = between @ inverse @ between.T
                ends += between @ (inverse @ to_ends[self._parts[layer - 1]])
            up = self._weights[layer].sum(axis=0) if layer < len(self._weights) else 0.0
            self._inverses.append(_inverse(joined, ends + up))

    def solve(self, amounts: Floats) -> Floats:
        """Return potentials of the nodes; what leaves a node less what enters it is `amounts`."""
        potentials = amounts.copy()
        for layer, between in enumerate(self._weights):
            lower, part = self._parts[layer : layer + 2]
            potentials[part] += between @ (self._inverses[layer] @ potentials[lower])
        for layer in range(len(self._parts) - 1, -1, -1):
            part = self._parts[layer]
            if layer < len(self._weights):
                upper = potentials[self._parts[layer + 1]]
                potentials[part] += self._weights[layer].T @ upper
            potentials[part] = self._inverses[layer] @ potentials[part]
        return potentials


def _between(edges: Edges, weights: Floats, layer: int, parts: tuple[slice, slice]) -> Floats:
    """Return the weights (node above, node below) between two layers of nodes."""
    below, above = parts
    here = edges.slices[layer + 1]
    between = np.zeros((above.stop - above.start, below.stop - below.start))
    between[edges.above[here] - above.start, edges.below[here] - below.start] = weights[here]
    return between


def _inverse(joined: Floats, others: Floats) -> Floats:
    """Return the inverse of the Laplacian of some nodes, all of whose entries are 0 or more.

    `joined` are the weights between them, its diagonal unused, and `others` the weights to the
    rest. Half of the nodes are eliminated first, so that most of the work is matrix products.

    >>> _inverse(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1e-20, 1e-20]))
    array([[5.e+19, 5.e+19],
           [5.e+19, 5.e+19]])
    """
    if len(others) <= _FEW:
        return _inverse_of_few(joined, others)
    half = len(others) // 2
    across = joined[half:, :half]
    first = _inverse(joined[:half, :half], others[:half] + across.sum(axis=0))
    shares = first @ across.T
    second = _inverse(
        joined[half:, half:] + across @ shares, others[half:] + others[:half] @ shares
    )
    mixed = shares @ second
    return np.block([[first + mixed @ shares.T, mixed], [mixed.T, second]])


def _inverse_of_few(joined: Floats, others: Floats) -> Floats:
    """Return the same, one node after the other."""
    count = len(others)
    left, rest = joined.copy(), others.copy()
    lower, pivots = np.eye(count), np.empty(count)
    for k in range(count):
        row = left[k, k + 1 :]
        pivots[k] = row.sum() + rest[k] or 1.0  # a node without edges keeps its potential
        shares = row / pivots[k]
        lower[k + 1 :, k] = -shares
        left[k + 1 :, k + 1 :] += np.outer(row, shares)
        rest[k + 1 :] += shares * rest[k]
    # Of a triangle with a diagonal of ones and nothing above zero beside it, NumPy's inverse only
    # adds as well.
    inverse: Floats = np.linalg.inv(lower).astype(np.float64, copy=False)
    return inverse.T @ (inverse / pivots[:, None])


def _on_paths(
    edges: Sequence[NDArray[np.bool_]], sources: NDArray[np.bool_]
) -> list[NDArray[np.bool_]]:
    """Return which edges are on a path from the sources to the lowest layer."""
    reached = [sources]  # from the sources, top layer first
    for layer in reversed(edges[1:]):
        reached.append(reached[-1] @ layer)
    reaching = [np.ones(edges[0].shape[1], dtype=bool)]  # the lowest layer, lowest first
    for layer in edges[:-1]:
        reaching.append(layer @ reaching[-1])
    return [
        layer & above[:, None] & below
        for layer, above, below in zip(edges, reversed(reached), reaching, strict=True)
    ]
