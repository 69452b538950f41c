"""A call: one attention of a forward pass, as the ears of `attnflow.models` report it.

Whatever an ear hears, a call answers three questions, and the listener asks one of them:
`weights()` for the matrices of all heads, `mean()` for their mean, `times(R)` for the mean times a
matrix. An ear that knows queries and keys answers the last two without the matrices of all heads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from attnflow.models._families import CROSS_NAMES

if TYPE_CHECKING:
    from torch import Tensor

Role: TypeAlias = Literal["self", "decoder", "cross"]
# Gives memory of a shape (batch, head, query, key), in float32 on the CPU. Only a softmax may write
# there: what is found in it is taken for distributions.
Buffer: TypeAlias = "Callable[[tuple[int, int, int, int]], Tensor]"
ROLES: tuple[Role, ...] = ("self", "decoder", "cross")

# Queries whose weights are held at a time where not all are wanted. So that a block of 12 heads and
# 512 keys takes less than a megabyte; chosen here.
BLOCK = 32


class Call(Protocol):
    """What an ear reports. Tensors are on the model's device, in its dtype."""

    @property
    def name(self) -> str:
        """The module that attends, as `named_modules` calls it; empty where it is not known."""
        ...

    @property
    def role(self) -> Role:
        """Whose positions attend to whose."""
        ...

    @property
    def size(self) -> tuple[int, int, int]:
        """The number of examples, of queries and of keys."""
        ...

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Attention weights (batch, head, query, key), in the `room` if a softmax wrote them."""
        ...

    def mean(self) -> Tensor:
        """Their mean over heads (batch, query, key)."""
        ...

    def times(self, R: Tensor) -> Tensor:
        """That mean times `R` (batch, key, column): (batch, query, column)."""
        ...


Receive: TypeAlias = "Callable[[Call], None]"


@dataclass(frozen=True, slots=True)
class GivenWeights:
    """A call whose weights (batch, head, query, key) the model gave by itself."""

    name: str
    role: Role
    given: Tensor

    @property
    def size(self) -> tuple[int, int, int]:
        """The number of examples, of queries and of keys."""
        return self.given.shape[0], self.given.shape[2], self.given.shape[3]

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """What was given."""
        del buffer  # they are somewhere already
        return self.given

    def mean(self) -> Tensor:
        """The mean of what was given."""
        return head_mean(self.given)

    def times(self, R: Tensor) -> Tensor:
        """The mean of what was given, times R."""
        return self.mean().to(R) @ R


def head_mean(weights: Tensor) -> Tensor:
    """The mean over heads of (batch, head, query, key), in single precision at least."""
    import torch

    return weights.mean(dim=1, dtype=torch.promote_types(weights.dtype, torch.float32))


def role_of(name: str) -> Role:
    """What the place of a module in its model says about its attention.

    >>> role_of("decoder.block.0.layer.1.EncDecAttention"), role_of("encoder.layer.0.attention")
    ('cross', 'self')
    """
    parts = name.split(".")
    if not CROSS_NAMES.isdisjoint(parts):
        return "cross"
    return "decoder" if "decoder" in parts else "self"
