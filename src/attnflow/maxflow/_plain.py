"""Maximum flows of small networks in plain Python: no compiler, the same integers, the same proof.

Dinic's algorithm as in the kernels, with Python integers as bit sets, one pair at a time. It
computes on the capacities of the same `Network`, so its values equal those of the kernels bit by
bit. The flow of a layer starts from that of the layer below; the rest of what makes kernels fast is
left out. Where they visit an edge in a nanosecond this takes a microsecond.
"""

import functools
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._network import NEARLY, Floats

# Sets of nodes: bit k is node k.
_Bits = list[int]
_Level = dict[int, int]  # what a search finds in one step: the nodes by their layer
_Node = tuple[int, int]  # layer, node


class PlainNetwork:
    """What all flows in a network share: its capacities (layer, node, node below) as lists."""

    def __init__(self, capacity: Floats) -> None:
        self.capacity = capacity
        self.lists: list[list[list[float]]] = capacity.tolist()
        # By layer and node: the nodes below to which it has an edge.
        self.below: list[_Bits] = [[*map(_bit_set, layer)] for layer in capacity > 0]
        # By layer: the nodes to which an edge leads; no search finds others.
        self.reached = [functools.reduce(int.__or__, layer, 0) for layer in self.below[1:]]


class PlainFlow:
    """Maximum flows from nodes `source` of some layers of a network to `sink`, with their proofs.

    After `solve(depth)`, for the source in that layer: `flow` (layer, node, node below) is what
    runs over each edge, in integers, layer 0 unused; `visited` (layer, node) the source's side of a
    minimum cut, in the layers between source and sink; and `proved` says whether flow and cut prove
    each other. Depths are 3 or more, and increase from call to call.
    """

    def __init__(self, network: PlainNetwork, source: int, sink: int) -> None:
        self._network, self._source, self._sink = network, source, sink
        self._depth = 0  # the layer of the source; 0 before the first
        # What is left of the capacity of the source's edges, and of those into the sink.
        self._supply: list[float] = []
        self._into_sink: list[float] = []
        self._sink_open = 0
        self._sent: dict[int, float] = {}  # by `_edge`, over the edges between source and sink
        # By layer and node: the nodes below to which it has residual capacity.
        self._open: list[_Bits] = []
        # By layer and node: the nodes above that send to it.
        self._used_from: list[_Bits] = []
        self._visited: _Bits = []

    def solve(self, depth: int) -> None:
        """Find the flow of a layer, starting from that of a lower one if it was solved before."""
        if not self._depth:
            self._start(depth)
        while self._depth < depth:
            self._raise_source()
        while levels := self._levels():
            for first in _nodes(levels[0][depth - 1]):
                self._send(levels, first)
        self.flow = self._flow()
        self.value = float(self.flow[-1, self._source].sum())
        nodes = range(self.flow.shape[1])
        self.visited = np.array([[side >> k & 1 for k in nodes] for side in self._visited], bool)
        self.proved = self._is_flow() and self._cut() == self.value

    def rounded(self) -> float:
        """The value as kernels give it: its ceiling if it nearly is that."""
        capacity = self._network.capacity
        row, column = capacity[self._depth, self._source], capacity[1, :, self._sink]
        ceiling = float(min(row.sum(), column.sum()))
        return ceiling if self.value >= NEARLY * ceiling else self.value

    def _start(self, depth: int) -> None:
        """Put the source into a layer, without a flow."""
        network = self._network
        self._depth, self._supply = depth, network.lists[depth][self._source].copy()
        self._into_sink = [row[self._sink] for row in network.lists[1]]
        self._sink_open = _bit_set(network.capacity[1, :, self._sink] > 0)
        self._sent = {}
        self._open = [layer.copy() for layer in network.below[:depth]]
        self._used_from = [[0] * len(layer) for layer in self._open]

    def _raise_source(self) -> None:
        """Put the source one layer higher, and keep of the flow what it can still send."""
        layer, source = self._depth, self._source
        lists, nodes = self._network.lists, range(len(self._supply))
        needs = [had - left for had, left in zip(lists[layer][source], self._supply, strict=True)]
        self._depth, self._supply = layer + 1, lists[layer + 1][source].copy()
        self._open.append(self._network.below[layer].copy())
        self._used_from.append([0] * len(nodes))
        # Straight down first; then what is still needed, from wherever supply is left.
        for u, v in (*zip(nodes, nodes, strict=True), *itertools.product(nodes, nodes)):
            amount = min(needs[v], self._supply[u])
            if amount and (amount := min(amount, self._room((layer, u), (layer - 1, v)))):
                self._push((layer, u), (layer - 1, v), amount)
                self._supply[u] -= amount
                needs[v] -= amount
        for v in nodes:
            while needs[v]:
                needs[v] -= self._withdraw(layer - 1, v, needs[v])

    def _withdraw(self, layer: int, u: int, most: float) -> float:
        """Take back what a node sends along one path to the sink; how much that is."""
        path = [(layer, u)]
        for below in range(layer - 1, 0, -1):
            senders = self._used_from[below]
            path.append((below, next(v for v, above in enumerate(senders) if above >> u & 1)))
            u = path[-1][1]
            most = min(most, self._room(path[-1], path[-2]))
        for upper, lower in itertools.pairwise(path):
            self._push(lower, upper, most)
        self._into_sink[u] += most
        self._sink_open |= 1 << u
        return most

    def _levels(self) -> list[_Level]:
        """The level graph of a breadth-first search.

        Empty where no path leads to the sink: `_visited` is then the source's side of a cut.
        """
        top = self._depth - 1  # the layer below the source
        self._visited = [0] * (top + 1)
        levels: list[_Level] = []
        level = {top: _bit_set(np.array(self._supply) > 0)}
        while any(level.values()):
            levels.append(level)
            for layer, nodes in level.items():
                self._visited[layer] |= nodes
            if level.get(1, 0) & self._sink_open:
                level[1] &= self._sink_open
                return levels
            following: _Level = {}
            for layer, nodes in level.items():
                if layer > 1:
                    self._reach(following, layer - 1, nodes, self._open[layer])
                if layer < top:
                    self._reach(following, layer + 1, nodes, self._used_from[layer])
            level = following
        return []

    def _reach(self, level: _Level, layer: int, nodes: int, leads_to: _Bits) -> None:
        """Add to a level what `nodes` lead to in a layer and no level before has."""
        found = level.get(layer, 0)
        missing = self._network.reached[layer] & ~self._visited[layer] & ~found
        for u in _nodes(nodes):
            if not missing:
                break
            found |= leads_to[u] & missing
            missing &= ~found
        level[layer] = found

    def _send(self, levels: list[_Level], first: int) -> None:
        """Send as much as possible of the supply of a node of the top layer down the level graph.

        A depth-first search: each node on the path gathers what the nodes after it sent, and is
        taken out of the level graph if that is less than it was offered.
        """
        path = [(self._depth - 1, first)]
        offered, sent = [self._supply[first]], [0.0]
        while True:
            layer, u = path[-1]
            left = offered[-1] - sent[-1]
            if len(path) == len(levels):
                if layer == 1 and self._sink_open >> u & 1:
                    sent[-1] = min(left, self._into_sink[u])
                    self._into_sink[u] -= sent[-1]
                    if self._into_sink[u] == 0:
                        self._sink_open &= ~(1 << u)
            elif left > 0 and (step := self._step(levels[len(path)], layer, u)):
                path.append(step)
                offered.append(min(left, self._room((layer, u), step)))
                sent.append(0.0)
                continue
            if sent[-1] < offered[-1]:
                levels[len(path) - 1][layer] &= ~(1 << u)
            last, amount, _ = path.pop(), sent.pop(), offered.pop()
            if not path:
                self._supply[first] -= amount
                return
            sent[-1] += amount
            if amount:
                self._push(path[-1], last, amount)

    def _step(self, following: _Level, layer: int, u: int) -> _Node | None:
        """A node of the next level to which a node has residual capacity."""
        if below := self._open[layer][u] & following.get(layer - 1, 0):
            # Straight down first: with residual connections that edge is the widest.
            return layer - 1, u if below >> u & 1 else _highest(below)
        if above := self._used_from[layer][u] & following.get(layer + 1, 0):
            return layer + 1, _highest(above)
        return None

    def _room(self, start: _Node, end: _Node) -> float:
        """How much may be pushed from a node to one below or, as less of what it sends, above."""
        (layer, u), (other, v) = start, end
        if other > layer:
            return self._sent[self._edge(other, v, u)]
        return self._network.lists[layer][u][v] - self._sent.get(self._edge(layer, u, v), 0.0)

    def _push(self, start: _Node, end: _Node, amount: float) -> None:
        """Change the flow between two nodes by what is pushed from one to the other."""
        down = end < start
        (layer, u), (_, v) = (start, end) if down else (end, start)
        edge = self._edge(layer, u, v)
        self._sent[edge] = now = self._sent.get(edge, 0.0) + (amount if down else -amount)
        above, below = 1 << u, 1 << v
        if down:
            self._used_from[layer - 1][v] |= above
            if now == self._network.lists[layer][u][v]:
                self._open[layer][u] &= ~below
        else:
            self._open[layer][u] |= below
            if now == 0:
                self._used_from[layer - 1][v] &= ~above

    def _edge(self, layer: int, above: int, below: int) -> int:
        """The index of the edge between two nodes in an array (layer, node, node below)."""
        nodes = len(self._supply)
        return (layer * nodes + above) * nodes + below

    def _flow(self) -> Floats:
        capacity = self._network.capacity[: self._depth + 1]
        flow = np.zeros(capacity.shape)
        edges = np.fromiter(self._sent.keys(), np.int64, len(self._sent))
        flow.ravel()[edges] = np.fromiter(self._sent.values(), np.float64, len(self._sent))
        flow[1, :, self._sink] = capacity[1, :, self._sink] - self._into_sink
        flow[-1, self._source] = capacity[-1, self._source] - self._supply
        return flow

    def _is_flow(self) -> bool:
        """Whether every edge carries from zero to its capacity, and nodes pass on what they get."""
        received, sent = self.flow[2:].sum(axis=1), self.flow[1:-1].sum(axis=2)
        return bool(
            (self.flow >= 0).all()
            and (self.flow <= self._network.capacity[: self._depth + 1]).all()
            and (received == sent).all()
            and self.flow[1].sum() == self.value
        )

    def _cut(self) -> float:
        """The capacity of all edges that leave the nodes in `visited`."""
        capacity = self._network.capacity
        inside = self.visited[1:]  # of layer 1 to the one below the source
        top = capacity[self._depth, self._source][~inside[-1]].sum()
        into_sink = capacity[1, inside[0], self._sink].sum()
        between = inside[1:, :, None] & ~inside[:-1, None, :]
        return float(top + into_sink + capacity[2 : self._depth][between].sum())


def _bit_set(flags: NDArray[np.bool_]) -> int:
    """Flags (node) as one integer."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _nodes(bits: int) -> Iterator[int]:
    """The nodes of a bit set, from the last: under a causal mask it reaches the most."""
    while bits:
        yield (highest := _highest(bits))
        bits ^= 1 << highest


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
