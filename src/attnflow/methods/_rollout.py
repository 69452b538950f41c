"""Attention rollout: layers are composed by matrix multiplication."""

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
    """Return attention rollout: the sum of the weights of all paths from a position to a token.

    `R(i) = A(i) R(i − 1)`, with R(j) the identity for j = `onto`: the weight of a path is the
    product of its edges. Infinite weights count as one.

    Parameters
    ----------
    x
        The attention of a model, whose `graph()` is used, or a graph.
    layers
        Layers to compute, onto + 1…L; by default all.
    queries
        Positions to compute; by default all.
    onto
        The layer of the last axis of the scores, the paper's l_j; by default the input.
    head
        The paper's appendix A.1: this head at the layer of interest, and all heads fused at the
        layers below, `R(i, k) = A(i, k) R(i − 1)`. Only for an Attention.
    without
        Positions to exclude, such as attention sinks; see `Attention.graph`. Not for a graph.
    receptive_field
        Correct for the receptive field of a causal model, in which more positions see early
        tokens: scores are divided by those of uniform causal attention with the same residual and
        `without`, and rows then sum to one. Uniform attention is over all earlier tokens, also
        those outside a sliding window. Not for encoder-decoders. Twice the work.

    Notes
    -----
    Computed in float64, either as matrix products from the bottom, O(L n³), or, for q queries, as
    products of q rows per layer from the top, O(L² q n²), whichever is cheaper. (The paper says
    O(d n²); a product of matrices is O(n³).)
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
    scores = _compose(chosen)
    if field is not None:
        scores = corrected(scores, _compose(field))
    return chosen.result("rollout", scores, receptive_field=receptive_field)


def _compose(chosen: Selection) -> NDArray[np.float64]:
    compose = _upwards if _cost_upwards(chosen) <= _cost_downwards(chosen) else _downwards
    with np.errstate(over="ignore", invalid="ignore"):
        scores = compose(chosen)
    if not scores.max() < np.inf:  # also when it is NaN
        raise InputError(
            "the products of the weights overflow float64. Divide all weights by a constant"
        )
    return scores


def _in_place(chosen: Selection) -> bool:
    """Return whether the result is R(i) itself: all rows, and no single head."""
    return chosen.all_queries and chosen.graph.tops is None


def _cost_upwards(chosen: Selection) -> int:
    """Return the number of multiplications of `_upwards`."""
    sizes, first = chosen.graph.sizes, chosen.onto + 1  # R(first) needs none
    in_place, last = _in_place(chosen), max(chosen.layers)
    full = range(first + 1, last + 1 if in_place else last)
    partial = [] if in_place else [layer for layer in chosen.layers if layer > first]
    return sizes[chosen.onto] * (
        sum(sizes[k] * sizes[k - 1] for k in full)
        + sum(len(chosen.queries) * sizes[k - 1] for k in partial)
    )


def _cost_downwards(chosen: Selection) -> int:
    """Return the number of multiplications of `_downwards`."""
    sizes = chosen.graph.sizes
    return sum(
        len(chosen.queries) * sizes[k] * sizes[k - 1]
        for layer in chosen.layers
        for k in range(chosen.onto + 1, layer)
    )


def _upwards(chosen: Selection) -> NDArray[np.float64]:
    """Return scores by matrix products from the bottom: R(i) of all positions."""
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
    """Return scores by products of the selected rows from the top; each matrix is read once."""
    graph, queries = chosen.graph, list(chosen.queries)
    layers = sorted(chosen.layers, reverse=True)
    rows = graph.proportions(layers[0], top=True)[queries]
    for layer in range(layers[0] - 1, chosen.onto, -1):
        rows = rows @ graph.proportions(layer)
        if layer in layers:
            rows = np.concatenate([rows, graph.proportions(layer, top=True)[queries]])
    scores = rows.reshape(len(layers), len(queries), -1)  # (layer from the top, query, token)
    return scores[[layers.index(layer) for layer in chosen.layers]]
