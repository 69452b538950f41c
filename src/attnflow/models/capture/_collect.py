"""What `attend` hears, kept in one block of memory for each attention of an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import UnsupportedModelError
from attnflow.models.capture._call import Buffer, Call, Role
from attnflow.models.inputs import Inputs, Positions

if TYPE_CHECKING:
    from torch import Tensor

# How far rows of half precision may be from one: twice the 2⁻⁸ by which rounding puts them off.
_ROUNDING_HALF = 2**-7


class _OtherShapeError(ValueError):
    """An array for a block came in another shape than those before it."""


class Block:
    """Arrays of one shape, one after the other, in memory that is taken once.

    Memory that is asked for and not written to costs nothing, so `expected` may be too many.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._array: NDArray[np.float32] | None = None
        self._count = 0

    def buffer(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Where the next array belongs; a shape unlike the first one's is refused."""
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
        """Keep one more array, by a copy unless a softmax wrote it to its room."""
        import torch

        buffer = self.buffer(layer.shape)
        if layer.ctypes.data != buffer.ctypes.data:
            # By torch, which copies with as many threads as the model computes with.
            _ = torch.from_numpy(buffer).copy_(torch.from_numpy(layer))
        self._count += 1

    def taken(self) -> NDArray[np.float32] | None:
        """All of them (number, …), read-only; None where there are none."""
        if self._array is None:
            return None
        whole = self._count == len(self._array)
        array = self._array if whole else self._array[: self._count].copy()
        array.setflags(write=False)
        return array


class Collector:
    """Hears the calls of one pass and keeps their weights for each example, padding cut away."""

    def __init__(self, inputs: Inputs, *, averaged: bool, expected: int) -> None:
        self.inputs = inputs
        self._averaged = averaged
        self._expected = expected
        self._blocks: dict[tuple[Role, int], Block] = {}
        self._first: dict[Role, str] = {}

    def receive(self, call: Call) -> None:
        """Keep the weights of one attention."""
        examples, queries, keys = call.size
        self.inputs = self.inputs.of(examples, call.name)
        role = call.role
        if role != "cross" and queries != keys:
            raise UnsupportedModelError(
                f"{call.name or 'an attention'} has {queries} queries and {keys} keys; attention "
                "of a sequence to itself is wanted, without a cache of earlier positions"
            )
        first = self._first.setdefault(role, call.name)
        try:
            weights = call.mean()[:, None] if self._averaged else call.weights(self._buffer(role))
            for example, each in enumerate(weights):
                array = _cut(call.name or "an attention", each, *self._ends(role, example))
                self._block(role, example).add(array)
        except _OtherShapeError as reason:
            raise UnsupportedModelError(
                f"{call.name or 'an attention'} has weights of another shape than "
                f"{first or 'the first'}: {reason} (head, query, key). Models of several "
                "parts, such as one for text and one for images, are passed part by part: "
                "attend(model.vision_model, …)"
            ) from reason

    def weights(self, role: Role, example: int) -> NDArray[np.float32] | None:
        """Weights (layer, head, query, key) of an example, None where none were heard."""
        block = self._blocks.get((role, example))
        return None if block is None else block.taken()

    def _block(self, role: Role, example: int) -> Block:
        return self._blocks.setdefault((role, example), Block(self._expected))

    def _buffer(self, role: Role) -> Buffer | None:
        """Where a call may write its weights itself: those of one example that are all kept."""
        import torch

        if len(self.inputs.sources) > 1 or any(end.kept is not None for end in self._ends(role, 0)):
            return None
        return lambda shape: torch.from_numpy(self._block(role, 0).buffer(shape[1:]))[None]

    def _ends(self, role: Role, example: int) -> tuple[Positions, Positions]:
        """Whose queries attend to whose keys."""
        source = self.inputs.sources[example]
        if self.inputs.targets is None:  # of the targets of a plain module nothing is known
            return (Positions() if role == "cross" else source), source
        target = self.inputs.targets[example]
        return (source if role == "self" else target), (target if role == "decoder" else source)


def _cut(name: str, weights: Tensor, queries: Positions, keys: Positions) -> NDArray[Any]:
    """Weights (head, query, key) on the host, without padding, with rows that sum to one."""
    import torch

    for kept, count, of in zip(
        (queries.kept, keys.kept), weights.shape[1:], ("queries", "keys"), strict=True
    ):
        if kept is not None and len(kept) != count:
            raise UnsupportedModelError(
                f"{name} has {count} {of}, and the mask of padding {len(kept)} positions: the "
                "model adds or joins positions, and which of them are padding is not known. Pass "
                "the inputs one by one, without padding"
            )
    # A mean over heads is wide, whatever it is the mean of.
    rounded = len(weights) == 1 or weights.dtype not in (torch.float32, torch.float64)
    array = weights.float().cpu().numpy()
    if queries.kept is not None:
        array = array[:, queries.kept]
    if rounded:
        array = _whole(name, array)
    return array if keys.kept is None else array[:, :, keys.kept]


def _whole(name: str, weights: NDArray[Any]) -> NDArray[Any]:
    """Weights of half precision with rows that sum to one, where only rounding put them off."""
    sums = weights.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1)
    # What is no number is told of the model as a whole, later.
    if (off > _ROUNDING_HALF).any():
        worst = sums.flat[np.nanargmax(off)]
        raise UnsupportedModelError(
            f"{name} has rows that sum to {worst:.3g}: this attention gives a share to a sink "
            "outside the sequence, or is no distribution; what each position takes from where is "
            "not known"
        )
    return weights / sums
