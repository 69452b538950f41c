"""Properties of a model, and contexts to run it: evaluation mode, one thread, uncompiled."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal.optional import require
from attnflow.errors import AttnflowError, InputError, UnsupportedModelError

if TYPE_CHECKING:
    from torch import nn


def unwrap_compiled(model: nn.Module) -> nn.Module:
    """Return the module that was passed to torch.compile, or the model itself.

    Raises MissingDependencyError if torch is not installed.
    """
    require("torch", need="models need", extra="models")
    return getattr(model, "_orig_mod", model)


def is_pretrained(model: nn.Module) -> bool:
    """Return whether this is a Hugging Face model, without an import of transformers."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def forward_parameters(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the model's forward method by name."""
    forward: Any = model.forward
    return _parameters(getattr(forward, "__func__", forward))


# Cached: reading a signature takes 0.1 ms, and a pass needs it several times.
@functools.lru_cache(maxsize=64)
def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def accepts(model: nn.Module, name: str) -> bool:
    """Return whether the model's forward method takes an argument with this name."""
    parameters = forward_parameters(model)
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def has_decoder(model: nn.Module) -> bool:
    """Return whether the model is an encoder-decoder."""
    return "decoder_input_ids" in forward_parameters(model)


def start_token(model: nn.Module) -> int:
    """Return the id of the decoder's start token."""
    for config in (getattr(model, "generation_config", None), getattr(model, "config", None)):
        for name in ("decoder_start_token_id", "bos_token_id"):
            value = getattr(config, name, None)
            if isinstance(value, int):
                return value
    raise InputError(
        f"the config of {type(model).__name__} has no decoder_start_token_id. Pass tensors with "
        "decoder_input_ids"
    )


def check_vocabulary(model: nn.Module, ids: Sequence[int]) -> None:
    """Reject token ids outside the model's embedding table."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)
    try:
        count = getattr(embedding(), "num_embeddings", None)
    except NotImplementedError:
        return
    if count is None:
        return
    unknown = [i for i in ids if not 0 <= i < count]
    if unknown:
        raise InputError(
            f"token ids: expected 0 to {count - 1} for {type(model).__name__}, got {unknown[0]}. "
            "Use the model's own tokenizer"
        )


def without_cache(model: nn.Module, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with use_cache=False, if the model has a cache."""
    if "use_cache" in forward_parameters(model):
        return {"use_cache": False, **fields}
    return fields


def device_of(model: nn.Module) -> Any:
    """Return the device of the model's first parameter, which is that of its input."""
    import torch

    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> Any:
    """Return the dtype of the model's first floating-point parameter."""
    import torch

    types = (parameter.dtype for parameter in model.parameters())
    return next((dtype for dtype in types if dtype.is_floating_point), torch.float32)


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


def configs_of(modules: Iterable[nn.Module]) -> list[Any]:
    """Return every config in which a module may look up its attention implementation."""
    found: dict[int, Any] = {}

    def add(config: object) -> None:
        if hasattr(config, "_attn_implementation_internal") and id(config) not in found:
            found[id(config)] = config
            for part in cast("Any", config).sub_configs:
                add(getattr(config, part, None))

    for module in modules:
        add(vars(module).get("config"))  # getattr takes ten times as long
    return list(found.values())


# A pass changes modules and configs and restores them, so threads run passes that share any of them
# one after the other: the thread that uses a module or a config, by its id.
_users: dict[int, int] = {}
_released = threading.Condition()


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Generator[None]:
    """Lock the model for this thread and set evaluation mode; restores the mode of each module.

    Locks its modules and configs, all at once, so that passes cannot wait for each other: models
    may share a config or submodules, and one may be a submodule of the other.
    """
    modules = list(model.modules())
    parts = {id(part) for part in (*modules, *configs_of(modules))}
    thread = threading.get_ident()
    with _released:
        _ = _released.wait_for(lambda: {_users.get(part, thread) for part in parts} <= {thread})
        parts.difference_update(_users)  # this thread already uses the others
        _users.update(dict.fromkeys(parts, thread))
    training = [module for module in modules if module.training]
    try:
        for module in training:
            module.training = False
        yield
    finally:
        for module in training:
            module.training = True
        with _released:
            for part in parts:
                del _users[part]
            _released.notify_all()


class SharedContext:
    """A context that changes the whole process: the first thread enters it, the last leaves it."""

    def __init__(self, enter: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
        self._enter, self._entered = enter, contextlib.ExitStack()
        self._lock, self._users = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                _ = self._entered.enter_context(self._enter())
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._entered.close()


@contextlib.contextmanager
def explain_failure(what: str, advice: str) -> Generator[None]:
    """Raise InputError for the errors that PyTorch and models raise for wrong input.

    Other errors, and those about memory, are raised unchanged.
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
            f"{advice} for the traceback"
        ) from reason


def force_eager() -> contextlib.AbstractContextManager[None]:
    """Return a context in which compiled code runs eagerly, since it calls no hooks."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and importing it takes seconds
        return contextlib.nullcontext()
    return _EAGER


def _eager_stance() -> contextlib.AbstractContextManager[object]:
    import torch

    return torch.compiler.set_stance("force_eager")


_EAGER = SharedContext(_eager_stance)
