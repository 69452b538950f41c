"""Maximum flows of small networks in plain Python: no compiler, the same integers, the same proof.

Dinic's algorithm as in the kernels, with Python integers as bit sets, one pair at a time and from
nothing. It computes on the capacities of the same `Network`, so its values equal those of the
kernels bit by bit. What they do to be fast is left out: no flow is kept from depth to depth, and no
bound ends a search. Where the kernels visit an edge in a nanosecond this takes a microsecond.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._network import NEARLY, Floats

# The nodes of each layer that a search finds, as bit sets; bit k is node k.
_Bits = list[int]


class PlainFlow:
    """A maximum flow from node `source` of the top layer of `capacity` to `sink`, with its proof.

    `capacity` is (layer, node, node below) in integers, layer 0 unused. `flow` has the same axes:
    what runs over each edge. `visited` (layer, node) is the source's side of a minimum cut, in the
    layers between source and sink. `proved` says whether flow and cut prove each other.
    """

    def __init__(self, capacity: Floats, source: int, sink: int) -> None:
        self._capacity, self._source, self._sink = capacity, source, sink
        self._top = len(capacity) - 2  # the layer below the source
        self._supply: list[float] = capacity[-1, source].tolist()
        self._into_sink: list[float] = capacity[1, :, sink].tolist()
        self._residual: list[list[list[float]]] = capacity[:-1].tolist()
        self._sink_open = _bit_set(capacity[1, :, sink] > 0)
        # By layer and node: the nodes below to which it has residual capacity.
        self._open: list[_Bits] = [[*map(_bit_set, layer)] for layer in capacity[:-1] > 0]
        # By layer and node: the nodes above that send to it.
        self._used_from: list[_Bits] = [[0] * capacity.shape[1] for _ in capacity]
        self._visited: _Bits = []
        while levels := self._levels():
            self._fill(levels)
        self.flow = self._flow()
        self.value = float(self.flow[-1, source].sum())
        self.visited = np.array(
            [[side >> k & 1 for k in range(capacity.shape[1])] for side in self._visited], bool
        )
        self.proved = self._is_flow() and self._cut() == self.value

    def _levels(self) -> list[_Bits]:
        """The level graph of a breadth-first search, a bit set for each level and layer.

        Empty where no path leads to the sink: `_visited` is then the source's side of a cut.
        """
        top = self._top
        found = [0] * (top + 1)
        found[top] = _bit_set(np.array(self._supply) > 0)
        self._visited = list(found)
        levels = [found]
        while not levels[-1][1] & self._sink_open:
            found = [0] * (top + 1)
            for layer, nodes in enumerate(levels[-1]):
                for u in _nodes(nodes):
                    if layer > 1:
                        found[layer - 1] |= self._open[layer][u]
                    if layer < top:
                        found[layer + 1] |= self._used_from[layer][u]
            found = [new & ~old for new, old in zip(found, self._visited, strict=True)]
            if not any(found):
                return []
            self._visited = [new | old for new, old in zip(found, self._visited, strict=True)]
            levels.append(found)
        levels[-1][1] &= self._sink_open
        return levels

    def _fill(self, levels: list[_Bits]) -> None:
        """Push along paths of the level graph until it has none left."""
        for first in _nodes(levels[0][self._top]):
            while self._supply[first] > 0 and (path := self._path(levels, first)):
                self._push(path)

    def _path(self, levels: list[_Bits], first: int) -> list[tuple[int, int]]:
        """A path (layer, node) from a node of the top layer to the sink; empty if there is none.

        Nodes that lead nowhere are taken out of the level graph.
        """
        path = [(self._top, first)]
        while path:
            layer, u = path[-1]
            if len(path) == len(levels):
                if layer == 1 and self._sink_open >> u & 1:
                    return path
            else:
                following = levels[len(path)]
                if layer > 1 and (below := self._open[layer][u] & following[layer - 1]):
                    # Straight down first: with residual connections that edge is the widest.
                    path.append((layer - 1, u if below >> u & 1 else _lowest(below)))
                    continue
                if layer < self._top and (
                    above := self._used_from[layer][u] & following[layer + 1]
                ):
                    path.append((layer + 1, _lowest(above)))
                    continue
            levels[len(path) - 1][layer] &= ~(1 << u)
            _ = path.pop()
        return path

    def _push(self, path: list[tuple[int, int]]) -> None:
        """Send along a path as much as its narrowest edge, the supply and the sink allow."""
        (_, first), (_, last) = path[0], path[-1]
        amount = min(self._supply[first], self._into_sink[last])
        edges: list[tuple[int, int, int, bool]] = []  # layer above, node there, node below; down
        for (layer, u), (other, v) in itertools.pairwise(path):
            if other < layer:
                edges.append((layer, u, v, True))
                amount = min(amount, self._residual[layer][u][v])
            else:
                edges.append((other, v, u, False))
                sent = float(self._capacity[other, v, u]) - self._residual[other][v][u]
                amount = min(amount, sent)
        for layer, u, v, down in edges:
            left = self._residual[layer][u][v] + (-amount if down else amount)
            self._residual[layer][u][v] = left
            if down:
                self._used_from[layer - 1][v] |= 1 << u
                if left == 0:
                    self._open[layer][u] &= ~(1 << v)
            else:
                self._open[layer][u] |= 1 << v
                if left == self._capacity[layer, u, v]:
                    self._used_from[layer - 1][v] &= ~(1 << u)
        self._supply[first] -= amount
        self._into_sink[last] -= amount
        if self._into_sink[last] == 0:
            self._sink_open &= ~(1 << last)

    def _flow(self) -> Floats:
        flow = np.zeros(self._capacity.shape)
        flow[1, :, self._sink] = self._capacity[1, :, self._sink] - self._into_sink
        flow[2:-1] = self._capacity[2:-1] - np.array(self._residual)[2:]
        flow[-1, self._source] = self._capacity[-1, self._source] - self._supply
        return flow

    def _is_flow(self) -> bool:
        """Whether every edge carries from zero to its capacity, and nodes pass on what they get."""
        received, sent = self.flow[2:].sum(axis=1), self.flow[1:-1].sum(axis=2)
        return bool(
            (self.flow >= 0).all()
            and (self.flow <= self._capacity).all()
            and (received == sent).all()
            and self.flow[1].sum() == self.value
        )

    def _cut(self) -> float:
        """The capacity of all edges that leave the nodes in `visited`."""
        inside = self.visited[1:]  # of layers 1 to `_top`
        top = self._capacity[-1, self._source][~inside[-1]].sum()
        into_sink = self._capacity[1, inside[0], self._sink].sum()
        between = inside[1:, :, None] & ~inside[:-1, None, :]
        return float(top + into_sink + self._capacity[2:-1][between].sum())


def flow_value(capacity: Floats, source: int, sink: int) -> float:
    """The maximum flow as kernels give it: its ceiling if it nearly is that; −1 without a proof."""
    if len(capacity) == 2:
        return float(capacity[1, source, sink])
    flow = PlainFlow(capacity, source, sink)
    if not flow.proved:
        return -1.0
    ceiling = float(min(capacity[-1, source].sum(), capacity[1, :, sink].sum()))
    return ceiling if len(capacity) > 3 and flow.value >= NEARLY * ceiling else flow.value


def _bit_set(flags: NDArray[np.bool_]) -> int:
    """Flags (node) as one integer."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _nodes(bits: int) -> Iterator[int]:
    """The nodes of a bit set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
