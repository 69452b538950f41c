"""Which graph, layers, queries and target a method was asked for; checked here once for all."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Method,
    TokenAttention,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows to compute: `queries` of each of `layers`, over the nodes of layer `onto`.

    Every query exists in every layer, every layer lies above `onto`, and nothing is asked twice.
    """

    graph: AttentionGraph
    layers: tuple[int, ...]
    queries: tuple[int, ...]
    onto: int

    @property
    def all_queries(self) -> bool:
        """Whether these are all positions, in their order, of each layer."""
        sizes = {self.graph.sizes[layer] for layer in self.layers}
        return sizes == {len(self.queries)} and self.queries == tuple(range(len(self.queries)))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of the nodes of layer `onto`."""
        return self.graph.names(self.onto)

    def result(
        self,
        method: Method,
        scores: NDArray[np.float64],
        saturated: Iterable[bool] | None = None,
        *,
        receptive_field: bool = False,
    ) -> TokenAttention:
        """`scores` (layer, query, node of layer `onto`) as token attention; they are used up.

        `receptive_field` says whether they were corrected for it.
        """
        scores.setflags(write=False)  # they are the result's from here on
        return TokenAttention(
            scores=scores,
            tokens=self.tokens,
            layers=self.layers,
            queries=self.queries,
            method=method,
            settings={
                **self.graph.settings,
                "onto": self.onto,
                **({"receptive_field": True} if receptive_field else {}),
            },
            saturated=saturated,
            origin=self.graph.origin if self.onto == 0 else None,
        )


def graph_of(
    x: object,
    *,
    head: int | None = None,
    without: Iterable[int] | int = (),
    residual: float = 0.5,
) -> AttentionGraph:
    """The graph a method works on: `x` itself, or the graph of the attention of a model.

    `head` picks the single head of the paper's appendix A.1. Like `without` and `residual` it has
    no say about an AttentionGraph.
    """
    if isinstance(x, Attention):
        return x.graph(head=head, residual=residual, without=without)
    if isinstance(x, EncoderDecoderAttention):
        if head is not None:
            raise InputError(
                f"head={head} came with an EncoderDecoderAttention, whose layers are of three "
                "kinds with heads of their own; leave it out, all heads are then fused"
            )
        return x.graph(residual=residual, without=without)
    if not isinstance(x, AttentionGraph):
        raise InputError(
            f"a {type(x).__name__} came; wrap it first: Attention(weights, tokens) for weights "
            "(layer, head, query, key), AttentionGraph(layers, tokens) for one matrix a layer"
        )
    if head is not None:
        raise InputError(
            f"head={head} came with an AttentionGraph, whose heads are fused already; pass the "
            f"Attention, or build the graph with attention.graph(head={head})"
        )
    if taken_out := checks.as_ints(without, "without"):
        raise InputError(
            f"without={list(taken_out)} came with an AttentionGraph, whose rows are mixed already; "
            "pass the Attention, or build the graph with "
            f"attention.graph(without={list(taken_out)})"
        )
    return x


def select(
    graph: AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    onto: int = 0,
) -> Selection:
    """Check what is asked of `graph`, and fill in what is left out.

    The default is all queries of all layers above `onto`. Layers keep the order they are asked
    in, and those asked for together share one set of queries.
    """
    top = graph.n_layers
    onto = checks.as_int(onto, "onto")
    if not 0 <= onto < top:
        raise InputError(f"onto is {onto}; layers 0 to {top - 1} lie below the top layer {top}")
    if layers is None:
        numbers = tuple(range(onto + 1, top + 1))
    else:
        numbers = checks.as_distinct_ints(layers, "layers")
        for number in numbers:
            if not 1 <= number <= top:
                raise InputError(f"layer {number} is asked for; layers are 1 to {top}")
            if number <= onto:
                raise InputError(
                    f"layer {number} is asked for with onto={onto}; the layers above it are "
                    f"{onto + 1} to {top}"
                )
    return Selection(
        graph=graph,
        layers=numbers,
        queries=_queries(graph, numbers, queries),
        onto=onto,
    )


def _queries(
    graph: AttentionGraph, layers: tuple[int, ...], queries: Iterable[int] | int | None
) -> tuple[int, ...]:
    sizes = {layer: graph.sizes[layer] for layer in layers}
    if queries is None:
        if len(set(sizes.values())) > 1:
            raise InputError(
                f"layers {layers} have {tuple(sizes.values())} nodes, so all queries do not make "
                "one array; ask for one layer at a time, or say which queries"
            )
        return tuple(range(sizes[layers[0]]))
    positions = checks.as_distinct_ints(queries, "queries")
    for layer, size in sizes.items():
        for position in positions:
            if not 0 <= position < size:
                raise InputError(
                    f"query {position} is asked for; layer {layer} has queries 0 to {size - 1}"
                )
    return positions
