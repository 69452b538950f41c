"""Attention times a matrix through fused kernels, which never hold a matrix of weights.

`softmax(Q Kᵀ) R` is what fused attention gives for values R. The values of the model and R go
through one call, side by side, so that the softmax is computed once; some heads at a time, so that
what is put side by side takes little memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from torch import Tensor

# Columns of R up to which one fused call is quicker than averaging the heads' weights first, block
# of queries by block: its cost grows with heads times columns. Measured on two CPU cores with 12
# heads of width 32 and 4,096 tokens.
FUSED_COLUMNS = 128
# Numbers of the values that are put beside R at a time, as many heads as have that many. Chosen:
# 4 MB of float32, little beside what a layer of a model holds.
_AT_ONCE = 2**20


def attend_with_extra_values(
    attend: Callable[[Tensor, Tensor, Tensor, slice], Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    R: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the output of attention, and the mean over heads of its weights times R.

    `attend` is fused attention of queries, keys and values (batch, head, position, width) of the
    heads in the slice, with the scale of the model. Keys and values may have fewer heads. R is
    (batch, key, column), on any device: layers of a model may be spread over several.

    Kernels for the CPU need queries, keys and values of one width, so all are padded with zeros,
    which changes no product.
    """
    batch, heads, positions, own = value.shape
    end = own + R.shape[-1]
    width = max(key.shape[-1], end)
    groups = query.shape[1] // heads  # heads that share their keys and values
    step = max(1, _AT_ONCE // (batch * positions * width))
    beside_values = R.to(value)[:, None]
    output: Tensor | None = None
    total = R.new_zeros(())
    for start in range(0, heads, step):
        some = slice(start, start + step)
        mine = slice(groups * start, groups * (start + step))
        values = value.new_zeros(batch, len(range(heads)[some]), positions, width)
        values[..., :own] = value[:, some]
        values[..., own:end] = beside_values
        out = attend(_filled(query[:, mine], width), _filled(key[:, some], width), values, mine)
        if output is None:
            output = out.new_empty(*query.shape[:3], own)
        output[:, mine] = out[..., :own]
        total = total + out[..., own:end].to(R).sum(dim=1)
    return cast("Tensor", output), total / query.shape[1]


def mask_of_heads(mask: Tensor | None, heads: slice) -> Tensor | None:
    """A mask or bias (…, query, key) for some of the heads, where it tells heads apart."""
    if mask is None or mask.ndim < 3 or mask.shape[-3] == 1:
        return mask
    return mask[..., heads, :, :]


def _filled(rows: Tensor, width: int) -> Tensor:
    """The same with zeros up to a width; no copy where it has that width."""
    from torch.nn.functional import pad

    missing = width - rows.shape[-1]
    return pad(rows, (0, missing)) if missing else rows
