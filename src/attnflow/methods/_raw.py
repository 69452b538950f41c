"""Raw attention: layers are not composed."""

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
    """Return raw attention: the attention of each position to the layer right below it.

    `scores(l) = W(l)`, the mean of the heads without residual; for an AttentionGraph, its layers
    with one instead of infinite weights. The paper's baseline: above layer 1 the keys are hidden
    embeddings, not input tokens.

    Parameters
    ----------
    x
        The attention of a model, or a graph.
    layers
        Layers to compute, 1…L; by default all. All must have the same number of nodes below them.
    queries
        Positions to compute; by default all.
    head
        This head instead of the mean; only for an Attention.
    without
        Positions to exclude, such as attention sinks; see `Attention.graph`. Not for a graph.

    Notes
    -----
    One pass over the weights.
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
            f"layers: expected layers with the same number of nodes below, got {chosen.layers} "
            f"with {tuple(below)}. Compute one layer at a time"
        )
    rows = [graph.proportions(layer, top=True)[list(chosen.queries)] for layer in chosen.layers]
    # The nodes of a layer as large as the input are the same positions, see `AttentionGraph.names`.
    origin = graph.origin if below[0] == graph.sizes[0] else None
    scores = np.stack(rows)
    scores.setflags(write=False)  # so that the result does not copy it
    return TokenAttention(
        scores=scores,
        tokens=graph.names(chosen.layers[0] - 1),
        layers=chosen.layers,
        queries=chosen.queries,
        method="raw",
        settings=graph.settings,
        origin=origin,
    )
