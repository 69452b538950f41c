"""Progress of training on stderr: a line for each epoch and, on a terminal, a progress bar."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import typer

from attnflow._internal.display import format_number
from attnflow.cli._progress import on_terminal, rich_bar
from attnflow.paper import EpochLog, StepLog

_STARTING = "reading sentences"


@dataclass(slots=True)
class TrainBar:
    """The callbacks for each step and each epoch, which write lines and update the bar."""

    line: Callable[[str], None]
    update: Callable[[StepLog], None]
    last: StepLog | None = None  # says which run it is, and how many epochs there are

    def step(self, log: StepLog) -> None:
        """Update the bar; write a line at the first step of a resumed run."""
        first = self.last is None or self.last.teacher is not log.teacher
        if first and log.epoch > 1:
            self.line(f"{_run(log)}resuming after epoch {log.epoch - 1} of {log.epochs}")
        self.last = log
        self.update(log)

    def epoch(self, log: EpochLog) -> None:
        """Write a line."""
        attractors = ""
        if log.attractor_accuracy is not None:
            attractors = (
                f" ({format_number(log.attractor_accuracy, 4)} on sentences with attractors)"
            )
        run, epochs = (
            ("", "") if self.last is None else (_run(self.last), f" of {self.last.epochs}")
        )
        self.line(
            f"{run}epoch {log.epoch}{epochs}: loss {format_number(log.loss, 4)}, "
            f"validation accuracy {format_number(log.validation_accuracy, 4)}{attractors}, "
            f"{log.seconds:.0f} s"
        )


@contextmanager
def train_bar() -> Generator[TrainBar]:
    """Yield the callbacks of a run."""
    if not on_terminal():
        yield TrainBar(lambda text: typer.echo(text, err=True), lambda _: None)
        return

    bar = rich_bar(width=20)
    task = bar.add_task(_STARTING, total=None)

    def update(log: StepLog) -> None:
        numbers = f"loss {format_number(log.loss)}, accuracy {format_number(log.accuracy)}"
        label = f"{_run(log)}epoch {log.epoch} of {log.epochs}: {numbers}"
        bar.update(task, description=label, completed=log.step, total=log.steps)

    with bar:
        print_line = partial(bar.console.print, markup=False, highlight=False, soft_wrap=True)
        yield TrainBar(print_line, update)


def _run(log: StepLog) -> str:
    return "teacher, " if log.teacher else ""
