"""Encoded prefixes as padded tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from torch import Tensor

Example: TypeAlias = tuple[list[int], int]  # token ids, number

_PAD = 0  # the vocabulary begins with it
_SORTED_TOGETHER = 64  # batches; enough that rows of a batch are of nearly one length


def padded(rows: Sequence[list[int]]) -> tuple[Tensor, Tensor | None]:
    """Token ids (row, token), and their attention mask; None where nothing is padding."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([row + [_PAD] * (width - len(row)) for row in rows])
    if all(len(row) == width for row in rows):
        return ids, None
    return ids, (ids != _PAD).long()


def batches(
    examples: Sequence[Example], size: int, rng: random.Random
) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
    """Ids, mask and numbers of `size` examples of alike length at a time, in random order."""
    import torch

    groups: list[list[Example]] = []
    reach = size * _SORTED_TOGETHER
    for start in range(0, len(examples), reach):
        near = sorted(examples[start : start + reach], key=lambda example: len(example[0]))
        groups += [near[i : i + size] for i in range(0, len(near), size)]
    rng.shuffle(groups)
    for group in groups:
        yield (*padded([ids for ids, _ in group]), torch.tensor([number for _, number in group]))
