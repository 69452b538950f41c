"""Other solvers of maximum flow, which the tests compare with."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from random_graphs import Layers, Matrix

Node: TypeAlias = tuple[int, int]  # (layer, position)
Solve: TypeAlias = Callable[[Node, Node], float]  # maximum flow from a node to one below it


def _edges(layers: Sequence[Matrix]) -> tuple[NDArray[np.int64], NDArray[np.int64], Matrix]:
    """Tails, heads and capacities of all edges; nodes are numbered as `_number` says."""
    offset = _offsets(layers)
    parts = [
        (offset[l] + above, offset[l - 1] + below, layer[above, below].astype(np.float64))
        for l, layer in enumerate(layers, start=1)
        for above, below in [np.nonzero(layer)]
    ]
    tails, heads, capacities = (np.concatenate(part) for part in zip(*parts, strict=True))
    return tails, heads, capacities


def _offsets(layers: Sequence[Matrix]) -> list[int]:
    return [0, *itertools.accumulate([layers[0].shape[1], *map(len, layers)])]


def _number(layers: Sequence[Matrix], node: Node) -> int:
    return _offsets(layers)[node[0]] + node[1]


def _bounded(capacities: Matrix) -> tuple[Matrix, float]:
    """Capacities with more than all finite ones together for an unbounded edge, and that sum."""
    total = float(capacities[np.isfinite(capacities)].sum())
    return np.where(np.isinf(capacities), 2 * total + 1, capacities), total


def in_steps(layers: Layers, bits: int) -> tuple[Layers, float]:
    """Weights rounded to whole steps so that all of them add up to less than 2**bits steps.

    A step is a power of two; it comes second.
    """
    capacities, _ = _bounded(_edges(layers)[2])
    # One more than the exponent of the sum, and one for what rounding adds.
    exponent = bits - 2 - int(np.frexp(capacities.sum() + 1)[1])
    rounded = [np.ldexp(np.rint(np.ldexp(layer, exponent)), -exponent) for layer in layers]
    return rounded, float(np.ldexp(1.0, -exponent))


def _integer_solve(layers: Layers, bits: int, solve: Callable[..., int]) -> Solve:
    """A solver of integers, on the graph in whole steps; the value shows an unbounded flow."""
    rounded, step = in_steps(layers, bits)
    tails, heads, capacities = _edges(rounded)
    bounded, total = _bounded(capacities)
    steps = (bounded / step).astype(np.int64)
    assert np.array_equal(steps * step, bounded)

    def value(source: Node, sink: Node) -> float:
        found = solve(tails, heads, steps, _number(layers, source), _number(layers, sink)) * step
        return found if found <= total else np.inf

    return value


def networkx_in_fractions(layers: Layers) -> Solve:
    """networkx, in exact arithmetic: what it gives is the truth."""
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(_offsets(layers)[-1]))
    for tail, head, capacity in zip(*(part.tolist() for part in _edges(layers)), strict=True):
        bound = {} if capacity == np.inf else {"capacity": Fraction(capacity)}
        graph.add_edge(tail, head, **bound)

    def value(source: Node, sink: Node) -> float:
        try:
            ends = _number(layers, source), _number(layers, sink)
            return float(nx.maximum_flow_value(graph, *ends))
        except nx.NetworkXUnbounded:
            return np.inf

    return value


def igraph_in_floats(layers: Layers) -> Solve:
    import igraph

    tails, heads, capacities = _edges(layers)
    bounded, total = _bounded(capacities)
    graph = igraph.Graph(
        n=_offsets(layers)[-1],
        edges=list(zip(tails.tolist(), heads.tolist(), strict=True)),
        directed=True,
    )

    def value(source: Node, sink: Node) -> float:
        ends = _number(layers, source), _number(layers, sink)
        found = graph.maxflow_value(*ends, capacity=bounded.tolist())
        return found if found <= total + 0.5 else np.inf

    return value


def ortools_in_integers(layers: Layers) -> Solve:
    from ortools.graph.python import max_flow

    def solve(tails: Any, heads: Any, steps: Any, source: int, sink: int) -> int:
        solver = max_flow.SimpleMaxFlow()
        _ = solver.add_arcs_with_capacity(tails, heads, steps)
        if max(source, sink) >= solver.num_nodes():
            return 0  # the last nodes have no edge at all
        assert solver.solve(source, sink) == solver.OPTIMAL
        return solver.optimal_flow()

    return _integer_solve(layers, 62, solve)


def scipy_in_integers(layers: Layers) -> Solve:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n_nodes = _offsets(layers)[-1]

    def solve(tails: Any, heads: Any, steps: Any, source: int, sink: int) -> int:
        matrix = csr_array((steps.astype(np.int32), (tails, heads)), shape=(n_nodes, n_nodes))
        return int(maximum_flow(matrix, source, sink).flow_value)

    return _integer_solve(layers, 31, solve)


class Peer(NamedTuple):
    """Another solver, and how much of it a fast suite can bear."""

    on: Callable[[Layers], Solve]
    bits: int | None  # weights are rounded to steps; 2**bits steps exceed their sum. None: exact
    graphs: int  # of each family
    pairs: int  # of each graph

    def rounded(self, layers: Layers) -> Layers:
        """The graph as the peer can take it, so that both solve the very same."""
        return layers if self.bits is None else in_steps(layers, self.bits)[0]


# scipy counts in 32 bits and gets a coarser graph than OR-tools. Sizes chosen for a suite that
# takes seconds.
PEERS = [
    pytest.param(Peer(networkx_in_fractions, bits=None, graphs=10, pairs=6), id="networkx"),
    pytest.param(Peer(igraph_in_floats, bits=None, graphs=15, pairs=30), id="igraph"),
    pytest.param(Peer(ortools_in_integers, bits=62, graphs=15, pairs=30), id="ortools"),
    pytest.param(Peer(scipy_in_integers, bits=31, graphs=10, pairs=10), id="scipy"),
]


@pytest.fixture(scope="session", params=PEERS)
def peer(request: pytest.FixtureRequest) -> Peer:
    """Another solver of maximum flow, and how to give it a graph."""
    return request.param


@pytest.fixture(scope="session")
def exact() -> Callable[[Layers], Solve]:
    """The truth about a small graph, by networkx in fractions."""
    return networkx_in_fractions


@pytest.fixture(scope="session")
def fast() -> Callable[[Layers], Solve]:
    """OR-tools, for graphs that are large or many; weights in steps of 2**-40 or finer."""
    return ortools_in_integers
