"""What the tests of flow share: random graphs, peers that solve the same problem, certificates.

Fixtures that several folders share for other things stand in modules beside this one.

Test folders are not packages, so what they share comes as fixtures. All have the scope of the
session: none of them keeps anything from one test to the next.
"""

import itertools
import os
import signal
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from chromium import browser
from pronoun_models import small_bert, small_gpt

__all__ = ["browser", "small_bert", "small_gpt"]

# Models of tests are small: threads of torch would wait for one another most of the time, above all
# where other programs run. Here before anything loads torch, and for commands that tests run.
_ = os.environ.setdefault("OMP_NUM_THREADS", "1")

# Scripts in the background ignore Ctrl-C, and so would the tests that press it and their commands.
_ = signal.signal(signal.SIGINT, signal.default_int_handler)

Matrix: TypeAlias = NDArray[np.float64]
Layers: TypeAlias = list[Matrix]
Node: TypeAlias = tuple[int, int]  # (layer, position)
Solve: TypeAlias = Callable[[Node, Node], float]  # maximum flow from a node to one below it
Family: TypeAlias = Callable[[np.random.Generator], Layers]

# ---- random graphs --------------------------------------------------------------------------


def _sizes(rng: np.random.Generator, *, same: bool = True, most: int = 9) -> list[int]:
    """Numbers of nodes of layers 0 to L; most graphs have up to 6 layers, some 9 or 12."""
    n_layers = int(rng.choice([1, 2, 3, 4, 5, 6, 9, 12]))
    sizes = rng.integers(1, most + 1, n_layers + 1)
    return [int(size) for size in (np.full_like(sizes, sizes[0]) if same else sizes)]


def _random(rng: np.random.Generator, sizes: Sequence[int]) -> Layers:
    return [rng.random((above, below)) for below, above in itertools.pairwise(sizes)]


def _stochastic(layers: Layers) -> Layers:
    return [layer / layer.sum(axis=1, keepdims=True) for layer in layers]


def dense(rng: np.random.Generator) -> Layers:
    return _random(rng, _sizes(rng))


def sparse(rng: np.random.Generator) -> Layers:
    """Two edges in three are missing; some nodes have none at all."""
    return [layer * (rng.random(layer.shape) < 0.35) for layer in _random(rng, _sizes(rng))]


def rectangular(rng: np.random.Generator) -> Layers:
    return _random(rng, _sizes(rng, same=False, most=12))


def bottleneck(rng: np.random.Generator) -> Layers:
    """A layer of one or two nodes in the middle."""
    wide, narrow = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    return _random(rng, [wide, wide, narrow, wide, wide])


def zero_edges(rng: np.random.Generator) -> Layers:
    """Whole rows and columns of zeros, so that some pairs are not connected."""
    layers = _random(rng, _sizes(rng))
    for layer in layers:
        layer[rng.random(layer.shape[0]) < 0.3] = 0.0
        layer[:, rng.random(layer.shape[1]) < 0.3] = 0.0
    return layers


def ties(rng: np.random.Generator) -> Layers:
    """Few different weights, so that many cuts are minimal at once."""
    return [rng.integers(0, 4, layer.shape) / 4 for layer in _random(rng, _sizes(rng))]


def attention_like(rng: np.random.Generator) -> Layers:
    """Peaked rows that sum to one, half of them residual."""
    peaked = _stochastic([np.exp(6 * layer) for layer in _random(rng, _sizes(rng))])
    return [(layer + np.eye(len(layer))) / 2 for layer in peaked]


def causal(rng: np.random.Generator) -> Layers:
    lower = _stochastic([np.tril(layer + 0.01) for layer in _random(rng, _sizes(rng))])
    return [(layer + np.eye(len(layer))) / 2 for layer in lower]


def one_hot_rows(rng: np.random.Generator) -> Layers:
    """Each node takes everything from one node; in half of the graphs with a residual."""
    residual = 0.5 * rng.integers(2)
    layers = _random(rng, _sizes(rng))
    hard = [np.eye(layer.shape[1])[layer.argmax(axis=1)] for layer in layers]
    return [(1 - residual) * layer + residual * np.eye(len(layer)) for layer in hard]


def near_uniform_rows(rng: np.random.Generator) -> Layers:
    """The differences between weights are about as small as the tolerance."""
    return _stochastic([1 + 1e-8 * layer for layer in _random(rng, _sizes(rng))])


def unbounded_edges(rng: np.random.Generator) -> Layers:
    layers = _random(rng, _sizes(rng, same=False))
    for layer in layers:
        layer[rng.random(layer.shape) < 0.3] = 0.0
        layer[rng.random(layer.shape) < 0.25] = np.inf
    return layers


def carried_along(rng: np.random.Generator) -> Layers:
    """An encoder-decoder in small: each layer changes one half and carries the other along."""
    left, right, n_layers = (int(rng.integers(1, high)) for high in (6, 6, 7))
    layers: Layers = []
    for number in range(n_layers):
        layer = np.zeros((left + right, left + right))
        np.fill_diagonal(layer, np.inf)
        rows = slice(0, left) if number < n_layers // 2 else slice(left, None)
        columns = rows if number < n_layers // 2 else slice(None)
        layer[rows] = 0.0
        layer[rows, columns] = rng.random(layer[rows, columns].shape)
        layers.append(layer)
    return layers


