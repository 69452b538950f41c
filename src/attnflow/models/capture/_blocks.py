"""Attention reduced over heads without the weights of all heads, for queries and keys.

`softmax(Q Kᵀ) R` is fused attention with the values R. The columns of R are appended to the model's
values, so that the softmax is computed once, for a few heads at a time to save memory. For many
columns, and for the mean over heads, the weights of a block of queries are computed and reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from attnflow.models.capture._calls import Call, head_mean

if TYPE_CHECKING:
    from torch import Tensor

# Queries per block where weights are reduced block by block. Chosen: with 12 heads and 512 keys a
# block takes less than a megabyte.
BLOCK = 32
# Columns of R up to which the fused call is faster than averaging the weights of the heads block by
# block: its cost grows with heads times columns. Measured on two CPU cores with 12 heads of width
# 32 and 4,096 tokens.
FUSED_COLUMNS = 128
# Elements of the extended values per call, which limits the heads per call. Chosen: 4 MB of
# float32, little compared with the activations of a layer.
_MAX_ELEMENTS = 2**20


class BlockCall(Call):
    """A call with queries, keys and values (batch, head, position, width). Methods set `output`."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor | None = None  # of the attention

    def rows(self, rows: slice) -> Tensor:
        """Return the weights (batch, head, query, key) of some queries."""
        raise NotImplementedError

    def fits_kernel(self) -> bool:
        """Return whether `kernel` supports the arguments of this call."""
        raise NotImplementedError

    def kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
        """Return fused attention for some heads."""
        raise NotImplementedError

    def mean(self) -> Tensor:
        """Return the mean over heads."""
        return self._reduce(head_mean)

    def times(self, R: Tensor) -> Tensor:
        """Return the mean over heads times R, by fused attention if possible."""
        if R.shape[-1] > FUSED_COLUMNS or not self.fits_kernel():
            return self._reduce(lambda weights: head_mean(weights).to(R) @ R)
        self.output, product = attend_with_extra_values(
            self.kernel, self.query, self.key, self.value, R
        )
        return product

    def _reduce(self, reduce: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `reduce` to the weights of each block of queries and concatenate the results."""
        import torch

        starts = range(0, self.size[1], BLOCK)
        return torch.cat([reduce(self.rows(slice(s, s + BLOCK))) for s in starts], dim=1)


def attend_with_extra_values(
    attend: Callable[[Tensor, Tensor, Tensor, slice], Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    R: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the output of attention, and the mean over heads of its weights times R.

    `attend` is fused attention of queries, keys and values (batch, head, position, width) of the
    query heads in the slice, with the scale of the model. Keys and values may have fewer heads. R
    is (batch, key, column), on any device: the layers of a model may be on several.

    CPU kernels need one width for queries, keys and values, so all are padded with zeros.
    """
    batch, heads, positions, own = value.shape
    end = own + R.shape[-1]
    width = max(key.shape[-1], end)
    group = query.shape[1] // heads  # query heads per head of keys and values
    step = max(1, _MAX_ELEMENTS // (batch * positions * width))
    extra = R.to(value)[:, None]
    output: Tensor | None = None
    total = R.new_zeros(())
    for start in range(0, heads, step):
        of_keys = slice(start, start + step)
        of_queries = slice(group * start, group * (start + step))
        values = value.new_zeros(batch, len(range(heads)[of_keys]), positions, width)
        values[..., :own] = value[:, of_keys]
        values[..., own:end] = extra
        queries, keys = _padded(query[:, of_queries], width), _padded(key[:, of_keys], width)
        out = attend(queries, keys, values, of_queries)
        if output is None:
            output = out.new_empty(*query.shape[:3], own)
        output[:, of_queries] = out[..., :own]
        total = total + out[..., own:end].to(R).sum(dim=1)
    return cast("Tensor", output), total / query.shape[1]


def mask_of_heads(mask: Tensor | None, heads: slice) -> Tensor | None:
    """Return a mask or bias (…, query, key) for some heads, sliced if it has a head axis."""
    if mask is None or mask.ndim < 3 or mask.shape[-3] == 1:
        return mask
    return mask[..., heads, :, :]


def _padded(rows: Tensor, width: int) -> Tensor:
    """Return the rows padded with zeros to a width, without a copy if they have it."""
    from torch.nn.functional import pad

    missing = width - rows.shape[-1]
    return pad(rows, (0, missing)) if missing else rows
