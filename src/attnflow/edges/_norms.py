"""`norms`: an edge weight is the norm of the vector that a position takes from another."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._blocks import Block
from attnflow.edges._capture import capture_blocks
from attnflow.edges._graph import graph, normalize
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
    from torch import Tensor, nn


class NormsSettings(BlockSettings, total=False):
    """Settings of `norms`, for its overloads."""

    residual: float | None


@overload
def norms(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[NormsSettings]
) -> AttentionGraph: ...
@overload
def norms(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[NormsSettings]
) -> list[AttentionGraph]: ...
@overload
def norms(
    model: WithTokenizer, text: Single, **settings: Unpack[NormsSettings]
) -> AttentionGraph: ...
@overload
def norms(
    model: WithTokenizer, text: Several, **settings: Unpack[NormsSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
def norms(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    residual: float | None = None,
    layout: BlockLayout | None = None,
    truncate: bool = False,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the graph whose edge weights are norms of what a position takes from another.

    Attention multiplies a vector `f(x_j)`, and a large weight on a short vector passes on little.
    With `T_ij = Σ_h A_h[i, j] f_h(x_j)` and the residual connection in the vectors,
    `v_ij = T_ij + [i = j] x_i`, an edge weighs `‖γ ⊙ (v_ij − mean v_ij)‖`, where γ is that of the
    layer norm that follows; rows are then divided by their sum, so that the deviation, by which the
    norm divides a row, has no effect. The share of the residual connection is measured in this way.
    In blocks that normalise first, as in GPT-2 and Llama, there is no such norm, and an edge weighs
    `‖v_ij‖`.

    Parameters
    ----------
    model
        A model of a known family, or any with `layout`.
    tokenizer, text, truncate
        As for `attnflow.attend`: one text gives a graph, several texts or tensors a list.
    residual
        None measures the residual connection. A number r leaves it and the layer norm out of the
        vectors: the graph is `(1 − r) W + r I`, where W is `‖T_ij‖` with rows that sum to one.
    layout
        Where the blocks of another model keep their parts.

    Notes
    -----
    Norms are computed from the products of the heads' vectors, so that memory is
    `O(n · heads · width + heads · n²)`; no vector for each pair exists. Biases of the output
    projection and of the norm belong to no token and are left out.
    Kobayashi et al. (2020), https://doi.org/10.18653/v1/2020.emnlp-main.574; residual connection
    and layer norm: Kobayashi et al. (2021), https://doi.org/10.18653/v1/2021.emnlp-main.373

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.norms(shipped.model, shipped.tokenizer, "the key to the cabinets")
    AttentionGraph(layers=6, nodes=7)
    """
    if residual is not None:
        residual = checks.as_float(residual, "residual")

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        edges = functools.partial(_edges, residual=residual)
        layers = capture_blocks(model, inputs, layout_of(model, layout), edges)
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[:1])
        share = "measured" if residual is None else residual
        return graph(
            layers, tokens, origin, edges="norms", residual=share, **layout_settings(layout)
        )

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="norms", estimate=_memory
    )


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: weights in float64 and their products, vectors of all heads."""
    return sizes.returned + 7 * sizes.weights + 3 * sizes.heads * sizes.states + 2 * sizes.graph


def _edges(block: Block, residual: float | None) -> NDArray[np.float64]:
    if residual is not None:
        lengths, _ = _lengths(block)
        shares = normalize(lengths)
        return (1 - residual) * shares + residual * np.eye(len(shares))
    # The deviation divides whole rows, so it has no effect on their shares.
    block = block.after_norm()
    lengths, own = _lengths(block)
    # With the residual connection: the only pair whose vector has another part.
    np.fill_diagonal(lengths, (own + block.residual.double()).norm(dim=-1).cpu().numpy())
    return normalize(lengths)


def _lengths(block: Block) -> tuple[NDArray[np.float64], Tensor]:
    """Return `‖T_ij‖` (query, key) by products of vectors of the same key, and `T_ii`."""
    import torch

    weights, projected = block.weights.double(), block.projected().double()
    products = torch.einsum("jhw,jgw->jhg", projected, projected)
    squares = torch.einsum("hij,jhg,gij->ij", weights, products, weights)
    own = torch.einsum("hi,ihw->iw", weights.diagonal(dim1=1, dim2=2), projected)
    return squares.clamp(min=0).sqrt().cpu().numpy(), own
