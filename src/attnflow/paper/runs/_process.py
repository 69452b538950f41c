"""What a run changes in its process: how Ctrl-C stops it, and the threads of torch."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from attnflow._internal import checks


class TrainingInterruptedError(KeyboardInterrupt):
    """Ctrl-C between two steps, when the state of a run is complete."""


@contextmanager
def deferred_interrupt() -> Generator[Callable[[], bool]]:
    """Defer the first Ctrl-C; yield a function that returns whether it was pressed.

    A second Ctrl-C interrupts at once. Only the main thread receives Ctrl-C, so other threads defer
    nothing, and neither do programs that ignore it, such as background scripts.
    """
    pressed = False

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: pressed
    finally:
        _ = signal.signal(signal.SIGINT, previous)


@contextmanager
def torch_threads(count: int | None) -> Generator[int]:
    """Set the number of torch's threads, yield it, and restore the previous number."""
    import torch

    previous = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(checks.as_int(count, "threads", least=1, most=checks.MAX_THREADS))
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(previous)
