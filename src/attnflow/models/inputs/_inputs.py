"""The input of a forward pass, with what is known about its positions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import UnsupportedModelError
from attnflow.types import Span


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of one example's sequence."""

    tokens: tuple[str, ...] | None = None  # None if the input has no tokens
    spans: tuple[Span | None, ...] | None = None  # in `text`; None for special tokens
    text: str = ""
    kept: NDArray[np.bool] | None = None  # False for padding; None without padding
    generated: int = 0


@dataclass(frozen=True, slots=True)
class TokenizedText(Positions):
    """One text as a tokenizer encodes it; spans are None if they are unknown."""

    tokens: tuple[str, ...] = ()
    fields: dict[str, list[int]] = field(default_factory=dict)  # outputs, one number per token
    ended: bool = False  # whether the last token is a special token

    @property
    def ids(self) -> list[int]:
        """The token ids."""
        return self.fields["input_ids"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of one forward pass, a batch of one or more examples."""

    forward: dict[str, Any]  # keyword arguments; "" for a single positional argument
    sources: tuple[Positions, ...]
    targets: tuple[Positions, ...] | None  # None without a decoder
    single: bool  # whether one text was passed, not a list or tensors
    # Possible batch sizes of a plain module, whose batch axis is unknown before the pass. Until
    # then, `sources` and `targets` may be empty.
    batches: tuple[int, ...] = ()

    def with_batch_size(self, examples: int, name: str) -> Self:
        """Return the inputs for the batch size of the attention in the module `name`."""
        if examples in self.batches:
            unnamed = (Positions(),) * examples
            return replace(
                self,
                sources=self.sources or unnamed,
                targets=None if self.targets is None else self.targets or unnamed,
                batches=(),
            ).with_batch_size(examples, name)
        if examples != len(self.sources):
            raise UnsupportedModelError(
                f"{name or 'an attention'}: expected a batch of "
                f"{len(self.sources) or self.batches[1]}, got {examples}. Models that fold heads, "
                "windows or frames into the batch are not supported"
            )
        return self
