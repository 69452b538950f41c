"""Maximum flow in exact integer arithmetic, by a plain solver that shares nothing with attnflow.

Floats are integers times a power of two, so a graph becomes integers without rounding. Python's
integers have no largest value, so nothing is rounded later either.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Layers = Sequence[NDArray[np.floating[Any]]]


class ExactFlows:
    """Maximum flows of one graph: matrices (n_above, n_below), bottom layer first."""

    def __init__(self, layers: Layers) -> None:
        self._starts = [0]
        for size in (layers[0].shape[1], *map(len, layers)):
            self._starts.append(self._starts[-1] + size)
        edges = [
            (self._starts[l] + above, self._starts[l - 1] + below, float(layer[above, below]))
            for l, layer in enumerate(layers, start=1)
            for above, below in np.argwhere(layer).tolist()
        ]
        finite = [Fraction(weight) for _, _, weight in edges if weight < np.inf]
        self._denominator = max((weight.denominator for weight in finite), default=1)
        # More than all finite edges together: no finite cut has such an edge.
        self._unbounded = int(sum(finite, start=Fraction(1)) * self._denominator) + 1
        # Arc 2e is edge e, arc 2e + 1 the way back.
        self._heads: list[int] = []
        self._capacities: list[int] = []
        self._arcs: list[list[int]] = [[] for _ in range(self._starts[-1])]
        for tail, head, weight in edges:
            capacity = (
                self._unbounded if weight == np.inf else int(Fraction(weight) * self._denominator)
            )
            self._arcs[tail].append(len(self._heads))
            self._arcs[head].append(len(self._heads) + 1)
            self._heads += [head, tail]
            self._capacities += [capacity, 0]

    def value(self, source: tuple[int, int], sink: tuple[int, int]) -> Fraction | float:
        """The maximum flow from (layer, position) to (layer, position); infinite as a float."""
        start, end = (self._starts[layer] + position for layer, position in (source, sink))
        room = self._capacities.copy()
        total = 0
        while self._levels(room, start, end):
            self._next = [0] * len(self._arcs)
            while sent := self._push(room, start, end, -1):
                total += sent
                if total >= self._unbounded:
                    return np.inf
        return Fraction(total, self._denominator)

    def _levels(self, room: list[int], start: int, end: int) -> bool:
        """Distances from `start`, breadth first; whether `end` has one."""
        self._level = [-1] * len(self._arcs)
        self._level[start] = 0
        nodes = [start]
        for node in nodes:
            for arc in self._arcs[node]:
                head = self._heads[arc]
                if room[arc] and self._level[head] < 0:
                    self._level[head] = self._level[node] + 1
                    nodes.append(head)
            if self._level[end] >= 0:
                return True
        return False

    def _push(self, room: list[int], node: int, end: int, limit: int) -> int:
        """Send up to `limit` (−1: any amount) along one shortest path; the amount, 0 for none."""
        if node == end:
            return limit
        arcs = self._arcs[node]
        while self._next[node] < len(arcs):
            arc = arcs[self._next[node]]
            head = self._heads[arc]
            if room[arc] and self._level[head] == self._level[node] + 1:
                narrowed = room[arc] if limit < 0 else min(limit, room[arc])
                if sent := self._push(room, head, end, narrowed):
                    room[arc] -= sent
                    room[arc ^ 1] += sent
                    return sent
            self._next[node] += 1
        return 0


def terminals(layers: Layers, source: tuple[int, int], sink: tuple[int, int]) -> float:
    """The smaller of what the source's row can send and what the sink's column can take."""
    with np.errstate(over="ignore"):
        sends = layers[source[0] - 1][source[1]].sum(dtype=np.float64)
        takes = layers[sink[0]][:, sink[1]].sum(dtype=np.float64)
    return float(min(sends, takes))
