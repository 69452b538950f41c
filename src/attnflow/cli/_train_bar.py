"""Progress of training on stderr, with a bar on a terminal, and how to resume a stopped run."""

import shlex
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer

from attnflow._internal.display import format_number
from attnflow.cli._progress import on_terminal, rich_bar
from attnflow.paper import EpochLog, StepLog
from attnflow.paper.runs import CHECKPOINT

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


def resume_hint(model: str, options: Mapping[str, object], *folders: Path) -> str:
    """Return the command that resumes a run, if one of its folders has a checkpoint.

    An option without a value is None, a flag True or False.
    """
    saved = any((folder / CHECKPOINT).exists() for folder in folders)
    words = ["attnflow", "train", model]
    for option, value in options.items():
        if value is not None and value is not False:
            words += [option] if value is True else [option, str(value)]
    state = "the run is saved" if saved else "nothing is saved yet"
    return f"interrupted; {state}. To {'resume' if saved else 'start again'}: {shlex.join(words)}"


def _run(log: StepLog) -> str:
    return "teacher, " if log.teacher else ""
