"""How many threads of torch an evaluation uses."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

from attnflow.models.inputs import weight_count

if TYPE_CHECKING:
    from torch import nn

# Weights of a model that one thread runs as fast as several, beside a thread for flow. Chosen: with
# two million weights a second thread is no gain, and a large loss on a busy machine.
_SMALL_MODEL = 10_000_000


def thread_count(model: nn.Module, threads: int | None) -> int:
    """Return the number of threads of torch: `threads`, by default one for a small model."""
    import torch

    if threads is not None:
        return threads
    return 1 if is_small(model) else torch.get_num_threads()


class _OneThread:
    """One thread of torch in the process while anyone needs that; the number is restored."""

    def __init__(self) -> None:
        self._lock, self._users, self._previous = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        import torch

        with self._lock:
            if not self._users:
                self._previous = torch.get_num_threads()
            self._users += 1
            torch.set_num_threads(1)  # also in this thread: OpenMP has a number for each

    def __exit__(self, *_: object) -> None:
        import torch

        with self._lock:
            self._users -= 1
            torch.set_num_threads(1 if self._users else self._previous)


_ONE_THREAD = _OneThread()


@contextlib.contextmanager
def one_thread_if_small(model: nn.Module) -> Generator[None]:
    """Run a small model in one thread: others wait for it busily, which a busy machine slows."""
    with _ONE_THREAD if is_small(model) else contextlib.nullcontext():
        yield


def is_small(model: nn.Module) -> bool:
    """Whether a model has fewer than ten million weights."""
    return weight_count(model) < _SMALL_MODEL
