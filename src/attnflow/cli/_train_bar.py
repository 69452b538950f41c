"""What stderr shows while a model is trained: a bar of the epoch under way, a line for each done.

Where stderr is not a terminal there are the lines alone.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from attnflow.paper import Epoch, Step

_STARTING = "reading sentences"


@dataclass(frozen=True, slots=True)
class TrainBar:
    """What to call after each step and each epoch."""

    step: Callable[[Step], None]
    epoch: Callable[[Epoch], None]


@contextmanager
def train_bar(epochs: int) -> Generator[TrainBar]:
    """Give the callbacks of a run of so many epochs."""
    began = _Began(epochs)
    # Python has no stderr where the shell closed it.
    if sys.stderr is None or not sys.stderr.isatty():

        def line(text: str) -> None:
            typer.echo(text, err=True)

        yield TrainBar(
            lambda step: began.tell(step, line), lambda epoch: line(_epoch_line(epoch, epochs))
        )
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(_STARTING, total=None)

    def above(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def step(told: Step) -> None:
        began.tell(told, above)
        bar.update(task, description=_step_line(told), completed=told.done, total=told.total)

    with bar:
        yield TrainBar(step, lambda epoch: above(_epoch_line(epoch, epochs)))


@dataclass(slots=True)
class _Began:
    """Says once, at the first step, where a run goes on that was begun before."""

    epochs: int
    said: bool = False

    def tell(self, step: Step, line: Callable[[str], None]) -> None:
        if not self.said and step.epoch > 1:
            line(f"going on after epoch {step.epoch - 1} of {self.epochs}")
        self.said = True


def _step_line(step: Step) -> str:
    return (
        f"epoch {step.epoch} of {step.epochs}: loss {step.loss:.3f}, accuracy {step.accuracy:.3f}"
    )


def _epoch_line(epoch: Epoch, epochs: int) -> str:
    attractors = (
        ""
        if epoch.attractors is None
        else f" ({epoch.attractors:.4f} on sentences with attractors)"
    )
    return (
        f"epoch {epoch.number} of {epochs}: loss {epoch.loss:.4f}, validation accuracy "
        f"{epoch.validation:.4f}{attractors}, {epoch.seconds:.0f} s"
    )
