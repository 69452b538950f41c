"""The solvers that a user would otherwise call, one function each, used as fast as we know how.

A peer is given what all pairs of a layer share, and returns what solves one pair. Only the second
is timed: it sets the capacities of the arcs at source and sink, and solves. So nobody is charged
for building the network, except where a line says so.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from networks import SINK, SOURCE, Floats, Network
from numpy.typing import NDArray

Solve: TypeAlias = Callable[[Floats], float]
Peer: TypeAlias = Callable[[Network], Solve]

# A power of two for each solver that wants integers, as large as it takes: OR-tools adds up in
# 64 bits and scipy in 32, and a source sends at most one, plus rounding.
_SCALE_64 = 2.0**50
_SCALE_32 = 2.0**30


def _scaled_64(capacities: Floats) -> NDArray[np.int64]:
    return np.rint(capacities * _SCALE_64).astype(np.int64)


def ortools(network: Network) -> Solve:
    """OR-tools SimpleMaxFlow: one solver a layer, asked again for each pair."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    solver: Any = SimpleMaxFlow()  # its type stubs have the arrays wrong
    tails, heads = network.tails.astype(np.int32), network.heads.astype(np.int32)
    _ = solver.add_arcs_with_capacity(tails, heads, _scaled_64(network.capacities))
    terminals = network.terminals.astype(np.int32)

    def solve(terminal_capacities: Floats) -> float:
        _ = solver.set_arcs_capacity(terminals, _scaled_64(terminal_capacities))
        assert solver.solve(SOURCE, SINK) == solver.OPTIMAL
        return solver.optimal_flow() / _SCALE_64

    return solve


def ortools_built_anew(network: Network) -> Solve:
    """OR-tools SimpleMaxFlow: a solver for each pair, its arcs added from NumPy arrays."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    tails, heads = network.tails.astype(np.int32), network.heads.astype(np.int32)
    capacities, terminals = _scaled_64(network.capacities), network.terminals

    def solve(terminal_capacities: Floats) -> float:
        solver: Any = SimpleMaxFlow()
        capacities[terminals] = _scaled_64(terminal_capacities)
        _ = solver.add_arcs_with_capacity(tails, heads, capacities)
        assert solver.solve(SOURCE, SINK) == solver.OPTIMAL
        return solver.optimal_flow() / _SCALE_64

    return solve


def igraph(network: Network) -> Solve:
    """python-igraph `maxflow_value`: one graph a layer, capacities as a list for each pair."""
    import igraph as ig

    ends = np.stack([network.tails, network.heads], axis=1)
    graph = ig.Graph(n=network.n_nodes, edges=ends, directed=True)
    upper, last = network.n_upper, len(network.tails) - network.n_lower
    between: list[float] = network.capacities[upper:last].tolist()

    def solve(terminal_capacities: Floats) -> float:
        ends = terminal_capacities.tolist()
        return graph.maxflow_value(SOURCE, SINK, [*ends[:upper], *between, *ends[upper:]])

    return solve


def scipy(network: Network) -> Solve:
    """`scipy.sparse.csgraph.maximum_flow`: one matrix a layer, capacities scaled to integers."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    # The matrix first holds the numbers of its arcs, so that each can be found again.
    shape = (network.n_nodes, network.n_nodes)
    numbers = np.arange(len(network.tails), dtype=np.int32)
    matrix: Any = csr_array((numbers, (network.tails, network.heads)), shape=shape)
    matrix.sort_indices()
    order = matrix.data.copy()
    terminals = np.argsort(order)[network.terminals]
    matrix.data[:] = np.rint(network.capacities * _SCALE_32)[order]

    def solve(terminal_capacities: Floats) -> float:
        matrix.data[terminals] = np.rint(terminal_capacities * _SCALE_32)
        return maximum_flow(matrix, SOURCE, SINK).flow_value / _SCALE_32

    return solve


def networkx_edmonds_karp(network: Network) -> Solve:
    """`networkx.maximum_flow_value` with `edmonds_karp`, as in the paper's code."""
    from networkx.algorithms.flow import edmonds_karp

    return _networkx(network, edmonds_karp)


def networkx_preflow_push(network: Network) -> Solve:
    """`networkx.maximum_flow_value` with `preflow_push`, its default."""
    from networkx.algorithms.flow import preflow_push

    return _networkx(network, preflow_push)


def _networkx(network: Network, algorithm: Callable[..., Any]) -> Solve:
    import networkx as nx

    graph: Any = nx.DiGraph()
    arcs = list(zip(network.tails.tolist(), network.heads.tolist(), strict=True))
    for (tail, head), capacity in zip(arcs, network.capacities.tolist(), strict=True):
        graph.add_edge(tail, head, capacity=capacity)
    terminals = [graph.edges[arcs[number]] for number in network.terminals]

    def solve(terminal_capacities: Floats) -> float:
        for edge, capacity in zip(terminals, terminal_capacities.tolist(), strict=True):
            edge["capacity"] = capacity
        return nx.maximum_flow_value(graph, SOURCE, SINK, flow_func=algorithm)

    return solve
