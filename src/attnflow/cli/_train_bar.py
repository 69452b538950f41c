"""Progress of training on stderr: a line for each epoch and, on a terminal, a progress bar."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from attnflow.cli._progress import on_terminal, rich_bar
from attnflow.paper import EpochLog, StepLog

_STARTING = "reading sentences"


@dataclass(frozen=True, slots=True)
class TrainBar:
    """The callbacks for each step and each epoch."""

    step: Callable[[StepLog], None]
    epoch: Callable[[EpochLog], None]


@contextmanager
def train_bar(epochs: int) -> Generator[TrainBar]:
    """Yield the callbacks of a run with this number of epochs."""
    resumed = _Resumed(epochs)
    if not on_terminal():

        def line(text: str) -> None:
            typer.echo(text, err=True)

        yield TrainBar(
            lambda step: resumed.report(step, line), lambda epoch: line(_epoch_line(epoch, epochs))
        )
        return

    bar = rich_bar(width=20)
    task = bar.add_task(_STARTING, total=None)

    def above(text: str) -> None:
        bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def step(log: StepLog) -> None:
        resumed.report(log, above)
        accuracy = f"loss {log.loss:.3f}, accuracy {log.accuracy:.3f}"
        label = f"epoch {log.epoch} of {log.epochs}: {accuracy}"
        bar.update(task, description=label, completed=log.step, total=log.steps)

    with bar:
        yield TrainBar(step, lambda epoch: above(_epoch_line(epoch, epochs)))


@dataclass(slots=True)
class _Resumed:
    """Writes a line at the first step of a resumed run."""

    epochs: int
    reported: bool = False

    def report(self, log: StepLog, line: Callable[[str], None]) -> None:
        if not self.reported and log.epoch > 1:
            line(f"resuming after epoch {log.epoch - 1} of {self.epochs}")
        self.reported = True


def _epoch_line(log: EpochLog, epochs: int) -> str:
    attractors = ""
    if log.attractor_accuracy is not None:
        attractors = f" ({log.attractor_accuracy:.4f} on sentences with attractors)"
    return (
        f"epoch {log.epoch} of {epochs}: loss {log.loss:.4f}, validation accuracy "
        f"{log.validation_accuracy:.4f}{attractors}, {log.seconds:.0f} s"
    )
