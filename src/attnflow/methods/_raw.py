"""Raw attention: layers are not composed at all."""

from collections.abc import Iterable

import numpy as np

from attnflow.errors import InputError
from attnflow.methods._selection import graph_of, select
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention


def raw(
    x: Attention | EncoderDecoderAttention | AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    head: int | None = None,
    without: Iterable[int] | int = (),
) -> TokenAttention:
    """Raw attention: what each position takes from the layer right below it.

    `scores(l) = W(l)`, the mean of the heads without residual; of an AttentionGraph, its layers
    as they are, with unbounded edges read as weight one. The paper's baseline: above layer 1 the
    positions attended to are hidden embeddings, not input tokens.

    Parameters
    ----------
    x
        The attention of a model, or a graph.
    layers
        Numbers of the layers wanted, 1…L; by default all.
    queries
        Positions wanted; by default all.
    head
        This head alone instead of the mean; with an Attention only.
    without
        Positions that nobody may draw on, such as attention sinks; see `Attention.graph`. With the
        attention of a model only.

    Notes
    -----
    One pass over the weights. Layers asked for together must have as many nodes below them, else
    they do not make one array.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> a = af.Attention([[[[1.0, 0.0], [0.4, 0.6]]]], ["a", "b"])
    >>> af.raw(a, queries=1).scores
    array([[[0.4, 0.6]]])
    """
    graph = graph_of(x, head=head, without=without, residual=0.0)
    chosen = select(graph, layers=layers, queries=queries)
    below = [graph.sizes[layer - 1] for layer in chosen.layers]
    if len(set(below)) > 1:
        raise InputError(
            f"layers {chosen.layers} stand on {tuple(below)} nodes, so they do not make one array; "
            "ask for one layer at a time"
        )
    rows = [graph.proportions(layer, top=True)[list(chosen.queries)] for layer in chosen.layers]
    # A layer as large as the input stands for the same positions, see `AttentionGraph.names`.
    origin = graph.origin if below[0] == graph.sizes[0] else None
    scores = np.stack(rows)
    scores.setflags(write=False)  # it is the result's from here on
    return TokenAttention(
        scores=scores,
        tokens=graph.names(chosen.layers[0] - 1),
        layers=chosen.layers,
        queries=chosen.queries,
        method="raw",
        settings=graph.settings,
        origin=origin,
    )