def tiny_weights(rng: np.random.Generator) -> Layers:
    return [1e-5 * layer for layer in _random(rng, _sizes(rng))]


def huge_weights(rng: np.random.Generator) -> Layers:
    return [1e5 * layer for layer in _random(rng, _sizes(rng))]


def tiny_and_huge_weights(rng: np.random.Generator) -> Layers:
    """Weights of all magnitudes from 1e-12 to 100, side by side."""
    return [10 ** (14 * layer - 12) for layer in _random(rng, _sizes(rng))]


def float32_weights(rng: np.random.Generator) -> Layers:
    layers: Any = [layer.astype(np.float32) for layer in _stochastic(_random(rng, _sizes(rng)))]
    return layers


FAMILIES: list[Family] = [
    dense, sparse, rectangular, bottleneck, zero_edges, ties, attention_like, causal, one_hot_rows,
    near_uniform_rows, unbounded_edges, carried_along, tiny_weights, huge_weights,
    tiny_and_huge_weights, float32_weights,
]  # fmt: skip


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda family: family.__name__)
def family(request: pytest.FixtureRequest) -> Family:
    """Makes a random graph of one kind, bottom layer first."""
    return request.param


@pytest.fixture(scope="session")
def any_family() -> Family:
    """Makes a random graph of any kind."""
    return lambda rng: FAMILIES[rng.integers(len(FAMILIES))](rng)


# ---- peers ----------------------------------------------------------------------------------


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
    """A solver that wants integers, on the graph in whole steps; unbounded is told by the value."""
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


# ---- certificates ---------------------------------------------------------------------------


def _certify(layers: Sequence[Matrix], m: Any, source: Node, sink: int, onto: int = 0) -> None:
    """Assert that `m` proves its value by itself: a feasible flow, and a cut of the same size.

    By weak duality no flow exceeds any cut, so the two prove each other. Nothing of attnflow is
    asked here. `layers` are the capacities; the tolerance is 1e-9, of the value where it is more.
    """
    top, start = source
    used = range(onto, top)  # indices of the matrices between source and sink
    capacities = [np.asarray(layer, dtype=np.float64) for layer in layers]
    tolerance = 1e-9 * max(m.value, min(1.0, _widest(capacities)))

    assert [f.shape for f in m.flows] == [c.shape for c in capacities], "flows of other shapes"
    for l, (f, capacity) in enumerate(zip(m.flows, capacities, strict=True)):
        assert np.isfinite(f).all(), "a flow without bound"
        assert f.min() >= 0, "a flow below zero"
        assert (f <= capacity + tolerance).all(), "a flow above its capacity"
        assert l in used or not f.any(), "a flow outside of the layers between"
    for l in used[1:]:
        arrives, leaves = m.flows[l].sum(axis=0), m.flows[l - 1].sum(axis=1)
        assert np.abs(arrives - leaves).max() <= tolerance, f"layer {l} gains or loses"
    sent, received = m.flows[top - 1].sum(axis=1), m.flows[onto].sum(axis=0)
    assert not np.delete(sent, start).any(), "another node sends as well"
    assert not np.delete(received, sink).any(), "another node receives as well"
    assert abs(sent[start] - m.value) <= tolerance, "the value is not what the source sends"
    assert abs(received[sink] - m.value) <= tolerance, "the value is not what the sink receives"

    sizes = [capacities[0].shape[1], *map(len, capacities)]
    assert [side.shape for side in m.cut] == [(size,) for size in sizes], "a cut of other shapes"
    assert all(side.dtype == np.bool_ for side in m.cut), "sides that are not true or false"
    assert m.cut[top][start], "the source is not on its own side"
    assert not m.cut[onto][sink], "the sink is on the side of the source"
    assert not any(side.any() for side in m.cut[top + 1 :]), "a side above the source"
    sides = zip(capacities, m.cut[1:], m.cut[:-1], strict=True)
    size = sum(float(c[np.ix_(above, ~below)].sum()) for c, above, below in sides)
    assert abs(size - m.value) <= tolerance, "the cut is not as large as the flow"
    assert abs(size - m.cut_value) <= tolerance, "the cut is not as large as it says"


def _widest(layers: Sequence[Matrix]) -> float:
    """The largest finite weight."""
    finite = [layer[np.isfinite(layer)] for layer in layers]
    return float(max((each.max(initial=0.0) for each in finite), default=0.0))


def _slack(layers: Sequence[Matrix]) -> float:
    """What two right answers may differ by: 1e-9 of the largest finite weight."""
    return 1e-9 * _widest(layers)


@pytest.fixture(scope="session")
def certify() -> Callable[..., None]:
    """Asserts that a MaxFlow proves its value: `certify(layers, m, source, sink, onto=0)`."""
    return _certify


@pytest.fixture(scope="session")
def agree() -> Callable[..., bool]:
    """Whether two arrays of flow values on `layers` are the same: `agree(a, b, layers)`."""
    return lambda a, b, layers: np.allclose(a, b, rtol=1e-9, atol=1e-9 * min(1.0, _widest(layers)))


@pytest.fixture(scope="session")
def slack() -> Callable[..., float]:
    """What two right answers on `layers` may differ by: `slack(layers)`."""
    return _slack
