"""`effective`: attention without the part that cannot change the output of a layer."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._blocks import Block
from attnflow.edges._calls import check_one, values_of, wide
from attnflow.edges._capture import capture_blocks
from attnflow.edges._graph import RoleMatrix, clip, graph_of_roles, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, known_layout, layout_of
from attnflow.models.capture import Call, Role, Sizes, capture_attention, not_finite
from attnflow.models.inputs import Inputs, ModelInput, Several, Single, takes_pipeline
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import Pipeline


# Largest difference of effective attention from attention that is called none. Chosen: rounding in
# float32 is 1e-7.
_SAME = 1e-6


class _HeadMean(NamedTuple):
    """The mean over heads (query, key) of attention and of effective attention of one call."""

    role: Role
    attention: NDArray[np.float64]
    effective: NDArray[np.float64]


class EffectiveSettings(BlockSettings, total=False):
    """Settings of `effective`, for its overloads."""

    residual: float


@overload
def effective(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[EffectiveSettings]
) -> AttentionGraph: ...
@overload
def effective(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[EffectiveSettings]
) -> list[AttentionGraph]: ...
@overload
def effective(
    model: Pipeline, text: Single, **settings: Unpack[EffectiveSettings]
) -> AttentionGraph: ...
@overload
def effective(
    model: Pipeline, text: Several, **settings: Unpack[EffectiveSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
def effective(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    residual: float = 0.5,
    layout: BlockLayout | None = None,
    truncate: bool = False,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the graph of effective attention, residual connections added.

    The output of a head is `A V`, so what A has in the left null space of the values V changes
    nothing. Effective attention is the rest: `A U Uᵀ`, where the columns of U are an orthonormal
    basis of the columns of V. `A U Uᵀ V = A V`, so every layer has the same output. If a mask hides
    positions, as in a causal model or in a sliding window, V are the values that a query sees, so
    that it takes nothing from the others.

    Parameters
    ----------
    model
        Any model of transformers whose attention uses its interface, encoder-decoders too.
    tokenizer, text, truncate
        As for `attnflow.attend`: one text gives a graph, several texts or tensors a list.
    residual
        Weight of the residual connection, as for `Attention.graph`.
    layout
        For models that do not use the interface: where their blocks keep the value projection.

    Notes
    -----
    A text with no more tokens than a head has dimensions has values without a left null space, in
    general, and then effective attention *is* attention; the settings record `equals_attention`.
    The mean over heads may have negative entries. They are set to zero and rows are renormalized;
    the settings record `clipped`, the share of negative entries in the absolute sum of all. Costs a
    pass and a singular value decomposition for each head; with a mask, a Cholesky factorization for
    each head and query.
    Brunner et al. (2020), https://doi.org/10.48550/arXiv.1908.04211

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> g = edges.effective(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> g.settings["equals_attention"]
    True
    """
    residual = checks.as_float(residual, "residual")

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        chosen = known_layout(model) if layout is None else layout_of(model, layout)
        found = _capture(model, inputs, chosen)
        equal = all(np.abs(item.effective - item.attention).max() < _SAME for item in found)
        matrices, clipped = clip([item.effective for item in found])
        rows = [
            RoleMatrix(item.role, normalize(m)) for item, m in zip(found, matrices, strict=True)
        ]
        return graph_of_roles(
            model, inputs, rows, weight=1 - residual, identity=residual,
            edges="effective", residual=residual, clipped=clipped, equals_attention=equal,
        )  # fmt: skip

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="effective", estimate=_memory
    )


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: weights in float64, projected ones, both means of every layer."""
    return sizes.returned + 10 * sizes.weights + 4 * sizes.graph


def _capture(model: nn.Module, inputs: Inputs, layout: BlockLayout | None) -> list[_HeadMean]:
    """Return the mean over heads of attention and of effective attention, for each call."""
    if layout is not None and layout.value:

        def means(block: Block) -> _HeadMean:
            return _means(model, "self", block.weights, block.values)

        return capture_blocks(model, inputs, layout, means)
    found: list[_HeadMean] = []

    def receive(call: Call) -> None:
        check_one(model, call)
        found.append(_means(model, call.role, wide(call.weights())[0], values_of(model, call)))

    _ = capture_attention(model, inputs.forward, receive)
    return found


def _means(model: nn.Module, role: Role, weights: Tensor, values: Tensor) -> _HeadMean:
    if not (weights.isfinite().all() and values.isfinite().all()):
        raise not_finite(model)
    both = weights.double(), effective_weights(weights, values)
    return _HeadMean(role, *(w.mean(dim=0).cpu().numpy() for w in both))


def effective_weights(weights: Tensor, values: Tensor) -> Tensor:
    """Return `A U Uᵀ` (head, query, key) of weights A and values (group of heads, key, width).

    If no head attends from a query to some keys, U is a basis for the values of the other keys,
    another one for each query.
    """
    import torch

    # The singular values that are rounding, as for numpy.linalg.matrix_rank.
    precision = max(values.shape[1:]) * torch.finfo(values.dtype).eps
    seen = (weights != 0).any(dim=0)  # (query, key)
    weights, values = weights.double(), values.double()
    grouped = weights.unflatten(0, (len(values), -1))  # (group, head of it, query, key)
    if not seen.all():
        pairs = zip(grouped, values, strict=True)
        return torch.cat([_masked(own, shared, seen) for own, shared in pairs])
    left, singular, _ = torch.linalg.svd(values, full_matrices=False)
    basis = left * (singular > precision * singular.amax(dim=-1, keepdim=True))[:, None]
    basis = basis[:, None]
    return (grouped @ basis @ basis.transpose(2, 3)).flatten(0, 1)


def _masked(weights: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    """Return `A V (Vᵀ V)⁻¹ Vᵀ` (head, query, key), where V are the values that each query sees.

    An inverse for each query instead of a decomposition, which would take some hundred times as
    long. The ridge stands for directions in which the values differ by rounding only.
    """
    import torch

    output = weights @ values  # (head, query, width)
    eye = torch.eye(values.shape[1], dtype=values.dtype, device=values.device)
    found: list[Tensor] = []
    start = 0
    for products in _products(values, seen):
        rows = output[:, start : start + len(products)]
        start += len(products)
        ridge = _RIDGE * products.diagonal(dim1=1, dim2=2).sum(dim=-1).clamp(min=1e-300)
        factor = torch.linalg.cholesky(products + ridge[:, None, None] * eye)
        found.append(torch.cholesky_solve(rows.permute(1, 2, 0), factor))  # (query, width, head)
    return (torch.cat(found).permute(2, 0, 1) @ values.T) * seen


def _products(values: Tensor, seen: Tensor) -> Generator[Tensor]:
    """Yield `Vᵀ V` (query, width, width) of the values that each query sees, a few at a time."""
    import torch

    width = values.shape[1]
    step = max(1, _MAX_ELEMENTS // width**2)
    if torch.equal(seen, torch.ones_like(seen).tril()):
        before = torch.zeros(width, width, dtype=values.dtype, device=values.device)
        for own in values.split(step):
            products = before + torch.einsum("jv,jw->jvw", own, own).cumsum(dim=0)
            before = products[-1]
            yield products
        return
    for rows in seen.split(step):
        products = torch.zeros(len(rows), width**2, dtype=values.dtype, device=values.device)
        for own, columns in zip(values.split(step), rows.split(step, dim=1), strict=True):
            if columns.any():
                squares = torch.einsum("jv,jw->jvw", own, own).flatten(1)
                products += columns.to(values) @ squares
        yield products.unflatten(1, (width, width))


# The squared precision of float32 values in relation to their size.
_RIDGE = 1e-14
# Elements of the products of a chunk of queries. Chosen: 16 MB of float64.
_MAX_ELEMENTS = 2**21
