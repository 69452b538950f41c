"""Raw attention: layers are not composed at all."""

from collections.abc import Iterable

import numpy as np

from attnflow.attention import Attention
from attnflow.errors import InputError
from attnflow.graph import AttentionGraph
from attnflow.methods._selection import graph_of, select
from attnflow.token_attention import TokenAttention


def raw(
    x: Attention | AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    head: int | None = None,
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
    graph = graph_of(x, head=head, residual=0.0)
    chosen = select(graph, layers=layers, queries=queries)
    below = [graph.sizes[layer - 1] for layer in chosen.layers]
    if len(set(below)) > 1:
        raise InputError(
            f"layers {chosen.layers} stand on {tuple(below)} nodes, so they do not make one array; "
            "ask for one layer at a time"
        )
    rows = [graph.proportions(layer, top=True)[list(chosen.queries)] for layer in chosen.layers]
    scores = np.stack(rows)
    scores.setflags(write=False)  # it is the result's from here on
    return TokenAttention(
        scores=scores,
        tokens=graph.names(chosen.layers[0] - 1),
        layers=chosen.layers,
        queries=chosen.queries,
        method="raw",
        settings=graph.settings,
    )
