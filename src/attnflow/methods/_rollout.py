"""Attention rollout: layers compose by multiplication."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.methods._receptive_field import corrected, uniform
from attnflow.methods._selection import Selection, graph_of, select
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention


def rollout(
    x: Attention | EncoderDecoderAttention | AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    onto: int = 0,
    head: int | None = None,
    without: Iterable[int] | int = (),
    receptive_field: bool = False,
) -> TokenAttention:
    """Attention rollout: the weights of all paths from a position down to a token, added up.

    `R(i) = A(i) R(i − 1)`, with R(j) the identity for j = `onto`: the weight of a path is the
    product of its edges. Unbounded edges count as weight one.

    Parameters
    ----------
    x
        The attention of a model, whose `graph()` is used, or a graph.
    layers
        Numbers of the layers wanted, onto + 1…L; by default all.
    queries
        Positions wanted; by default all.
    onto
        The layer whose nodes the scores run over, the paper's l_j; by default the input.
    head
        The paper's appendix A.1: this head alone at the layer of interest, and the layers below
        with all heads fused, `R(i, k) = A(i, k) R(i − 1)`. With an Attention only.
    without
        Positions that nobody may draw on, such as attention sinks; see `Attention.graph`. With the
        attention of a model only.
    receptive_field
        Correct for what positions of a causal model can see: scores are divided by those of
        uniform causal attention, with the same residual and `without`, and rows then sum to one.
        Early tokens are no longer favoured for being seen by all. Uniform attention is over all
        earlier tokens, also those out of the window of a model with sliding windows. Not for
        encoder-decoders. Twice the work.

    Notes
    -----
    All queries cost a chain of matrix products, O(L n³); q queries at most one pass of q rows a
    layer down the chain, O(L² q n²), each matrix read once. Whichever is cheaper is done, in
    float64. (The paper says O(d n²); a product of matrices is O(n³).)
    Abnar & Zuidema (2020), equation 1, https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> g = af.AttentionGraph([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> af.rollout(g, layers=2).scores
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    """
    graph = graph_of(x, head=head, without=without)
    chosen = select(graph, layers=layers, queries=queries, onto=onto)
    field = uniform(chosen) if checks.as_bool(receptive_field, "receptive_field") else None
    scores = _composed(chosen)
    if field is not None:
        scores = corrected(scores, _composed(field))
    return chosen.result("rollout", scores, receptive_field=receptive_field)


def _composed(chosen: Selection) -> NDArray[np.float64]:
    compose = _upwards if _cost_upwards(chosen) <= _cost_downwards(chosen) else _downwards
    with np.errstate(over="ignore", invalid="ignore"):
        scores = compose(chosen)
    if not scores.max() < np.inf:  # also when it is NaN
        raise InputError(
            "the weights are too large, their products are beyond float64; divide all by one number"
        )
    return scores


def _in_place(chosen: Selection) -> bool:
    """Whether all rows of plain layers are wanted, so that R(i) itself is the result."""
    return chosen.all_queries and chosen.graph.tops is None


def _cost_upwards(chosen: Selection) -> int:
    """Multiplications that `_upwards` needs."""
    sizes, first = chosen.graph.sizes, chosen.onto + 1  # R(first) needs none
    in_place, last = _in_place(chosen), max(chosen.layers)
    wholes = range(first + 1, last + 1 if in_place else last)
    parts = [] if in_place else [layer for layer in chosen.layers if layer > first]
    return sizes[chosen.onto] * (
        sum(sizes[k] * sizes[k - 1] for k in wholes)
        + sum(len(chosen.queries) * sizes[k - 1] for k in parts)
    )


def _cost_downwards(chosen: Selection) -> int:
    """Multiplications that `_downwards` needs."""
    sizes = chosen.graph.sizes
    return sum(
        len(chosen.queries) * sizes[k] * sizes[k - 1]
        for layer in chosen.layers
        for k in range(chosen.onto + 1, layer)
    )


def _upwards(chosen: Selection) -> NDArray[np.float64]:
    """Matrix products from the bottom up: R(i) for all positions, the wanted rows kept."""
    graph, queries = chosen.graph, list(chosen.queries)
    scores = np.empty((len(chosen.layers), len(queries), graph.sizes[chosen.onto]))
    in_place = _in_place(chosen)
    below: NDArray[np.float64] | None = None  # R of the layer below; None for the identity
    for layer in range(chosen.onto + 1, max(chosen.layers) + 1):
        out = scores[chosen.layers.index(layer)] if layer in chosen.layers else None
        if out is not None and not in_place:
            _ = _times(graph.proportions(layer, top=True)[queries], below, out)
        if layer < max(chosen.layers) or in_place:
            below = _times(graph.proportions(layer), below, out if in_place else None)
    return scores


def _times(
    A: NDArray[np.float64], R: NDArray[np.float64] | None, out: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    if R is not None:
        return np.matmul(A, R, out=out)
    if out is None:
        return A
    out[...] = A
    return out


def _downwards(chosen: Selection) -> NDArray[np.float64]:
    """Rows of all wanted layers carried down together, so that each matrix is read once."""
    graph, queries = chosen.graph, list(chosen.queries)
    wanted = sorted(chosen.layers, reverse=True)
    rows = graph.proportions(wanted[0], top=True)[queries]
    for layer in range(wanted[0] - 1, chosen.onto, -1):
        rows = rows @ graph.proportions(layer)
        if layer in wanted:
            rows = np.concatenate([rows, graph.proportions(layer, top=True)[queries]])
    found = rows.reshape(len(wanted), len(queries), -1)  # (layer from the top, query, token)
    return found[[wanted.index(layer) for layer in chosen.layers]]
