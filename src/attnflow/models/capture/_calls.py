"""Calls: the attention of each layer of a forward pass, as hooks capture it, and a store for them.

The receiver of a call uses one of three methods: `weights()` returns the weights of all heads,
`mean()` their mean, `times(R)` the mean times a matrix. Hooks that capture queries and keys compute
the last two without the weights of all heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import UnsupportedModelError
from attnflow.models._families import CROSS_NAMES
from attnflow.models.inputs import Inputs, Positions

if TYPE_CHECKING:
    from torch import Tensor, nn

Role: TypeAlias = Literal["self", "decoder", "cross"]
# Returns memory for weights (batch, head, query, key), float32 on the CPU, for a softmax to write
# to: the rows in it are expected to sum to one.
Buffer: TypeAlias = "Callable[[tuple[int, int, int, int]], Tensor]"
Receive: TypeAlias = "Callable[[Call], None]"
ROLES: tuple[Role, ...] = ("self", "decoder", "cross")

# Largest errors of row sums. Chosen: errors are 1e-6 in single precision; in half precision, twice
# the 2⁻⁸ of rounding to bfloat16.
_ROUNDING_SINGLE, _ROUNDING_HALF = 1e-3, 2**-7
# Terms of scores that hide a key. Chosen: masks have -10,000 or the dtype's minimum, position
# biases are larger, and no scores of a model make up for this one.
_HIDDEN = -5000.0


class Call:
    """One captured attention. Tensors have the model's device and dtype."""

    def __init__(self, name: str, role: Role, size: tuple[int, int, int]) -> None:
        self.name = name  # of the attention module in `named_modules`; empty if unknown
        self.role: Role = role  # self-attention, "decoder" for a decoder's own, or cross-attention
        self.size = size  # the numbers of examples, queries and keys

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Return the weights (batch, head, query, key), in `buffer` if a softmax wrote them."""
        raise NotImplementedError

    def mean(self) -> Tensor:
        """Return the mean over heads (batch, query, key)."""
        return head_mean(self.weights())

    def times(self, R: Tensor) -> Tensor:
        """Return the mean over heads times `R` (batch, key, column): (batch, query, column)."""
        return self.mean().to(R) @ R

    def visible(self) -> Tensor | None:
        """Return whether a query may attend to a key (query, key), in any head and example.

        None if it is unknown, as for weights that the model computed itself.
        """
        return None


class GivenWeights(Call):
    """A call whose weights (batch, head, query, key) the model computed itself."""

    def __init__(self, name: str, role: Role, given: Tensor) -> None:
        super().__init__(name, role, (given.shape[0], given.shape[2], given.shape[3]))
        self._given = given

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Return the given weights, which have memory already."""
        del buffer
        return self._given


def visible_keys(mask: Tensor | None, like: Tensor, size: tuple[int, int, int]) -> Tensor:
    """Return `Call.visible` for a mask, boolean or added to the scores; None hides no key."""
    import torch

    _, queries, keys = size
    if mask is None:
        return torch.ones(queries, keys, dtype=torch.bool, device=like.device)
    seen = mask[..., :keys] if mask.dtype == torch.bool else mask[..., :keys] > _HIDDEN
    if seen.ndim > 2:
        seen = seen.flatten(0, -3).any(dim=0)
    return seen.expand(queries, keys)


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


def not_finite(model: nn.Module) -> UnsupportedModelError:
    """Return the error for attention that is NaN or infinite."""
    return UnsupportedModelError(
        f"the attention of {type(model).__name__} is NaN or infinite. Its parameters or its input "
        "hold such values, or half precision overflows: try model.float()"
    )


def not_normalized(name: str, total: float) -> UnsupportedModelError:
    """Return the error for attention whose rows do not sum to one."""
    return UnsupportedModelError(
        f"{name}: expected attention rows that sum to 1, got a sum of {total:.3g}. Attention with "
        "a sink outside the sequence, or that is no distribution, is not supported"
    )


def check_sums(call: Call, weights: Tensor) -> None:
    """Reject weights (batch, head, query, key) whose rows do not sum to one; NaN passes."""
    sums = weights.detach().float().sum(dim=-1)
    error = (sums - 1).abs()
    if bool((error > (_ROUNDING_HALF if weights.element_size() < 4 else _ROUNDING_SINGLE)).any()):
        worst = sums.flatten()[error.nan_to_num().argmax()]
        raise not_normalized(call.name or "an attention", float(worst))


class _OtherShapeError(ValueError):
    """The shape of an array differs from those before it."""


