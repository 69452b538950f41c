"""What a forward pass is called with, and what its positions are called."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from attnflow.errors import InputError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

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


# ---- what a model takes ----------------------------------------------------------------------


def arguments(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """What the model's forward pass takes, by name."""
    forward: Any = model.forward
    return _arguments(getattr(forward, "__func__", forward))


# Reading a signature takes a tenth of a millisecond, and a pass asks several times.
@functools.lru_cache(maxsize=64)
def _arguments(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def accepted(model: nn.Module, name: str) -> bool:
    """Whether the model's forward pass takes an argument of this name."""
    parameters = arguments(model)
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def has_decoder(model: nn.Module) -> bool:
    """Whether the model reads one sequence and writes another."""
    return "decoder_input_ids" in arguments(model)


def start_token(model: nn.Module) -> int:
    """The id that the decoder of an encoder-decoder begins with."""
    for holder in (getattr(model, "generation_config", None), getattr(model, "config", None)):
        for name in ("decoder_start_token_id", "bos_token_id"):
            value = getattr(holder, name, None)
            if isinstance(value, int):
                return value
    raise InputError(
        f"the configuration of {type(model).__name__} names no decoder_start_token_id; pass "
        "ready inputs with decoder_input_ids"
    )


def check_vocabulary(model: nn.Module, ids: Sequence[int]) -> None:
    """Refuse ids that the model has no embedding for: those of another model's tokenizer."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)
    try:
        count = getattr(embedding(), "num_embeddings", None)
    except NotImplementedError:  # some models do not say
        return
    if count is None:
        return
    unknown = [i for i in ids if not 0 <= i < count]
    if unknown:
        raise InputError(
            f"the id {unknown[0]} came, and {type(model).__name__} knows tokens 0 to {count - 1}; "
            "pass the model's own tokenizer"
        )


def without_cache(model: nn.Module, fields: dict[str, Any]) -> dict[str, Any]:
    """One pass needs no memory of it."""
    if "use_cache" in arguments(model):
        return {"use_cache": False, **fields}
    return fields


def device_of(model: nn.Module) -> Any:
    """The device of the model's first weights, which read the input."""
    import torch

    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def precision_of(model: nn.Module) -> Any:
    """The type of the model's first weights that are floats, which read the input."""
    import torch

    types = (parameter.dtype for parameter in model.parameters())
    return next((each for each in types if each.is_floating_point), torch.float32)


def not_finite(model: nn.Module) -> UnsupportedModelError:
    """What to say of a model whose attention is no number."""
    return UnsupportedModelError(
        f"{type(model).__name__} gave attention that is not a number; its weights or its input "
        "hold NaN or infinity, or overflow in half precision: try model.float()"
    )
