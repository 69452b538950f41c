"""Evaluation over a corpus: texts per second, memory, resuming, and two Ray workers beside one.

`python benchmarks/corpus.py` measures this part alone and prints it, with the table of
docs/evaluate.md. `--only sizes,resume,ray` chooses pieces, `--texts` and `--ray-texts` their sizes.
"""

import argparse
import dataclasses
import importlib.util
import tempfile
from collections.abc import Sequence

import corpus_runs
import report
from corpus_runs import Run
from plan import FULL, Plan

_PIECES = ("sizes", "resume", "ray")
_MANY = 10**8  # texts, of the arithmetic
_MANY_WORKERS = (1, 10, 100)
_HEAD = (
    "texts", "start", "work", "end", "texts per second, end to end", "peak memory", "results",
)  # fmt: skip


def section(plan: Plan, only: Sequence[str] = _PIECES) -> report.Section:
    """Local runs of several sizes, one that is stopped and resumed, and runs on Ray."""
    blocks: list[str] = []
    findings: list[report.Finding] = []
    main = plan.corpus_texts[min(1, len(plan.corpus_texts) - 1)]
    runs: dict[int, Run] = {}
    for count in plan.corpus_texts:
        if "sizes" in only or ("resume" in only and count == main):
            with tempfile.TemporaryDirectory() as folder:
                runs[count] = corpus_runs.run(folder, count)
    if "sizes" in only:
        blocks += [_about(), _scaling(runs)]
        findings += [_speed(main, runs[main]), _memory(runs)]
    if "resume" in only:
        text, finding = _resume(main, runs[main])
        blocks.append(text)
        findings.append(finding)
    if "ray" in only and importlib.util.find_spec("ray") is not None:
        text, finding, one = _ray(plan.ray_texts)
        blocks += [text, _arithmetic(one)]
        findings.append(finding)
    return report.Section("Evaluation over a corpus", tuple(blocks), tuple(findings))


def _about() -> str:
    return (
        "`attnflow.evaluate.run` with the shipped model and the default plan (raw, rollout and "
        "flow on attention, all layers, CLS, input gradients, Spearman) on generated sentences, in "
        "a process of its own for each row. Start: reading the data, loading the model. End: the "
        "summary."
    )


def _scaling(runs: dict[int, Run]) -> str:
    """The table of docs/evaluate.md."""
    rows = [
        [
            f"{count:,}",
            *(report.duration(phase) for phase in (run.start, run.work, run.end)),
            f"{run.rate:,.0f}",
            f"{run.peak_mb:,.0f} MB",
            f"{1024 * run.result_mb:,.0f} kB",
        ]
        for count, run in runs.items()
    ]
    return report.table(_HEAD, rows)


def _speed(count: int, run: Run) -> report.Finding:
    return report.Finding(
        f"evaluation of {count:,} sentences, default plan, shipped model",
        f"{run.rate:,.0f} texts per second",
        f"outside the model: {run.outside:.0%} of the time of the work, {run.outside_cpu:.0%} of "
        "its processor time",
        "150 texts per second on two cores; at most a third outside the model",
    )


def _memory(runs: dict[int, Run]) -> report.Finding:
    peaks = [run.peak_mb for run in runs.values()]
    sizes = [f"{count:,}" for count in runs]
    return report.Finding(
        f"memory for {', '.join(sizes)} texts",
        f"{', '.join(f'{peak:,.0f}' for peak in peaks)} MB",
        f"{max(peaks) / min(peaks):.2f} times",
        "flat",
    )


def _resume(count: int, whole: Run) -> tuple[str, report.Finding]:
    with tempfile.TemporaryDirectory() as folder:
        first = corpus_runs.run(folder, count, stop=count // 2)
        second = corpus_runs.run(folder, count)
    # What resuming adds is checking the finished parts. The texts of the part that was stopped are
    # measured again too; which part that is, is a matter of chance, and it is small.
    text = (
        f"Stopped after {first.measured:,} of {count:,} texts and resumed: "
        f"{report.duration(first.seconds + second.seconds)} in all, and "
        f"{report.duration(whole.seconds)} for a run that is not stopped. Checking the finished "
        f"parts took {report.duration(second.checked)}; the rest of the difference is the second "
        "start and the part that was lost."
    )
    finding = report.Finding(
        f"resuming a run of {count:,} texts: checking finished parts",
        report.duration(second.checked),
        f"{second.checked / whole.seconds:.2%} of the run",
        "under 2 %",
    )
    return text, finding


def _ray(count: int) -> tuple[str, report.Finding, Run]:
    runs: dict[int, Run] = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            runs[workers] = corpus_runs.run(folder, count, workers=workers)
    one, two = runs[1], runs[2]
    times = ", ".join(f"{n}: {report.duration(run.work)}" for n, run in runs.items())
    text = f"On Ray, {count:,} texts, the work alone, by number of workers: {times}."
    finding = report.Finding(
        f"two Ray workers beside one, {count:,} texts",
        report.duration(two.work),
        f"{report.duration(one.work)} ({one.work / two.work:.2f} times)",
        "1.6 times, where two cores are free",
    )
    return text, finding, one


def _arithmetic(one: Run) -> str:
    """What very many texts would take, from one worker of Ray."""
    rate = one.measured / one.work
    hours = {n: _MANY / rate / n / 3600 for n in _MANY_WORKERS}
    served = one.served / one.measured
    most = 1 / (rate * served)
    disk = one.result_mb / one.measured * _MANY / 1024
    parts = -(-_MANY // 512)
    shown = ", ".join(f"{time:,.1f} hours on {n:,}" for n, time in hours.items())
    return (
        f"For 10⁸ texts: a worker with one core measures {rate:,.0f} texts per second, so that "
        f"10⁸ / {rate:,.0f} s = {hours[1]:,.0f} worker hours: {shown} workers. The process that "
        f"was started reads, writes and summarizes, which takes it {report.duration(served)} a "
        f"text ({served * _MANY / 3600:,.1f} hours in all), so that it keeps up with about "
        f"{most:,.0f} workers. It needs 17 bytes more memory for each of {parts:,} parts, "
        f"{17 * parts / 1e6:.1f} MB, and the results are {disk:,.0f} GB on disk."
    )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    _ = parser.add_argument("--only", default=",".join(_PIECES), help=f"of {', '.join(_PIECES)}")
    sizes = ",".join(map(str, FULL.corpus_texts))
    _ = parser.add_argument("--texts", default=sizes, help=f"numbers of texts; default {sizes}")
    _ = parser.add_argument("--ray-texts", type=int, default=FULL.ray_texts)
    given = parser.parse_args()
    only = given.only.split(",")
    if unknown := set(only) - set(_PIECES):
        parser.error(f"--only: expected some of {', '.join(_PIECES)}, got {', '.join(unknown)}")
    texts = tuple(int(number) for number in given.texts.split(","))
    plan = dataclasses.replace(FULL, corpus_texts=texts, ray_texts=given.ray_texts)
    found = section(plan, only)
    print(report.document(found.title, "", [found]))


if __name__ == "__main__":
    _main()
