"""What a model takes, and how it is run: in evaluation mode, by one thread, as it was written."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnflow._internal.optional import require
from attnflow.errors import AttnflowError, InputError, UnsupportedModelError

if TYPE_CHECKING:
    from torch import nn


def unwrap_compiled(model: nn.Module) -> nn.Module:
    """Return the module that torch.compile was given, or the model itself.

    Raises MissingDependencyError where torch is not installed.
    """
    require("torch", need="models need", extra="models")
    return getattr(model, "_orig_mod", model)


def is_pretrained(model: nn.Module) -> bool:
    """Whether this is a Hugging Face model; transformers is loaded only if it made the model."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def forward_parameters(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """What the model's forward pass takes, by name."""
    forward: Any = model.forward
    return _arguments(getattr(forward, "__func__", forward))


# Reading a signature takes a tenth of a millisecond, and a pass asks several times.
@functools.lru_cache(maxsize=64)
def _arguments(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def accepts(model: nn.Module, name: str) -> bool:
    """Whether the model's forward pass takes an argument of this name."""
    parameters = forward_parameters(model)
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def has_decoder(model: nn.Module) -> bool:
    """Whether the model reads one sequence and writes another."""
    return "decoder_input_ids" in forward_parameters(model)


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
    if "use_cache" in forward_parameters(model):
        return {"use_cache": False, **fields}
    return fields


def device_of(model: nn.Module) -> Any:
    """The device of the model's first weights, which read the input."""
    import torch

    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> Any:
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


# What a pass sets in a model it puts back, so passes of one model in several threads take turns.
_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Generator[None]:
    """The model for this thread alone, in evaluation mode; then the mode of each module again."""
    with _locks_lock:
        lock = _locks.setdefault(model, threading.RLock())
    with lock:
        training = [module for module in model.modules() if module.training]
        try:
            for module in training:
                module.training = False
            yield
        finally:
            for module in training:
                module.training = True


@contextlib.contextmanager
def explain_failure(what: str, advice: str) -> Generator[None]:
    """Say what did not work where PyTorch or a model refuses what came.

    Errors of other types are a model's own, and what there is no memory for is no wrong input.
    """
    try:
        yield
    except AttnflowError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as reason:
        if "memory" in str(reason):
            raise
        raise InputError(
            f"{what}: {type(reason).__name__}: {' '.join(str(reason).split()).rstrip('.')}; "
            f"{advice} to see where"
        ) from reason


def force_eager() -> contextlib.AbstractContextManager[Any]:
    """What `torch.compile` made is run as it was written: compiled code calls no ear."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and loading it takes seconds
        return contextlib.nullcontext()
    import torch

    return torch.compiler.set_stance("force_eager")
