"""What a forward pass is called with, and what its positions are called."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import UnsupportedModelError
from attnflow.types import Span


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of one example's sequence."""

    tokens: tuple[str, ...] | None = None  # None where the model's input has no tokens
    spans: tuple[Span | None, ...] | None = None  # over `text`
    text: str = ""
    kept: NDArray[np.bool] | None = None  # which are not padding; None for all
    generated: int = 0


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything for one forward pass over one or more examples."""

    forward: dict[str, Any]  # what the model is called with; "" for a single unnamed argument
    sources: tuple[Positions, ...]
    targets: tuple[Positions, ...] | None  # of a model with a decoder of its own
    single: bool  # whether one example was passed, not a list of them
    # How many examples there may be, where only the pass tells: of a plain module nobody knows
    # which axis of its input is the batch. `sources` and `targets` may be empty before.
    batches: tuple[int, ...] = ()

    def of(self, examples: int, name: str) -> Self:
        """The same for the number of examples that the module `name` attended in."""
        if examples in self.batches:
            nothing = (Positions(),) * examples
            return replace(
                self,
                sources=self.sources or nothing,
                targets=None if self.targets is None else self.targets or nothing,
                single=examples == 1,
                batches=(),
            ).of(examples, name)
        if examples != len(self.sources):
            raise UnsupportedModelError(
                f"{name or 'an attention'} ran on {examples} sequences, and "
                f"{len(self.sources) or self.batches[1]} came; models that fold heads, windows or "
                "frames into the batch have no attention between all positions"
            )
        return self
