"""A call: one attention of a forward pass, as the hooks capture it.

The receiver of a call uses one of three methods: `weights()` returns the weights of all heads,
`mean()` their mean, `times(R)` the mean times a matrix. Hooks that capture queries and keys compute
the last two without the weights of all heads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from attnflow.models._families import CROSS_NAMES

if TYPE_CHECKING:
    from torch import Tensor

Role: TypeAlias = Literal["self", "decoder", "cross"]
# Returns memory for weights (batch, head, query, key), float32 on the CPU, for a softmax to write
# to: the rows in it are expected to sum to one.
Buffer: TypeAlias = "Callable[[tuple[int, int, int, int]], Tensor]"
ROLES: tuple[Role, ...] = ("self", "decoder", "cross")

# Queries per block where weights are reduced block by block. Chosen: with 12 heads and 512 keys a
# block takes less than a megabyte.
BLOCK = 32


class Call(Protocol):
    """One captured attention. Tensors have the model's device and dtype."""

    @property
    def name(self) -> str:
        """The name of the attention module in `named_modules`; empty if unknown."""
        ...

    @property
    def role(self) -> Role:
        """Self-attention ("decoder" for a decoder's own), or cross-attention."""
        ...

    @property
    def size(self) -> tuple[int, int, int]:
        """The numbers of examples, queries and keys."""
        ...

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Return the weights (batch, head, query, key), in `buffer` if a softmax wrote them."""
        ...

    def mean(self) -> Tensor:
        """Return the mean over heads (batch, query, key)."""
        ...

    def times(self, R: Tensor) -> Tensor:
        """Return the mean over heads times `R` (batch, key, column): (batch, query, column)."""
        ...


Receive: TypeAlias = "Callable[[Call], None]"


@dataclass(frozen=True, slots=True)
class GivenWeights:
    """A call whose weights (batch, head, query, key) the model computed itself."""

    name: str
    role: Role
    given: Tensor

    @property
    def size(self) -> tuple[int, int, int]:
        """The numbers of examples, queries and keys."""
        return self.given.shape[0], self.given.shape[2], self.given.shape[3]

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Return the given weights."""
        del buffer  # the weights have memory already
        return self.given

    def mean(self) -> Tensor:
        """Return the mean over heads."""
        return head_mean(self.given)

    def times(self, R: Tensor) -> Tensor:
        """Return the mean over heads times R."""
        return self.mean().to(R) @ R


def head_mean(weights: Tensor) -> Tensor:
    """Return the mean over heads of (batch, head, query, key), in float32 or wider."""
    import torch

    return weights.mean(dim=1, dtype=torch.promote_types(weights.dtype, torch.float32))


def role_of(name: str) -> Role:
    """Return the role of an attention module, by its name in the model.

    >>> role_of("decoder.block.0.layer.1.EncDecAttention"), role_of("encoder.layer.0.attention")
    ('cross', 'self')
    """
    parts = name.split(".")
    if not CROSS_NAMES.isdisjoint(parts):
        return "cross"
    return "decoder" if "decoder" in parts else "self"
