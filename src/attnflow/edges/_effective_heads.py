"""`effective_heads`: effective attention with its heads apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow.edges._effective_weights import SAME, capture_effective
from attnflow.edges._graph import is_causal, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, layout_settings
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Role, Sizes
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    name_example,
    takes_pipeline,
)
from attnflow.types import Attention

if TYPE_CHECKING:
    from torch import Tensor, nn


class _Heads(NamedTuple):
    """The positive part of the weights of each head of one call, and what was taken from it."""

    role: Role
    weights: NDArray[np.float32]  # (head, query, key), rows to one
    negative: float  # the absolute sum of the negative entries
    total: float  # that of all
    difference: float  # the largest from attention


@overload
def effective_heads(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[BlockSettings]
) -> Attention: ...
@overload
def effective_heads(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[BlockSettings]
) -> list[Attention]: ...
@overload
def effective_heads(
    model: WithTokenizer, text: Single, **settings: Unpack[BlockSettings]
) -> Attention: ...
@overload
def effective_heads(
    model: WithTokenizer, text: Several, **settings: Unpack[BlockSettings]
) -> list[Attention]: ...
@takes_pipeline
def effective_heads(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    layout: BlockLayout | None = None,
    truncate: bool = False,
) -> Attention | list[Attention]:
    """Return effective attention with its heads apart, in place of the attention of `attend`.

    `raw`, `rollout` and `flow` of one head, other fusions of heads, plots and pages take it.

    Parameters
    ----------
    model
        As for `effective`, but for encoder-decoders, which are an error.
    tokenizer, text, layout, truncate
        As for `effective`.

    Notes
    -----
    The negative entries of each head are set to zero, and its rows are renormalized; a row without
    positive entries becomes attention of the position to itself. `effective` does so after the mean
    over heads, so that its graph is another one than `effective_heads(…).graph()` unless no head
    has negative entries. The settings record `clipped` and `equals_attention` as those of
    `effective` do, over all heads. Takes the time of `effective`.
    Brunner et al. (2020), https://doi.org/10.48550/arXiv.1908.04211

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> a = edges.effective_heads(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> a
    Attention(layers=6, heads=8, tokens=7)
    >>> af.rollout(a, head=3, layers=6).scores.shape
    (1, 7, 7)
    """

    def compute(model: nn.Module, inputs: Inputs) -> Attention:
        found = capture_effective(model, inputs, layout, _positive)
        shapes = {item.weights.shape for item in found}
        if any(item.role == "cross" for item in found) or len(shapes) > 1:
            raise UnsupportedModelError(
                f"{type(model).__name__}: expected attention of one sequence, got several. Use "
                "attnflow.edges.effective for an encoder-decoder, or pass one part of the model"
            )
        layers = [item.weights for item in found]
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[-1:])
        causal = is_causal(head for layer in layers for head in layer)
        total = sum(item.total for item in found)
        settings = {
            "edges": "effective",
            "clipped": sum(item.negative for item in found) / total if total else 0.0,
            "equals_attention": all(item.difference < SAME for item in found),
            **layout_settings(layout),
        }
        return Attention(layers, tokens, causal=causal, origin=origin, settings=settings)

    return one_or_all(
        compute, model, tokenizer, text,
        truncate=truncate, name="effective_heads", estimate=_memory,
    )  # fmt: skip


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: weights in float64, projected ones, those of all heads twice."""
    return sizes.returned + 10 * sizes.weights + 8 * sizes.heads * sizes.pairs


def _positive(role: Role, attention: Tensor, effective: Tensor) -> _Heads:
    weights = effective.cpu().numpy()
    shares = np.stack([normalize(head) for head in np.maximum(weights, 0)], dtype=np.float32)
    sums = float(np.maximum(-weights, 0).sum()), float(np.abs(weights).sum())
    return _Heads(role, shares, *sums, float((effective - attention).abs().max()))
