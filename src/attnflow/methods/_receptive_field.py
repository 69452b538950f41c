"""Correction for the receptive field: in a causal model, more positions see early tokens."""

import dataclasses
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.methods._selection import Selection
from attnflow.types import AttentionGraph, EdgeSettings


def uniform(chosen: Selection) -> Selection:
    """Return the same rows of the graph of uniform causal attention."""
    return dataclasses.replace(chosen, graph=uniform_graph(chosen.graph))


def uniform_graph(graph: AttentionGraph) -> AttentionGraph:
    """Return the graph of uniform causal attention in place of that of a causal model.

    It has the same number of layers, residual and excluded positions, and no discarded edges. Every
    position attends equally to itself and all earlier ones; sliding windows are not taken into
    account. A graph that is not causal is an InputError.
    """
    if "source_tokens" in graph.settings:
        raise InputError(
            "receptive_field=True is only for causal attention, got an encoder-decoder, in which "
            "every position sees every source token. Leave it out"
        )
    if graph.settings.get("causal") is not True:
        raise InputError(
            "receptive_field=True is only for causal attention. Leave it out; the weights of a "
            "decoder have causal=True"
        )
    residual = graph.settings.get("residual")
    if not isinstance(residual, int | float) or len(set(graph.sizes)) > 1:
        raise InputError(
            "receptive_field=True needs the residual of the graph, which its settings do not "
            "have. Build it with Attention(weights, causal=True).graph()"
        )
    n_tokens, without = graph.sizes[0], cast("Any", graph.settings.get("without", ()))
    settings = EdgeSettings(heads="mean", residual=residual, discard_ratio=0.0, without=without)
    attention = np.tril(np.ones((1, 1, n_tokens, n_tokens)))
    [layer] = settings.edges(attention, "uniform attention")
    layers = [layer] * graph.n_layers
    tops = None if graph.tops is None else layers  # its single head is uniform as well
    return AttentionGraph(layers, graph.tokens, tops=tops)


def corrected(scores: NDArray[np.float64], seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `scores / seen` with rows that sum to one.

    `seen` are the scores that the same method gives for `uniform`. A token that is not seen has
    score zero.

    >>> corrected(np.array([[[0.8, 0.2, 0.0]]]), np.array([[[0.75, 0.25, 0.0]]])).round(3)
    array([[[0.571, 0.429, 0.   ]]])
    """
    if ((seen == 0) & (scores > 0)).any():
        raise InputError(
            "receptive_field=True is only for causal attention, but a position of this graph "
            "attends to a later one. Leave it out, or mask later positions"
        )
    shares = np.divide(scores, seen, out=np.zeros_like(scores), where=seen > 0)
    sums = shares.sum(axis=2, keepdims=True)
    return np.divide(shares, sums, out=shares, where=sums > 0)
