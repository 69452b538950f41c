"""The maximum flow to one token or several, with the flow over every edge and the minimum cut."""

from collections.abc import Iterable
from typing import cast

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.maxflow import MaxFlow, solve_pair
from attnflow.methods._groups import check_positions
from attnflow.methods._selection import check_onto, graph_of
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention


def max_flow(
    x: Attention | EncoderDecoderAttention | AttentionGraph,
    *,
    source: tuple[int, int],
    sink: Iterable[int] | int,
    onto: int = 0,
) -> MaxFlow:
    """Return the maximum flow from one position to some tokens, with its edges and its bottleneck.

    Parameters
    ----------
    x
        The attention of a model, whose `graph()` is used, or a graph.
    source
        Layer and position, as in (6, 0) for the first position of layer 6.
    sink
        Position in layer `onto`, by default an input token; or a set of positions, such as the
        tokens of a word or a document, for the most that can reach all of them together.
    onto
        The layer the sink is in.

    Notes
    -----
    A set is solved as one token whose edges have the sums of the weights, so its flow takes no
    longer than that of a token. Where a node has edges to several tokens of a set, they are filled
    in the order of the positions; a maximum flow need not be the only one, see `flow_split`.

    Flow and cut are checked against the graph before they are returned: no edge carries more than
    its capacity, every node between passes on what it gets, and flow and cut differ by at most 1e-9
    of their value. Else a SolverError is raised.

    Examples
    --------
    >>> import attnflow as af
    >>> g = af.AttentionGraph([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> m = af.max_flow(g, source=(2, 0), sink=0)
    >>> m
    MaxFlow(value=1, cut_value=1)
    >>> m.flows[0]
    array([[0.5, 0. ],
           [0.5, 0. ]])
    >>> af.max_flow(g, source=(2, 1), sink={0, 1})
    MaxFlow(value=1, cut_value=1)
    """
    graph = graph_of(x)
    # A set has no order, so that it is unknown which of its numbers is the layer.
    ordered = not isinstance(cast("object", source), set | frozenset)
    pair = checks.as_ints(source, "source") if ordered else ()
    if len(pair) != 2:
        raise InputError(
            f"source: expected a layer and a position, as in ({graph.n_layers}, 0), got {source!r}"
        )
    onto = check_onto(onto, graph)
    name = "the layer of source" + (f" above onto={onto}" if onto else "")
    layer = checks.as_int(pair[0], name, least=onto + 1, most=graph.n_layers)
    last = graph.sizes[layer] - 1
    position = checks.as_int(pair[1], "the position of source", least=0, most=last)
    expected = "an integer, or a set of integers"
    sinks = check_positions(sink, "sink", graph.sizes[onto], expected=expected)
    solved = solve_pair((*graph.layers[onto : layer - 1], graph.top(layer)), [position], sinks)
    outside = range(onto), range(layer, graph.n_layers)
    flows_below, flows_above = ([np.zeros(graph.layers[l].shape) for l in part] for part in outside)
    cut_below = [np.ones(graph.sizes[l], dtype=bool) for l in outside[0]]
    cut_above = [np.zeros(graph.sizes[l + 1], dtype=bool) for l in outside[1]]
    return MaxFlow(
        value=solved.value,
        flows=(*flows_below, *solved.flows, *flows_above),
        cut=(*cut_below, *solved.cut, *cut_above),
        cut_value=solved.cut_value,
    )
