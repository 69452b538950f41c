"""`alti`: an edge weight says how much closer a vector brings the sum to its final value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow.edges._blocks import Block
from attnflow.edges._capture import capture_blocks
from attnflow.edges._graph import clip, graph, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, layout_of, layout_settings
from attnflow.models.capture import Sizes
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    name_example,
    takes_pipeline,
)
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import nn


@overload
def alti(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[BlockSettings]
) -> AttentionGraph: ...
@overload
def alti(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[BlockSettings]
) -> list[AttentionGraph]: ...
@overload
def alti(
    model: WithTokenizer, text: Single, **settings: Unpack[BlockSettings]
) -> AttentionGraph: ...
@overload
def alti(
    model: WithTokenizer, text: Several, **settings: Unpack[BlockSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
def alti(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    layout: BlockLayout | None = None,
    truncate: bool = False,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the graph whose edge weights say how much closer a vector brings the sum to its value.

    With the vectors `v_ij = T_ij + [i = j] x_i` of `norms`, an edge weighs
    `max(0, ‖y_i‖₁ − ‖y_i − v_ij‖₁)`, where `y_i` is their sum with the bias of the output
    projection, both after the linear part of the layer norm that follows; rows are then divided by
    their sum. A vector that points away from the sum weighs nothing, however long it is. In blocks
    that normalise first, as in GPT-2 and Llama, `y_i` is the residual stream after attention.

    Parameters
    ----------
    model, tokenizer, text, layout, truncate
        As for `norms`.

    Notes
    -----
    Takes `n² · width` operations for each layer; vectors exist for a few positions at a time, 8 MB.
    The settings record `clipped`, the share of negative weights in the absolute sum of all.
    Ferrando et al. (2022), https://doi.org/10.18653/v1/2022.emnlp-main.595

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.alti(shipped.model, shipped.tokenizer, "the key to the cabinets")
    AttentionGraph(layers=6, nodes=7)
    """

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        found = capture_blocks(model, inputs, layout_of(model, layout), distances)
        layers, clipped = contributions(found)
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[:1])
        return graph(
            layers, tokens, origin, edges="alti", residual="measured", clipped=clipped,
            **layout_settings(layout),
        )  # fmt: skip

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="alti", estimate=memory_of_alti
    )


def memory_of_alti(sizes: Sizes) -> float:
    """Return bytes at the peak: weights and vectors of all heads; those of pairs are few."""
    return sizes.returned + 3 * sizes.weights + 2 * sizes.heads * sizes.states + 2 * sizes.graph


def contributions(
    found: list[NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], float]:
    """Return matrices whose rows sum to one from `distances`, and the share that was negative."""
    positive, clipped = clip(found)
    return [normalize(layer) for layer in positive], clipped


def distances(block: Block) -> NDArray[np.float64]:
    """Return `‖y_i‖₁ − ‖y_i − v_ij‖₁` (query, key), divided by the deviation of the norm."""
    import torch

    linear = block.after_norm()
    sizes = linear.total.double().abs().sum(dim=-1, keepdim=True)
    found = torch.empty(block.weights.shape[1:], dtype=torch.float64, device=sizes.device)
    for rows, vectors in linear.vectors():  # (key, query, width)
        lengths = vectors.sub_(linear.total[rows]).abs_().sum(dim=-1, dtype=torch.float64)
        found[rows] = sizes[rows] - lengths.T
    if block.norm is not None:
        found /= block.norm.deviation(block.total)[:, None]
    # Exactly zero where there is no vector, whatever rounding left of ‖y_i‖₁ − ‖y_i‖₁.
    return (found * block.sees()).cpu().numpy()
