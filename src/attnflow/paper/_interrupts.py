"""Ctrl-C that waits for a good moment."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Generator[Callable[[], bool]]:
    """Hold back the first Ctrl-C, and give a function that tells whether it came.

    A second one interrupts at once. Nothing is held back in threads but the main one, which alone
    hears of Ctrl-C, and in programs that ignore it, as scripts in the background do.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            signal.default_int_handler(number, frame)
        came = True

    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        _ = signal.signal(signal.SIGINT, before)
