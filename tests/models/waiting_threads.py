"""Threads that run passes of models which they share."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from torch import nn

from attnflow.models import _model
from waiting import until


class SharedPasses:
    """Passes of `count` threads over models that share modules or configs.

    A pass waits half-way until each of the other threads is in a pass too, has been in one, or is
    kept waiting by the lock. So all passes are under way at a time if they may be, however fast
    the machine is; `most` is the largest number that were.
    """

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        locked: set[int] = set()
        begun: set[int] = set()
        inside: set[int] = set()
        self._count, self.most = count, 0

        class Released(threading.Condition):
            """The lock's own condition, which notes the threads that wait for it."""

            def wait(self, timeout: float | None = None) -> bool:
                locked.add(threading.get_ident())
                try:
                    return super().wait(timeout)
                finally:
                    locked.discard(threading.get_ident())

        def wait(*_: Any) -> None:
            begun.add(threading.get_ident())
            inside.add(threading.get_ident())
            self.most = max(self.most, len(inside))
            until(lambda: len(locked | begun) == count, what="the other threads")

        def leave(*_: Any) -> None:
            inside.discard(threading.get_ident())

        monkeypatch.setattr(_model, "_released", Released())
        self._wait, self._leave = wait, leave

    def wait_in(self, modules: Iterable[nn.Module]) -> None:
        """Have passes wait where they reach one of these modules."""
        for module in modules:
            _ = module.register_forward_pre_hook(self._wait)
            _ = module.register_forward_hook(self._leave)

    def run(self, call: Callable[[int], Any]) -> list[Any]:
        """Return call(0), call(1), …, each from a thread of its own."""
        with ThreadPoolExecutor(self._count) as threads:
            return list(threads.map(call, range(self._count)))
