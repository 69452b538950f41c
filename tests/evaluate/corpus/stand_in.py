"""A worker without a model: values that depend on the text alone, in a moment."""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from attnflow.errors import InputError
from attnflow.evaluate import Cell, EvaluationPlan, LabelledText, RunProgress, RunResult
from attnflow.evaluate.corpus import _run
from attnflow.evaluate.corpus._data import open_corpus
from attnflow.evaluate.corpus._engine import LocalEngine
from attnflow.evaluate.corpus._run import run_corpus
from attnflow.evaluate.corpus._worker import PartValues, WorkerFacts

CELLS = tuple(
    Cell("attention", method, layer, "input_gradient", "spearman")
    for method in ("raw", "flow")
    for layer in (1, 2)
)
FAILS, UNDEFINED = "fails", "undefined"  # words that make a text fail, or have no value
PART_SIZE = 4


@dataclass
class StandIn:
    """A worker; with a folder, it leaves the id of its process there, and waits for the file go."""

    digest: str = "0" * 64
    folder: Path | None = None
    labels: tuple[str, ...] | None = None
    threads: int | None = None
    device: str = "cpu"
    calls: int = 0

    def start(self) -> WorkerFacts:
        return WorkerFacts(self.digest, {"attnflow": "0.0.0"}, 1, self.device, self.labels, None)

    def measure(self, texts: Sequence[LabelledText], _progress: Any = None) -> PartValues:
        self.calls += 1
        if self.folder is not None and not _is_trial(texts):
            (self.folder / str(os.getpid())).touch()
            while not (self.folder / "go").exists():
                time.sleep(0.01)
        values = np.array([self._values(text) for text in texts])
        return PartValues(
            CELLS,
            values,
            tuple("it fails" if FAILS in text.text else None for text in texts),
            np.array([len(text.text.split()) for text in texts], dtype=np.int32),
            {"made": "by a stand-in"},
        )

    def _values(self, text: LabelledText) -> Any:
        if FAILS in text.text or UNDEFINED in text.text:
            return np.full(len(CELLS), np.nan)
        digest = hashlib.sha256(repr(text).encode()).digest()
        return np.frombuffer(digest[: 4 * len(CELLS)], np.uint32) / 2**31 - 1


def _is_trial(texts: Sequence[LabelledText]) -> bool:
    """Whether these are the texts that a run tries before it writes anything."""
    return texts[-1].text.startswith(_run._PLAIN)


class Deadly(StandIn):
    """A worker that one of the texts kills."""

    def measure(self, texts: Sequence[LabelledText], _progress: Any = None) -> PartValues:
        if any("number 13" in text.text for text in texts) and not _is_trial(texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().measure(texts)


class Different(StandIn):
    """A worker whose facts are its own."""

    def start(self) -> WorkerFacts:
        return super().start()._replace(model=str(os.getpid()))


class Failing(StandIn):
    """A worker that cannot load its model."""

    def start(self) -> WorkerFacts:
        raise InputError("there is no folder 'model'")


def run_stand_in(
    data: Path,
    out: Path,
    worker: Any = None,
    *,
    plan: EvaluationPlan | None = None,
    part_size: int = PART_SIZE,
    using: Any = None,
    on_progress: Callable[[RunProgress], None] = lambda _: None,
    fail_fast: bool = False,
    **columns: Any,
) -> RunResult:
    """Run a stand-in over a data file."""
    plan = plan or EvaluationPlan()
    none: dict[str, Any] = dict.fromkeys(
        ("text_column", "label_column", "position_column", "limit")
    )
    corpus = open_corpus(data, plan, **(none | columns), part_size=part_size)
    engine = using or nullcontext(LocalEngine(cast("Any", worker or StandIn())))
    return run_corpus(corpus, out, plan, "stand-in", engine, on_progress, fail_fast=fail_fast)


def write_texts(path: Path, count: int = 22) -> Path:
    """Write lines of text, of which one fails and one is undefined."""
    texts = [f"text number {number}" for number in range(count)]
    texts[2] += f" {FAILS}"
    texts[9] += f" {UNDEFINED}"
    _ = path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
