"""Ctrl-C ends the program with one line and exit code 130, also where a library swallows it.

This module imports little, so that the handler is installed before NumPy and typer are imported.
"""

import _thread
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Timer
from types import FrameType
from typing import Any

_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_AGAIN = 0.1  # seconds; chosen: callbacks of Numba and of imports are shorter

_pressed = False


class InterruptedExit(SystemExit):
    """The exit after Ctrl-C, with its line printed."""


def handle_ctrl_c() -> None:
    """Remember Ctrl-C, and raise KeyboardInterrupt; in the background it may be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _ = signal.signal(signal.SIGINT, _on_ctrl_c)
        sys.unraisablehook = _on_unraisable


def ignore_ctrl_c() -> None:
    """Ignore Ctrl-C while the interpreter shuts down, which would print a traceback."""
    _ = signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def exit_if_interrupted() -> Generator[None]:
    """Print one line and exit with code 130 if Ctrl-C was pressed, whatever was raised then.

    Numba turns a KeyboardInterrupt into other errors, and typer into an exit without a line.
    """
    error: BaseException | None = None
    try:
        yield
    except InterruptedExit:
        raise
    except BaseException as raised:
        ended = isinstance(raised, SystemExit) and raised.code == _INTERRUPTED
        if not (_pressed or ended or isinstance(raised, KeyboardInterrupt)):
            raise
        error = raised
    if error is not None or _pressed:
        line = str(error) if isinstance(error, KeyboardInterrupt) else ""
        with suppress(Exception):  # stderr may be closed
            _ = sys.stderr.write(f"{line or 'interrupted'}\n")
        raise InterruptedExit(_INTERRUPTED) from error


def exit_now() -> None:
    """End the process: modules imported by half may crash, and threads run on, at a normal exit."""
    ignore_ctrl_c()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            _ = stream.flush()
    os._exit(_INTERRUPTED)


def _on_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    global _pressed  # noqa: PLW0603 - a signal handler has no other place
    _pressed = True
    raise KeyboardInterrupt


def _on_unraisable(unraisable: Any) -> None:
    """Raise a KeyboardInterrupt again that Python ignores in a callback; print other errors."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    timer = Timer(_AGAIN, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
