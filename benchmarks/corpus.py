"""Evaluation over a corpus: texts per second, memory, resuming, and two Ray workers beside one.

`python benchmarks/corpus.py` measures this part alone and prints it.
"""

import importlib.util
import json
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memory
import report
import timing
from plan import FULL, Plan

# Of the default plan; the rest is tokens, rollout, flow and metrics.
_MODEL_WORK = ("attention", "input_gradient")
_DATA, _OUT = "texts.txt", "run"


@dataclass(frozen=True, slots=True)
class Run:
    """One run in a process of its own: seconds of its three phases, its memory and its texts."""

    start: float  # reading the data, loading the model, checking finished parts
    work: float
    end: float  # the summary
    peak_mb: float
    measured: int  # texts

    @property
    def seconds(self) -> float:
        """The call, without the start of the interpreter."""
        return self.start + self.work + self.end

    @property
    def rate(self) -> float:
        """Texts per second, end to end."""
        return self.measured / self.seconds


def section(plan: Plan) -> report.Section:
    """Local runs of several sizes, one that is stopped and resumed, and runs on Ray."""
    sizes = plan.corpus_texts
    runs: dict[int, Run] = {}
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            runs[count] = _run(folder, count)
    main = sizes[min(1, len(sizes) - 1)]
    outside = _outside_the_model(main)
    with tempfile.TemporaryDirectory() as folder:
        first = _run(folder, main, stop=main // 2)
        second = _run(folder, main)
    whole = runs[main]
    # What resuming adds: the second start, which checks the finished parts. The first one's texts
    # of the part that was stopped are measured again; a part is a matter of chance and small.
    overhead = second.start - whole.start
    rows = [
        [
            f"{count:,}",
            *(report.duration(phase) for phase in (run.start, run.work, run.end)),
            f"{run.rate:,.0f}",
            f"{run.peak_mb:,.0f} MB",
        ]
        for count, run in runs.items()
    ]
    text = (
        "`attnflow.evaluate.run` with the shipped model and the default plan (raw, rollout and "
        "flow on attention, all layers, CLS, input gradients, Spearman) on generated sentences, in "
        "a process of its own for each row. Start: reading the data, loading the model. End: the "
        f"summary. Stopped after {first.measured:,} of {main:,} texts and resumed: "
        f"{report.duration(first.seconds + second.seconds)} in all, of which the second start is "
        f"{report.duration(second.start)}, {report.duration(max(overhead, 0.0))} more than without "
        "finished parts."
    )
    head = ["texts", "start", "work", "end", "texts per second, end to end", "peak memory"]
    least, most = (f(run.peak_mb for run in runs.values()) for f in (min, max))
    findings = [
        report.Finding(
            f"evaluation of {main:,} sentences, default plan, shipped model",
            f"{whole.rate:,.0f} texts per second",
            f"{outside:.0%} of the time outside the model",
            "150 texts per second on two cores; at most a third outside the model",
        ),
        report.Finding(
            f"memory for {sizes[0]:,} and {sizes[-1]:,} texts",
            f"{least:,.0f} to {most:,.0f} MB",
            f"{most / least:.2f} times",
            "flat",
        ),
        report.Finding(
            f"resuming a run of {main:,} texts",
            report.duration(max(overhead, 0.0)),
            f"{max(overhead, 0.0) / whole.seconds:.1%} of the run",
            "under 2 %",
        ),
    ]
    blocks = [text, report.table(head, rows)]
    if importlib.util.find_spec("ray") is not None:
        block, finding = _ray(plan)
        blocks.append(block)
        findings.append(finding)
    return report.Section("Evaluation over a corpus", tuple(blocks), tuple(findings))


def _ray(plan: Plan) -> tuple[str, report.Finding]:
    runs: dict[int, Run] = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            runs[workers] = _run(folder, plan.ray_texts, workers=workers)
    ratio = runs[1].work / runs[2].work
    times = ", ".join(f"{n}: {report.duration(run.work)}" for n, run in runs.items())
    text = f"On Ray, {plan.ray_texts:,} texts, the work alone, by number of workers: {times}."
    finding = report.Finding(
        f"two Ray workers beside one, {plan.ray_texts:,} texts",
        report.duration(runs[2].work),
        f"{report.duration(runs[1].work)} ({ratio:.2f} times)",
        "1.6 times, where two cores are free",
    )
    return text, finding


def _run(folder: str, count: int, *, stop: int = 0, workers: int = 0) -> Run:
    arguments = ("run", folder, str(count), str(stop), str(workers))
    return Run(**timing.in_new_process(__file__, *arguments))


def _outside_the_model(count: int) -> float:
    return float(timing.in_new_process(__file__, "share", str(count)))


class _StoppedError(Exception):
    """Raised to stop a run."""


def _measure_run(folder: str, count: int, stop: int, workers: int) -> dict[str, Any]:
    from attnflow import evaluate, paper

    data = Path(folder, _DATA)
    if not data.exists():
        texts = (prefix.text for prefix in paper.generate(count))
        _ = data.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    times: list[float] = []
    measured = 0

    def report_progress(progress: evaluate.RunProgress) -> None:
        nonlocal measured
        times.append(time.perf_counter())
        measured = progress.measured
        if stop and measured > stop:
            raise _StoppedError

    engine: Any = {"engine": "ray", "workers": workers} if workers else {}
    start = time.perf_counter()
    with suppress(_StoppedError):
        _ = evaluate.run(
            paper.load, data, Path(folder, _OUT), name="verb-number", on_progress=report_progress,
            **engine,
        )  # fmt: skip
    end = time.perf_counter()
    return {
        "start": times[0] - start,
        "work": times[-1] - times[0],
        "end": end - times[-1],
        "peak_mb": memory.peak_mb(),
        "measured": measured,
    }


def _share(count: int) -> float:
    """The share of the time of `measure` in which the model does nothing."""
    from attnflow import evaluate, paper

    shipped = paper.load()
    texts = [prefix.text for prefix in paper.generate(count)]
    _ = evaluate.measure(shipped.model, shipped.tokenizer, texts[:64])  # loads what is loaded late
    start = time.perf_counter()
    found = evaluate.measure(shipped.model, shipped.tokenizer, texts)
    seconds = time.perf_counter() - start
    return 1 - sum(found.seconds[name] for name in _MODEL_WORK) / seconds


def _main(arguments: list[str]) -> None:
    match arguments:
        case ["run", folder, *numbers]:
            print(json.dumps(_measure_run(folder, *map(int, numbers))))
        case ["share", count]:
            print(json.dumps(_share(int(count))))
        case _:
            found = section(FULL)
            print(report.document(found.title, "", [found]))


if __name__ == "__main__":
    _main(sys.argv[1:])
