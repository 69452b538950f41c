"""Engines: where the parts of a run are measured. This one is the process itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from attnflow._internal.checks import Progress
from attnflow.evaluate.corpus._data import Part
from attnflow.evaluate.corpus._worker import PartValues, Worker, WorkerFacts

Result: TypeAlias = tuple[Part, PartValues]


class Engine(Protocol):
    """What measures parts."""

    def start(self) -> WorkerFacts:
        """Load the model and return what results depend on."""
        ...

    def results(self, parts: Iterator[Part], progress: Progress) -> Iterator[Result]:
        """Yield the values of all parts, in any order.

        `progress` is called with the texts done and in total of a part that is being measured.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Measures parts in this process, one after the other."""

    worker: Worker

    def start(self) -> WorkerFacts:
        """Load the model and return what results depend on."""
        return self.worker.start()

    def results(self, parts: Iterator[Part], progress: Progress) -> Iterator[Result]:
        """Yield the values of all parts, in their order."""
        for part in parts:
            yield part, self.worker.measure(part.texts, progress)
