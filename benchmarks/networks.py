"""The networks that peers are given, which pairs are sampled, and how they are scaled up."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import attnflow as af

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

SOURCE, SINK = 0, 1


@dataclass(frozen=True, slots=True)
class Network:
    """What all pairs of a layer share. Only the capacities of the terminal arcs differ.

    Node 0 is the source and node 1 the sink; the nodes of the layers below follow, top first. The
    first `n_upper` arcs leave the source, the last `n_lower` enter the sink, and their capacities
    here are zero.
    """

    n_nodes: int
    tails: Ints
    heads: Ints
    capacities: Floats
    n_upper: int
    n_lower: int

    @property
    def terminals(self) -> Ints:
        """Positions of the arcs that `terminal_capacities` is about."""
        n_arcs = len(self.tails)
        return np.r_[: self.n_upper, n_arcs - self.n_lower : n_arcs]


def smallest(graph: af.AttentionGraph, layer: int) -> Network:
    """No more than one pair needs: the layers between, and one arc each from layer 1 to the sink.

    At layer 1 it is a single arc from source to sink.
    """
    if layer == 1:
        return Network(2, np.array([SOURCE]), np.array([SINK]), np.zeros(1), n_upper=1, n_lower=0)
    between = _below(graph, layer, 1)
    n = graph.sizes[1]
    last = between.n_nodes - n + np.arange(n)  # the nodes of layer 1
    return Network(
        between.n_nodes,
        np.concatenate([between.tails, last]),
        np.concatenate([between.heads, np.full(n, SINK)]),
        np.concatenate([between.capacities, np.zeros(n)]),
        n_upper=between.n_upper,
        n_lower=n,
    )


def all_below(graph: af.AttentionGraph, layer: int) -> Network:
    """Every node below the source; the last nodes are the tokens, and one of them is the sink."""
    return _below(graph, layer, 0)


def _below(graph: af.AttentionGraph, layer: int, bottom: int) -> Network:
    """The source, and all of the layers below it down to `bottom`."""
    first, n = 2, graph.sizes[layer - 1]  # `first` node of the layer at hand
    tails, heads = [np.full(n, SOURCE)], [first + np.arange(n)]
    capacities = [np.zeros(n)]
    for matrix in reversed(graph.layers[bottom : layer - 1]):
        above, below = matrix.shape
        tails.append(np.repeat(first + np.arange(above), below))
        heads.append(np.tile(first + above + np.arange(below), above))
        capacities.append(matrix.astype(np.float64).ravel())
        first += above
    arcs = np.concatenate(tails), np.concatenate(heads), np.concatenate(capacities)
    return Network(first + graph.sizes[bottom], *arcs, n_upper=n, n_lower=0)


def terminal_capacities(graph: af.AttentionGraph, layer: int, query: int, token: int) -> Floats:
    """Capacities of the arcs of the source, then of the sink, for one pair."""
    if layer == 1:
        return graph.layers[0][query, token : token + 1].astype(np.float64)
    row, column = graph.layers[layer - 1][query], graph.layers[0][:, token]
    return np.concatenate([row, column]).astype(np.float64)


def sampled_pairs(graph: af.AttentionGraph, layer: int, count: int) -> list[tuple[int, int]]:
    """`count` random pairs (query, token) of a layer; the first ones do not depend on `count`."""
    rng = np.random.default_rng(layer)
    ends = rng.integers((graph.sizes[layer], graph.sizes[0]), size=(count, 2))
    return [(int(query), int(token)) for query, token in ends]


def scaled_up(seconds: list[list[float]], pairs_a_layer: int) -> tuple[float, float]:
    """Estimated time of all pairs, and its standard error, from the timed pairs of each layer.

    A stratified sample: the layers' means add up, and so do the variances of these means.
    """
    total = sum(pairs_a_layer * float(np.mean(layer)) for layer in seconds)
    variance = sum(
        pairs_a_layer**2 * float(np.var(layer, ddof=1)) / len(layer) for layer in seconds
    )
    return total, variance**0.5
