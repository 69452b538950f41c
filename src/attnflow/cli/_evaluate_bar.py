"""Progress of an evaluation on stderr: texts per second, time left and failures."""

import datetime as dt
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from attnflow._internal.display import count_texts
from attnflow.cli._progress import on_terminal, rich_bar
from attnflow.evaluate import RunProgress

_STARTING = "reading the texts, loading the model"


@dataclass(slots=True)
class Speed:
    """How fast texts are measured, from the first report on."""

    start: float | None = None  # seconds of a clock

    def line(self, progress: RunProgress, now: float) -> str:
        """Return the state of the run on one line.

        >>> speed = Speed()
        >>> speed.line(RunProgress(100, 400, 0, 0), now=10.0)
        '100 of 400 texts'
        >>> speed.line(RunProgress(0, 1, 0, 0), now=10.0)
        '0 of 1 text'
        >>> speed.line(RunProgress(200, 400, 100, 2), now=12.0)
        '200 of 400 texts, 50.0 texts/s, 0:00:04 left, 2 failed'
        """
        if self.start is None:
            self.start = now
        parts = [f"{progress.texts:,} of {count_texts(progress.total)}"]
        if progress.measured and now > self.start:
            rate = progress.measured / (now - self.start)
            left = dt.timedelta(seconds=round((progress.total - progress.texts) / rate))
            parts += [f"{rate:,.1f} texts/s", f"{left} left"]
        if progress.failed:
            parts.append(f"{progress.failed:,} failed")
        return ", ".join(parts)


@contextmanager
def evaluate_bar(*, every: float = 60.0) -> Generator[Callable[[RunProgress], None]]:
    """Yield the callback of a run: a bar on a terminal, else a line every so many seconds.

    Chosen: a run takes from minutes to days, and its log should stay readable.
    """
    speed = Speed()
    if on_terminal():
        bar = rich_bar(width=20)
        task = bar.add_task(_STARTING, total=None)

        def update(progress: RunProgress) -> None:
            line = speed.line(progress, time.monotonic())
            bar.update(task, description=line, completed=progress.texts, total=progress.total)

        with bar:
            yield update
        return

    written: float | None = None

    def write(progress: RunProgress) -> None:
        nonlocal written
        now = time.monotonic()
        line = speed.line(progress, now)
        if written is None:
            written = now
            if progress.texts:
                typer.echo(f"resuming: {line} are done", err=True)
        elif now - written >= every:
            written = now
            typer.echo(line, err=True)

    yield write
