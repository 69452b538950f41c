"""A progress bar on stderr for work that takes more than a second."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer


@contextmanager
def progress_bar(
    label: str, *, after: float = 1.0
) -> Generator[Callable[[int, int], None] | None, None, None]:
    """Give the callback `progress(done, total)` of a bar that appears `after` seconds of work.

    Where stderr is not a terminal there is nobody to watch: the callback is None and nothing is
    written.
    """
    if not sys.stderr.isatty():
        yield None
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=None)
    # A timer and not the callback starts the bar: compiling the kernels may take the first
    # seconds, and nothing is reported meanwhile.
    timer = Timer(after, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
