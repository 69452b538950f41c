"""Attention times a matrix through fused kernels, which never hold a matrix of weights.

`softmax(Q Kᵀ) R` is what fused attention gives for values R. The values of the model and R go
through one call, side by side, so that the softmax is computed once.
"""
# torch's stubs leave many members partly unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

# Columns of R up to which one fused call is quicker than averaging the heads' weights first, block
# of queries by block: its cost grows with heads times columns. Measured on two CPU cores with 12
# heads of width 32 and 4,096 tokens.
FUSED_COLUMNS = 128


def beside(
    attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    R: Tensor,
) -> tuple[Tensor, Tensor]:
    """The output of attention, and the mean over heads of its weights times R.

    Parameters
    ----------
    attend
        Fused attention of queries, keys and values (batch, head, position, width), with the scale
        of the model: (batch, head, query, width).
    query, key, value
        What the model attends with; keys and values may have fewer heads.
    R
        (batch, key, column), on any device: layers of a model may be spread over several.

    Notes
    -----
    Kernels for the CPU want queries, keys and values of one width, so all are filled up with zeros,
    which changes no product.
    """
    batch, heads, positions, own = value.shape
    columns = R.shape[-1]
    width = max(key.shape[-1], own + columns)
    values = value.new_zeros(batch, heads, positions, width)
    values[..., :own] = value
    values[..., own : own + columns] = R.to(value)[:, None]
    out = attend(_filled(query, width), _filled(key, width), values)
    return out[..., :own], out[..., own : own + columns].to(R).mean(dim=1)


def _filled(rows: Tensor, width: int) -> Tensor:
    """The same with zeros up to a width; no copy where it has that width."""
    from torch.nn.functional import pad

    missing = width - rows.shape[-1]
    return pad(rows, (0, missing)) if missing else rows
