"""The receptive field: what a causal model shows of each token, whatever it attends to."""

import dataclasses
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.methods._selection import Selection
from attnflow.types import AttentionGraph, EdgeSettings


def uniform(chosen: Selection) -> Selection:
    """The same rows of the graph in which every position draws evenly on what it sees.

    It has as many layers, the same residual and the same positions taken out, and nothing
    discarded. What a position sees is every earlier one: of a model with sliding windows, those out
    of the window too. A graph that is not causal is an InputError.
    """
    graph = chosen.graph
    if "source_tokens" in graph.settings:
        raise InputError(
            "receptive_field=True came with an encoder-decoder, attention that is not causal as a "
            "whole: every position sees every source token; leave it out"
        )
    if graph.settings.get("causal") is not True:
        raise InputError(
            "receptive_field=True came with attention that is not causal, where every position "
            "sees every token; leave it out, or give the weights of a decoder with causal=True"
        )
    residual = graph.settings.get("residual")
    if not isinstance(residual, int | float) or len(set(graph.sizes)) > 1:
        raise InputError(
            "receptive_field=True came with a graph that says it is causal, but not how it was "
            "made; build it with Attention(weights, causal=True).graph()"
        )
    n_tokens, without = graph.sizes[0], cast("Any", graph.settings.get("without", ()))
    settings = EdgeSettings(heads="mean", residual=residual, discard_ratio=0.0, without=without)
    layer = settings.edges(np.tril(np.ones((1, n_tokens, n_tokens))), "uniform attention")
    layers = [layer] * graph.n_layers
    tops = None if graph.tops is None else layers  # a single head of it is uniform too
    return dataclasses.replace(chosen, graph=AttentionGraph(layers, graph.tokens, tops=tops))


def corrected(scores: NDArray[np.float64], seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as shares of what is seen: `scores / seen`, rows divided by their sums.

    `seen` is what the same method gives for `uniform`. A token out of sight has score zero.

    >>> corrected(np.array([[[0.8, 0.2, 0.0]]]), np.array([[[0.75, 0.25, 0.0]]])).round(3)
    array([[[0.571, 0.429, 0.   ]]])
    """
    if ((seen == 0) & (scores > 0)).any():
        raise InputError(
            "the graph says that it is causal, but a position draws on a later one; leave out "
            "receptive_field, or mask what lies ahead"
        )
    shares = np.divide(scores, seen, out=np.zeros_like(scores), where=seen > 0)
    sums = shares.sum(axis=2, keepdims=True)
    return np.divide(shares, sums, out=shares, where=sums > 0)
