"""Selection: the graph, layers and queries that a method computes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.methods._groups import Columns, Groups, group_columns
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Method,
    TokenAttention,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows to compute: `queries` of each of `layers`, over the nodes of layer `onto` or groups.

    Every query exists in every layer, every layer is above `onto`, and all are distinct.
    """

    graph: AttentionGraph
    layers: tuple[int, ...]
    queries: tuple[int, ...]
    onto: int
    groups: Columns | None = None

    @property
    def all_queries(self) -> bool:
        """Whether `queries` are all positions of each layer, in order."""
        sizes = {self.graph.sizes[layer] for layer in self.layers}
        return sizes == {len(self.queries)} and self.queries == tuple(range(len(self.queries)))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of the groups, or of the nodes of layer `onto`."""
        return self.graph.names(self.onto) if self.groups is None else self.groups.names

    def result(
        self,
        method: Method,
        scores: NDArray[np.float64],
        saturated: Iterable[bool] | None = None,
        flat: NDArray[np.bool_] | None = None,
        *,
        receptive_field: bool = False,
    ) -> TokenAttention:
        """Return scores (layer, query, group or node of layer `onto`) as token attention.

        `scores` becomes read-only and is not copied.
        """
        scores.setflags(write=False)
        return TokenAttention(
            scores=scores,
            tokens=self.tokens,
            layers=self.layers,
            queries=self.queries,
            method=method,
            settings={
                **self.graph.settings,
                "onto": self.onto,
                # The word of `models.rollout_segments`, for all that reads results.
                **({"segments": self.groups.positions} if self.groups else {}),
                **({"receptive_field": True} if receptive_field else {}),
            },
            saturated=saturated,
            origin=self.graph.origin if self.onto == 0 and self.groups is None else None,
            flat=flat,
        )


def graph_of(
    x: object, *, head: int | None = None, without: Iterable[int] | int = (), residual: float = 0.5
) -> AttentionGraph:
    """Return the graph of an attention, or `x` itself if it is a graph.

    `head`, `without` and `residual` are those of `Attention.graph`. For an AttentionGraph, `head`
    and `without` are an InputError.
    """
    if isinstance(x, Attention):
        return x.graph(head=head, residual=residual, without=without)
    if isinstance(x, EncoderDecoderAttention):
        if head is not None:
            raise InputError(
                f"head must be None for an EncoderDecoderAttention, which has three kinds of "
                f"heads, got {head}. Leave it out to fuse all heads"
            )
        return x.graph(residual=residual, without=without)
    if not isinstance(x, AttentionGraph):
        raise InputError(
            f"expected an Attention or AttentionGraph, got {type(x).__name__}. Use "
            "Attention(weights, tokens) for weights (layer, head, query, key), and "
            "AttentionGraph(layers, tokens) for one matrix per layer"
        )
    if head is not None:
        raise InputError(
            f"head must be None for an AttentionGraph, whose heads are fused, got {head}. Pass the "
            f"Attention, or build the graph with attention.graph(head={head})"
        )
    if excluded := list(checks.as_ints(without, "without")):
        raise InputError(
            f"without must be empty for an AttentionGraph, got {excluded}. Pass the Attention, or "
            f"build the graph with attention.graph(without={excluded})"
        )
    return x


def select(
    graph: AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    onto: int = 0,
    groups: Groups | None = None,
) -> Selection:
    """Return the checked selection; by default all queries of all layers above `onto`.

    Layers and queries keep their order. All layers have the same queries.
    """
    top = graph.n_layers
    onto = check_onto(onto, graph)
    if layers is None:
        numbers = tuple(range(onto + 1, top + 1))
    else:
        numbers = checks.as_distinct_ints(layers, "layers")
        for number in numbers:
            if not onto < number <= top:
                above = f" above onto={onto}" if onto else ""
                raise InputError(f"layers must be {onto + 1} to {top}{above}, got {number}")
    return Selection(
        graph=graph,
        layers=numbers,
        queries=_queries(graph, numbers, queries),
        onto=onto,
        groups=None if groups is None else group_columns(groups, graph.names(onto)),
    )


def check_onto(onto: object, graph: AttentionGraph) -> int:
    """Return a layer below the top."""
    return checks.as_int(onto, "onto", least=0, most=graph.n_layers - 1)


def _queries(
    graph: AttentionGraph, layers: tuple[int, ...], queries: Iterable[int] | int | None
) -> tuple[int, ...]:
    sizes = {layer: graph.sizes[layer] for layer in layers}
    if queries is None:
        if len(set(sizes.values())) > 1:
            raise InputError(
                f"layers: expected layers with the same number of nodes, got {layers} with "
                f"{tuple(sizes.values())}. Compute one layer at a time, or pass queries"
            )
        return tuple(range(sizes[layers[0]]))
    positions = checks.as_distinct_ints(queries, "queries")
    for layer, size in sizes.items():
        for position in positions:
            if not 0 <= position < size:
                where = f"0 to {size - 1} in layer {layer}"
                raise InputError(f"queries must be {where}, got {position}")
    return positions
