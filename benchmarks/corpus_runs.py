"""One evaluation over a corpus in a process of its own: its time, memory and size on disk."""

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memory
import timing

# Of the default plan; the rest is tokens, rollout, flow, metrics, reading and writing.
_MODEL_WORK = ("attention", "input_gradient")
_DATA, _OUT = "texts.txt", "run"


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of a run, its memory, its files and its texts."""

    start: float  # reading the data, loading the model, checking finished parts
    work: float
    end: float  # the summary
    work_cpu: float  # processor time of the work
    model: float  # of the work, inside the model; 0 for workers of Ray
    model_cpu: float
    checked: float  # of the start, checking finished parts
    served: float  # reading twice, writing and the summary: what is not done by workers
    peak_mb: float
    result_mb: float  # on disk
    measured: int  # texts

    @property
    def seconds(self) -> float:
        """The call, without the start of the interpreter."""
        return self.start + self.work + self.end

    @property
    def rate(self) -> float:
        """Texts per second, end to end."""
        return self.measured / self.seconds

    @property
    def outside(self) -> float:
        """The share of the time of the work in which the model does nothing."""
        return 1 - self.model / self.work

    @property
    def outside_cpu(self) -> float:
        """The share of the processor time of the work that is not the model's."""
        return 1 - self.model_cpu / self.work_cpu


def run(folder: str, count: int, *, stop: int = 0, workers: int = 0) -> Run:
    """Run in a new process; `stop` stops it after so many texts, `workers` are those of Ray."""
    arguments = (folder, str(count), str(stop), str(workers))
    return Run(**timing.in_new_process(__file__, *arguments))


class _StoppedError(Exception):
    """Raised to stop a run."""


class _Times:
    """Seconds and processor seconds of parts of a run, added up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, which adds its time."""

        def timed(*given: Any, **named: Any) -> Any:
            start, cpu = time.perf_counter(), time.thread_time()
            try:
                return work(*given, **named)
            finally:
                self._add(self.seconds, name, time.perf_counter() - start)
                self._add(self.cpu, name, time.thread_time() - cpu)

        return timed

    def _add(self, times: dict[str, float], name: str, more: float) -> None:
        times[name] = times.get(name, 0.0) + more


def measure(folder: str, count: int, stop: int, workers: int) -> dict[str, Any]:
    """The fields of `Run`, of a run in this process."""
    from attnflow import evaluate, paper
    from attnflow.evaluate import _model_work
    from attnflow.evaluate.corpus import _data, _parts, _run

    data = Path(folder, _DATA)
    if not data.exists():
        texts = (prefix.text for prefix in paper.generate(count))
        _ = data.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    times = _Times()
    replaced: list[tuple[Any, str, str]] = [
        (_model_work.ModelWork, "observe", "model"),
        (_parts.PartFiles, "verify", "checked"),
        (_parts.PartFiles, "write", "served"),
        (_data.Corpus, "scan", "scan"),
        (_run, "summarize", "served"),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    for owner, name, part in replaced:
        setattr(owner, name, times.around(part, getattr(owner, name)))
    reports: list[tuple[float, float]] = []
    measured = 0

    def report_progress(progress: evaluate.RunProgress) -> None:
        nonlocal measured
        reports.append((time.perf_counter(), time.process_time()))
        measured = progress.measured
        if stop and measured > stop:
            raise _StoppedError

    engine: Any = {"engine": "ray", "workers": workers} if workers else {}
    out = Path(folder, _OUT)
    start = time.perf_counter()
    try:
        with suppress(_StoppedError):
            _ = evaluate.run(
                paper.load, data, out, name="verb-number", on_progress=report_progress, **engine
            )
    finally:
        for owner, name, own in before:
            setattr(owner, name, own)
    end = time.perf_counter()
    (first, first_cpu), (last, last_cpu) = reports[0], reports[-1]
    return {
        "start": first - start,
        "work": last - first,
        "end": end - last,
        "work_cpu": last_cpu - first_cpu,
        "model": times.seconds.get("model", 0.0),
        "model_cpu": times.cpu.get("model", 0.0),
        "checked": times.seconds["checked"],
        # The second pass over the data does the same as the first, between other work.
        "served": times.seconds.get("served", 0.0) + 2 * times.seconds["scan"],
        "peak_mb": memory.peak_mb(),
        "result_mb": sum(path.stat().st_size for path in out.glob("results/*")) / 2**20,
        "measured": measured,
    }


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    print(json.dumps(measure(folder, *map(int, numbers))))
