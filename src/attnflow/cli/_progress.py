"""Progress on stderr: a bar on a terminal, else a line."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import typer

from attnflow import maxflow
from attnflow._internal import checks

_LINE_EVERY = 10.0  # seconds


@contextmanager
def progress_bar(
    label: str,
    *,
    starting: str | None = None,
    starting_line: str | None = None,
    bar_after: float = 1.0,
    line_after: float = 3.0,
) -> Generator[checks.Progress]:
    """Yield the callback `progress(done, total)` of a bar that appears after `bar_after` seconds.

    Until the first report it shows `starting` instead of the label: by default what flows may wait
    for. If stderr is not a terminal, one line with `starting_line`, by default the same, is written
    if nothing is reported for `line_after` seconds, and the progress of longer work every ten
    seconds. Chosen: loading compiled code takes one second, which is not worth a line in a log.
    """
    if starting is None:
        starting = "starting" if maxflow.is_compiled_on_disk() else maxflow.COMPILING
    if not on_terminal():
        line = f"{label}: {starting_line or starting}"
        with _later(line_after, lambda: typer.echo(line, err=True)) as timer:
            yield _lines(label, timer)
        return

    bar = rich_bar(width=30)
    task = bar.add_task(starting, total=None)
    try:
        # A timer starts the bar, since nothing is reported while code compiles.
        with _later(bar_after, bar.start):
            yield lambda done, total: bar.update(
                task, description=label, completed=done, total=total
            )
    finally:
        if bar.live.is_started:
            bar.stop()


def _lines(label: str, timer: Timer) -> checks.Progress:
    """Return the callback that stops the timer and writes lines."""
    due = time.monotonic() + _LINE_EVERY

    def report(done: int, total: int) -> None:
        nonlocal due
        timer.cancel()
        if time.monotonic() >= due and 0 < done < total:
            due = time.monotonic() + _LINE_EVERY
            typer.echo(f"{label}: {done:,} of {total:,}", err=True)

    return report


def on_terminal() -> bool:
    """Return whether stderr is a terminal; it is None if the shell closed it."""
    return sys.stderr is not None and sys.stderr.isatty()


def rich_bar(*, width: int) -> Any:
    """Return a bar on stderr with label, share and time, which is removed at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    label, bar = TextColumn("{task.description}"), BarColumn(bar_width=width)
    parts = (label, bar, TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*parts, console=Console(stderr=True), transient=True)


@contextmanager
def _later(seconds: float, action: Callable[[], None]) -> Generator[Timer]:
    """Call a function after some seconds, unless the context ends or the timer is cancelled."""
    timer = Timer(seconds, action)
    timer.daemon = True
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()
        timer.join()
