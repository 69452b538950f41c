"""The solvers that a user would otherwise call, one function each, used as fast as we know how.

A peer prepares what all pairs of a layer share, and returns what solves one pair. Only the second
is timed: it sets the capacities of the arcs at source and sink, and solves. So nobody is charged
for building the network, except `ortools_built_each_time`, the plain way of doing it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import networks
import numpy as np
from networks import SINK, SOURCE, Floats
from numpy.typing import NDArray

import attnflow as af

Solve: TypeAlias = Callable[[int, int], float]  # query, token
Peer: TypeAlias = Callable[[af.AttentionGraph, int], Solve]  # graph, layer

# A power of two for each solver that wants integers, as large as it takes: OR-tools adds up in
# 64 bits and scipy in 32, and a source sends at most one, plus rounding.
_SCALE_64 = 2.0**50
_SCALE_32 = 2.0**30


def _scaled_64(capacities: Floats) -> NDArray[np.int64]:
    return np.rint(capacities * _SCALE_64).astype(np.int64)


def ortools(graph: af.AttentionGraph, layer: int) -> Solve:
    """OR-tools SimpleMaxFlow: one solver a layer, asked again for each pair."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    network = networks.smallest(graph, layer)
    solver: Any = SimpleMaxFlow()  # its type stubs have the arrays wrong
    tails, heads = network.tails.astype(np.int32), network.heads.astype(np.int32)
    _ = solver.add_arcs_with_capacity(tails, heads, _scaled_64(network.capacities))
    terminals = network.terminals.astype(np.int32)

    def solve(query: int, token: int) -> float:
        capacities = networks.terminal_capacities(graph, layer, query, token)
        _ = solver.set_arcs_capacity(terminals, _scaled_64(capacities))
        assert solver.solve(SOURCE, SINK) == solver.OPTIMAL
        return solver.optimal_flow() / _SCALE_64

    return solve


def ortools_built_each_time(graph: af.AttentionGraph, layer: int) -> Solve:
    """OR-tools SimpleMaxFlow: for each pair a new solver with every node below the source."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    network = networks.all_below(graph, layer)
    tails, heads = network.tails.astype(np.int32), network.heads.astype(np.int32)
    below = _scaled_64(network.capacities[network.n_upper :])
    first_token = network.n_nodes - graph.sizes[0]

    def solve(query: int, token: int) -> float:
        solver: Any = SimpleMaxFlow()
        row = _scaled_64(graph.layers[layer - 1][query])
        _ = solver.add_arcs_with_capacity(tails, heads, np.concatenate([row, below]))
        assert solver.solve(SOURCE, first_token + token) == solver.OPTIMAL
        return solver.optimal_flow() / _SCALE_64

    return solve


def igraph(graph: af.AttentionGraph, layer: int) -> Solve:
    """python-igraph `maxflow_value`: one graph a layer, capacities as a list for each pair."""
    import igraph as ig

    network = networks.smallest(graph, layer)
    ends = np.stack([network.tails, network.heads], axis=1)
    made = ig.Graph(n=network.n_nodes, edges=ends, directed=True)
    upper, last = network.n_upper, len(network.tails) - network.n_lower
    between: list[float] = network.capacities[upper:last].tolist()

    def solve(query: int, token: int) -> float:
        capacities = networks.terminal_capacities(graph, layer, query, token)
        ends = capacities.tolist()
        return made.maxflow_value(SOURCE, SINK, [*ends[:upper], *between, *ends[upper:]])

    return solve


def scipy(graph: af.AttentionGraph, layer: int) -> Solve:
    """`scipy.sparse.csgraph.maximum_flow`: one matrix a layer, capacities scaled to integers."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    network = networks.smallest(graph, layer)
    # The matrix first holds the numbers of its arcs, so that each can be found again.
    shape = (network.n_nodes, network.n_nodes)
    numbers = np.arange(len(network.tails), dtype=np.int32)
    matrix: Any = csr_array((numbers, (network.tails, network.heads)), shape=shape)
    matrix.sort_indices()
    order = matrix.data.copy()
    terminals = np.argsort(order)[network.terminals]
    matrix.data[:] = np.rint(network.capacities * _SCALE_32)[order]

    def solve(query: int, token: int) -> float:
        capacities = networks.terminal_capacities(graph, layer, query, token)
        matrix.data[terminals] = np.rint(capacities * _SCALE_32)
        return maximum_flow(matrix, SOURCE, SINK).flow_value / _SCALE_32

    return solve


def networkx_edmonds_karp(graph: af.AttentionGraph, layer: int) -> Solve:
    """`networkx.maximum_flow_value` with `edmonds_karp`, as in the paper's code."""
    from networkx.algorithms.flow import edmonds_karp

    return _networkx(graph, layer, edmonds_karp)


def networkx_preflow_push(graph: af.AttentionGraph, layer: int) -> Solve:
    """`networkx.maximum_flow_value` with `preflow_push`, its default."""
    from networkx.algorithms.flow import preflow_push

    return _networkx(graph, layer, preflow_push)


def _networkx(graph: af.AttentionGraph, layer: int, algorithm: Callable[..., Any]) -> Solve:
    import networkx as nx

    network = networks.smallest(graph, layer)
    digraph: Any = nx.DiGraph()
    arcs = list(zip(network.tails.tolist(), network.heads.tolist(), strict=True))
    for (tail, head), capacity in zip(arcs, network.capacities.tolist(), strict=True):
        digraph.add_edge(tail, head, capacity=capacity)
    terminals = [digraph.edges[arcs[number]] for number in network.terminals]

    def solve(query: int, token: int) -> float:
        capacities = networks.terminal_capacities(graph, layer, query, token)
        for edge, capacity in zip(terminals, capacities.tolist(), strict=True):
            edge["capacity"] = capacity
        return nx.maximum_flow_value(digraph, SOURCE, SINK, flow_func=algorithm)

    return solve
