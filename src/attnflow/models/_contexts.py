"""Contexts to run a model in: what a pass changes is locked, and restored after it."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import AttnflowError, InputError

if TYPE_CHECKING:
    from torch import nn


def configs_of(modules: Iterable[nn.Module]) -> list[Any]:
    """Return every config in which a module may look up its attention implementation."""
    found: dict[int, Any] = {}

    def add(config: object) -> None:
        if hasattr(config, "_attn_implementation_internal") and id(config) not in found:
            found[id(config)] = config
            for part in cast("Any", config).sub_configs:
                add(getattr(config, part, None))

    for module in modules:
        if "config" in vars(module):  # getattr takes ten times as long
            add(module.config)
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
