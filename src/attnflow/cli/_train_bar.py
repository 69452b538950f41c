"""Progress of training on stderr: a line for each epoch and, on a terminal, a progress bar."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from attnflow._internal.display import format_number
from attnflow.cli._progress import on_terminal, rich_bar
from attnflow.paper import EpochLog, StepLog

_STARTING = "reading sentences"


@dataclass(frozen=True, slots=True)
class TrainBar:
    """The callbacks for each step and each epoch."""

    step: Callable[[StepLog], None]
    epoch: Callable[[EpochLog], None]


@contextmanager
def train_bar() -> Generator[TrainBar]:
    """Yield the callbacks of a run."""
    lines = _Lines()
    if not on_terminal():

        def line(text: str) -> None:
            typer.echo(text, err=True)

        yield TrainBar(
            lambda step: lines.resumed(step, line), lambda epoch: line(lines.epoch(epoch))
        )
        return

    bar = rich_bar(width=20)
    task = bar.add_task(_STARTING, total=None)

    def above(text: str) -> None:
        bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def step(log: StepLog) -> None:
        lines.resumed(log, above)
        bar.update(task, description=_step_line(log), completed=log.step, total=log.steps)

    with bar:
        yield TrainBar(step, lambda epoch: above(lines.epoch(epoch)))


@dataclass(slots=True)
class _Lines:
    """The lines about epochs; the last step says which run and how many epochs there are."""

    last: StepLog | None = None

    def resumed(self, log: StepLog, line: Callable[[str], None]) -> None:
        """Write a line at the first step of a resumed run."""
        first = self.last is None or self.last.teacher is not log.teacher
        if first and log.epoch > 1:
            line(f"{_run(log)}resuming after epoch {log.epoch - 1} of {log.epochs}")
        self.last = log

    def epoch(self, log: EpochLog) -> str:
        attractors = ""
        if log.attractor_accuracy is not None:
            attractors = (
                f" ({format_number(log.attractor_accuracy, 4)} on sentences with attractors)"
            )
        run, epochs = (
            ("", "") if self.last is None else (_run(self.last), f" of {self.last.epochs}")
        )
        return (
            f"{run}epoch {log.epoch}{epochs}: loss {format_number(log.loss, 4)}, "
            f"validation accuracy {format_number(log.validation_accuracy, 4)}{attractors}, "
            f"{log.seconds:.0f} s"
        )


def _run(log: StepLog) -> str:
    return "teacher, " if log.teacher else ""


def _step_line(log: StepLog) -> str:
    return (
        f"{_run(log)}epoch {log.epoch} of {log.epochs}: loss {format_number(log.loss)}, "
        f"accuracy {format_number(log.accuracy)}"
    )
