"""`Block`: what each position of a block takes from the others, as vectors.

What position i takes from position j is the vector `T[i, j] = Σ_h A[h, i, j] v[h, j] W_O[h]`, where
v[h, j] is the value of head h. The sum of attention and residual connection is
`y[i] = Σ_j T[i, j] + b_O + x[i]`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from attnflow.edges._layer_norm import Norm

if TYPE_CHECKING:
    from torch import Tensor, nn

# Elements of the vectors of a chunk of queries. Chosen: 8 MB of float32, which stays in the cache
# of most processors.
MAX_ELEMENTS = 2**21


class Execution(NamedTuple):
    """A call of a block. `hidden` is a copy of its hidden states, which blocks may overwrite."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    hidden: Tensor  # (1, position, width)


@dataclass(slots=True)
class Block:
    """A block in one pass over one input. Tensors are float32 or float64, without a batch axis."""

    execution: Execution
    weights: Tensor  # A (head, query, key)
    values: Tensor  # v (head, key, width of a head)
    projection: Tensor  # W_O (head, width of a head, width)
    bias: Tensor  # b_O (width)
    residual: Tensor  # x (position, width): the input of the block
    total: Tensor  # y (position, width): attention plus residual connection
    output: Tensor  # (position, width): the output of the block
    norm: Norm | None  # normalises y; None if y goes on as it is

    def projected(self) -> Tensor:
        """Return the values after the output projection (key, head, width)."""
        return (self.values @ self.projection).transpose(0, 1).contiguous()

    def vectors(self) -> Generator[tuple[slice, Tensor]]:
        """Yield queries i, a few at a time, and `T[i, j] + [i = j] x[i]` (key, query, width)."""
        import torch

        projected = self.projected()
        count, width = self.residual.shape
        step = max(1, MAX_ELEMENTS // (count * width))
        for start in range(0, count, step):
            rows = slice(start, start + step)
            # A product for each key: (key, query, head) times (key, head, width).
            found = torch.bmm(self.weights[:, rows].permute(2, 1, 0), projected)
            places = torch.arange(count, device=found.device)[rows]
            found[places, places - start] += self.residual[rows]
            yield rows, found

    def sees(self) -> Tensor:
        """Return whether a position takes anything from another (query, key)."""
        import torch

        own = torch.eye(len(self.residual), dtype=torch.bool, device=self.weights.device)
        return (self.weights != 0).any(dim=0) | own

    def after_norm(self) -> Block:
        """Return the block with vectors after the linear part of its norm.

        `γ ⊙ (v − mean v)` for LayerNorm, `γ ⊙ v` for RMSNorm; v itself if y goes on as it is. The
        bias of the norm and its division by the deviation are left out.
        """
        norm = self.norm
        if norm is None:
            return self
        return replace(
            self,
            projection=norm.linear_part(self.projection),
            residual=norm.linear_part(self.residual),
            total=norm.linear_part(self.total),
        )