class Block:
    """Arrays of one shape in contiguous memory, allocated for `expected` arrays.

    `expected` may be too large: the system provides memory only when it is written to.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._array: NDArray[np.float32] | None = None
        self._count = 0

    def buffer(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return the memory for the next array, which must have the shape of the first."""
        if self._array is None:
            self._array = np.empty((self._expected, *shape), dtype=np.float32)
        if shape != self._array.shape[1:]:
            raise _OtherShapeError(f"{shape} after {self._array.shape[1:]}")
        if self._count == len(self._array):
            grown = np.empty((2 * self._count, *shape), dtype=np.float32)
            grown[: self._count] = self._array
            self._array = grown
        return self._array[self._count]

    def add(self, layer: NDArray[np.float32]) -> None:
        """Append an array; it is copied unless a softmax wrote it to `buffer`."""
        import torch

        buffer = self.buffer(layer.shape)
        if layer.ctypes.data != buffer.ctypes.data:
            # torch copies with several threads.
            _ = torch.from_numpy(buffer).copy_(torch.from_numpy(layer))
        self._count += 1

    def stacked(self) -> NDArray[np.float32] | None:
        """Return the arrays as one, (number, …), read-only; None if there are none."""
        if self._array is None:
            return None
        full = self._count == len(self._array)
        array = self._array if full else self._array[: self._count].copy()
        array.setflags(write=False)
        return array


class Collector:
    """Stores the weights of the calls of one pass, for each example and without padding."""

    def __init__(self, inputs: Inputs, *, averaged: bool, expected: int) -> None:
        self.inputs = inputs
        self._averaged = averaged
        self._expected = expected
        self._blocks: dict[tuple[Role, int], Block] = {}
        self._first: dict[Role, str] = {}

    def receive(self, call: Call) -> None:
        """Store the weights of a call."""
        examples, _, _ = call.size
        self.inputs = self.inputs.with_batch_size(examples, call.name)
        role = call.role
        first = self._first.setdefault(role, call.name)
        try:
            weights = call.mean()[:, None] if self._averaged else call.weights(self._buffer(role))
            for example, own in enumerate(weights):
                sides = self._queries_and_keys(role, example)
                array = _without_padding(call.name or "an attention", own, *sides)
                self._block(role, example).add(array)
        except _OtherShapeError as reason:
            raise UnsupportedModelError(
                f"{call.name or 'an attention'}: expected weights (head, query, key) of the same "
                f"shape as {first or 'the first attention'}, got {reason}. Of a model with several "
                "parts, such as text and vision, pass one: attend(model.vision_model, …)"
            ) from reason

    def weights(self, role: Role, example: int) -> NDArray[np.float32] | None:
        """Return the weights (layer, head, query, key) of an example, None if there are none."""
        block = self._blocks.get((role, example))
        return None if block is None else block.stacked()

    def _block(self, role: Role, example: int) -> Block:
        return self._blocks.setdefault((role, example), Block(self._expected))

    def _buffer(self, role: Role) -> Buffer | None:
        """Return the buffer for a softmax to write to; only for one example without padding."""
        import torch

        sides = self._queries_and_keys(role, 0)
        if len(self.inputs.sources) > 1 or any(side.kept is not None for side in sides):
            return None
        return lambda shape: torch.from_numpy(self._block(role, 0).buffer(shape[1:]))[None]

    def _queries_and_keys(self, role: Role, example: int) -> tuple[Positions, Positions]:
        """Return the positions that are the queries and those that are the keys."""
        source = self.inputs.sources[example]
        if self.inputs.targets is None:  # a plain module, whose targets are unknown
            return (Positions() if role == "cross" else source), source
        target = self.inputs.targets[example]
        return (source if role == "self" else target), (target if role == "decoder" else source)


def _without_padding(
    name: str, weights: Tensor, queries: Positions, keys: Positions
) -> NDArray[Any]:
    """Return weights (head, query, key) on the CPU, without padding; rows sum to one."""
    import torch

    for kept, count, side in zip(
        (queries.kept, keys.kept), weights.shape[1:], ("queries", "keys"), strict=True
    ):
        if kept is not None and len(kept) != count:
            raise UnsupportedModelError(
                f"{name}: expected {len(kept)} {side}, as many as the attention mask has, got "
                f"{count}. The model adds or merges positions, so that padding cannot be located. "
                "Pass the inputs one by one, without padding"
            )
    # A mean over heads is float32, also of weights in half precision.
    rounded = len(weights) == 1 or weights.dtype not in (torch.float32, torch.float64)
    array = weights.detach().float().cpu().numpy()
    if queries.kept is not None:
        array = array[:, queries.kept]
    if rounded:
        array = _renormalized(name, array)
    return array if keys.kept is None else array[:, :, keys.kept]


def _renormalized(name: str, weights: NDArray[Any]) -> NDArray[Any]:
    """Return weights with rows that sum to one; errors larger than rounding are rejected."""
    sums = weights.sum(axis=-1, keepdims=True)
    error = np.abs(sums - 1)
    if (error > _ROUNDING_HALF).any():  # false for NaN, which `attend` reports
        raise not_normalized(name, sums.flat[np.nanargmax(error)])
    return weights / sums
