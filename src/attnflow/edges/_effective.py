"""`effective`: attention without the part that cannot change the output of a layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._effective_weights import SAME, capture_effective
from attnflow.edges._graph import RoleMatrix, clip, graph_of_roles, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, layout_settings
from attnflow.models.capture import Role, Sizes
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    takes_pipeline,
)
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import Tensor, nn


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
    model: WithTokenizer, text: Single, **settings: Unpack[EffectiveSettings]
) -> AttentionGraph: ...
@overload
def effective(
    model: WithTokenizer, text: Several, **settings: Unpack[EffectiveSettings]
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
    that it takes nothing from the others. V are the values themselves, not their products with the
    output projection of the head: both have the same null space if that projection has full rank.

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
    The mean over heads may have negative entries. They are set to zero and rows are renormalized,
    after which the output of a layer is no longer exactly the same. The settings record how much
    was changed: `clipped`, the share of negative entries in the absolute sum of all. For heads
    apart, see `effective_heads`. Where a model does not tell its mask, as MPNet, a key that no head
    attends to counts as hidden. Costs a pass and a singular value decomposition for each head; with
    a mask, a Cholesky factorization for each head and query.
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
        found = capture_effective(model, inputs, layout, _means)
        equal = all(np.abs(item.effective - item.attention).max() < SAME for item in found)
        matrices, clipped = clip([item.effective for item in found])
        rows = [
            RoleMatrix(item.role, normalize(m)) for item, m in zip(found, matrices, strict=True)
        ]
        return graph_of_roles(
            model, inputs, rows, weight=1 - residual, identity=residual,
            edges="effective", residual=residual, clipped=clipped, equals_attention=equal,
            **layout_settings(layout),
        )  # fmt: skip

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="effective", estimate=_memory
    )


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: weights in float64, projected ones, both means of every layer."""
    return sizes.returned + 10 * sizes.weights + 4 * sizes.graph


def _means(role: Role, *weights: Tensor) -> _HeadMean:
    return _HeadMean(role, *(own.mean(dim=0).cpu().numpy() for own in weights))
