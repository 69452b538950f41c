"""`attention`: the paper's edges, the attention weights themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast, overload

from attnflow.edges._inputs import examples
from attnflow.models import attend
from attnflow.models.capture import Sizes, check_memory
from attnflow.models.inputs import (
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    is_single,
    model_and_tokenizer,
    takes_pipeline,
)
from attnflow.types import AttentionGraph, Fusion

if TYPE_CHECKING:
    from torch import nn


class AttentionSettings(TypedDict, total=False):
    """Settings of `attention`, for its overloads."""

    heads: Fusion
    residual: float
    truncate: bool


@overload
def attention(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[AttentionSettings]
) -> AttentionGraph: ...
@overload
def attention(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[AttentionSettings]
) -> list[AttentionGraph]: ...
@overload
def attention(
    model: WithTokenizer, text: Single, **settings: Unpack[AttentionSettings]
) -> AttentionGraph: ...
@overload
def attention(
    model: WithTokenizer, text: Several, **settings: Unpack[AttentionSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
def attention(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    heads: Fusion = "mean",
    residual: float = 0.5,
    truncate: bool = False,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the paper's graph: attention weights, heads fused, residual connections added.

    The same as `attend(model, tokenizer, text).graph(heads=heads, residual=residual)`, with
    `edges="attention"` in the settings; several texts run one after the other, so that padding does
    not matter.

    Parameters
    ----------
    model, tokenizer, text, truncate
        As for `attnflow.attend`.
    heads, residual
        As for `Attention.graph`.

    Notes
    -----
    With heads="mean", the mean is computed during the pass, block by block, and the weights of the
    heads are not stored.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.attention(shipped.model, shipped.tokenizer, "the key to the cabinets")
    AttentionGraph(layers=6, nodes=7)
    """
    model, tokenizer = model_and_tokenizer(model, tokenizer)
    averaged = heads == "mean"
    items = examples(model, tokenizer, text, truncate=truncate)
    check_memory("attention", model, items, _memory_of_mean if averaged else _memory_of_all)
    found: list[AttentionGraph] = []
    for inputs in items:
        captured: Any = attend(
            model, tokenizer, cast("Any", inputs), heads="mean" if averaged else "all"
        )
        found += [_named(item.graph(heads=heads, residual=residual)) for item in captured]
    return found[0] if is_single(text) else found


def _named(graph: AttentionGraph) -> AttentionGraph:
    """Return the graph with the name of its edges in the settings, as the other functions do."""
    settings = {"edges": "attention", **graph.settings}
    return AttentionGraph(graph.layers, graph.tokens, settings=settings, origin=graph.origin)


def _memory_of_mean(sizes: Sizes) -> float:
    """Return bytes at the peak: the captured means in float32, and the graph."""
    return sizes.returned + 2 * sizes.graph


def _memory_of_all(sizes: Sizes) -> float:
    """Return bytes at the peak: the captured weights of all heads, and the graph."""
    return sizes.all_weights + 2 * sizes.weights + sizes.graph
