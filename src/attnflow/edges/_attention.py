"""`attention`: the paper's edges, the attention weights themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast, overload

from attnflow.models import attend
from attnflow.models.inputs import ModelInput, Several
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
    model: nn.Module, tokenizer: Any, text: str, **settings: Unpack[AttentionSettings]
) -> AttentionGraph: ...
@overload
def attention(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[AttentionSettings]
) -> list[AttentionGraph]: ...
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

    The same as `attend(model, tokenizer, text).graph(heads=heads, residual=residual)`.

    Parameters
    ----------
    model, tokenizer, text, truncate
        As for `attnflow.attend`.
    heads, residual
        As for `Attention.graph`.

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.attention(shipped.model, shipped.tokenizer, "the key to the cabinets")
    AttentionGraph(layers=6, nodes=7)
    """
    found: Any = attend(model, tokenizer, cast("Any", text), truncate=truncate)
    if isinstance(found, list):
        return [item.graph(heads=heads, residual=residual) for item in cast("list[Any]", found)]
    return found.graph(heads=heads, residual=residual)
