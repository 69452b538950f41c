"""The scores of one position for many texts at once, as arrays without records around them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.maxflow import flow_values
from attnflow.types import Attention, AttentionGraph, EdgeSettings, Method

Floats = NDArray[np.float64]


def scores_of_position(
    texts: Sequence[Attention] | Sequence[AttentionGraph],
    method: Method,
    layers: Sequence[int],
    query: int,
    *,
    threads: int | None = None,
) -> Floats:
    """Return the scores (text, layer, token) of one position in texts of the same length.

    They are those of `raw`, `rollout` and `flow` of each text, which also check their arguments and
    make a record of settings and marks. For a short text this takes longer than the scores, so
    that an evaluation of many texts uses this function. It is not for users: arguments are not
    checked. Layers of a graph must be square.

    Examples
    --------
    >>> import attnflow as af
    >>> a = af.Attention([[[[1.0, 0.0], [0.4, 0.6]]]])
    >>> scores_of_position([a, a], "raw", [1], 1)
    array([[[0.4, 0.6]],
    <BLANKLINE>
           [[0.4, 0.6]]])
    """
    edges = _edges(texts, residual=0.0 if method == "raw" else 0.5)
    if method == "flow":
        used = edges[:, : max(layers)]
        rows = [flow_values(tuple(own), [query], layers=layers, threads=threads) for own in used]
        return np.stack(rows)[:, :, 0]
    edges = np.where(np.isinf(edges), 1.0, edges)  # as `AttentionGraph.proportions`
    if method == "raw":
        return edges[:, [layer - 1 for layer in layers], query]
    return _rollout(edges, layers, query)


def _edges(texts: Sequence[Attention] | Sequence[AttentionGraph], residual: float) -> Floats:
    """Return the weights (text, layer, above, below) of graphs, for attention as `graph` does."""
    matrices: list[NDArray[np.floating]] = []
    attention = [text.weights for text in texts if isinstance(text, Attention)]
    if attention:
        fusion = EdgeSettings("mean", residual, discard_ratio=0.0, without=())
        # A layer does not depend on the others: those of all texts are fused together.
        matrices += fusion.edges(np.concatenate(attention), "layer {}")
    else:
        matrices += [m for text in texts if isinstance(text, AttentionGraph) for m in text.layers]
    edges = np.array(matrices, dtype=np.float64)
    return edges.reshape(len(texts), -1, *edges.shape[1:])


def _rollout(edges: Floats, layers: Sequence[int], query: int) -> Floats:
    """Return rollout by products of rows from the top, as `rollout` does for few queries."""
    chosen = sorted(layers, reverse=True)
    rows = np.zeros((len(edges), 0, edges.shape[-1]))  # (text, layer of interest, token)
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in range(chosen[0], 0, -1):
            rows = rows @ edges[:, layer - 1]
            if layer in chosen:
                rows = np.concatenate([rows, edges[:, layer - 1, query, None]], axis=1)
    scores = rows[:, [chosen.index(layer) for layer in layers]]
    if not scores.max() < np.inf:  # also when it is NaN
        raise InputError(
            "the products of the weights overflow float64. Divide all weights by a constant"
        )
    return scores
