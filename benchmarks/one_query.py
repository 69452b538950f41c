"""Flow from one query (CLS) at all layers: time, and memory in a process of its own."""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import forward_pass
import graphs
import memory
import report
import timing
from plan import Plan

import attnflow as af
from attnflow.types import random_attention

_THREADS = 2


def section(plan: Plan, *, real: bool) -> report.Section:
    """Time and memory of the one query, beside a forward pass where that is possible."""
    attention = graphs.attention(plan.n_tokens, plan.n_layers, real=real)
    graph = attention.graph()
    runs: dict[str, Callable[[], object]] = {
        "flow, given an Attention": partial(af.flow, attention, queries=0, threads=_THREADS),
        "flow, given a graph": partial(af.flow, graph, queries=0, threads=_THREADS),
        "flow, given a graph, one thread": partial(af.flow, graph, queries=0, threads=1),
    }
    with_model = plan.forward_pass and forward_pass.is_possible()
    if with_model:
        runs |= forward_pass.runs(plan.n_tokens, _THREADS)
    times = timing.in_turns(runs, plan.rounds)
    medians = {name: statistics.median(each) for name, each in times.items()}
    extra, whole = _memory(attention)
    rows = [
        [name, report.duration(medians[name]), report.duration(min(each))]
        for name, each in times.items()
    ]
    size = f"{plan.n_tokens} tokens, {plan.n_layers} layers"
    text = (
        f"{size}, the first token as query, all layers; two threads unless a line says one, "
        f"{plan.rounds} rounds in turns. Given an Attention, fusing its {attention.n_heads} heads "
        f"is timed too. Memory, in a process of its own without torch: {extra:,.0f} MB more at the "
        "peak of the call (given an Attention, fused graph and result included) than before it; "
        f"the peak of the whole process, with the attention weights "
        f"({attention.weights.nbytes / 2**20:,.0f} MB) and the compiled kernels, is {whole:,.0f} "
        "MB."
    )
    if with_model:
        text += (
            " The forward pass is that of a model of BERT-base's size (random weights, float32, "
            "batch of one) on the same cores."
        )
    ours = medians["flow, given an Attention"]
    beside = ", ".join(
        f"{name.removeprefix('forward pass, ')}: {report.duration(median)} "
        f"({report.ratio(median / ours)})"
        for name, median in medians.items()
        if name.startswith("forward pass")
    )
    finding = report.Finding(
        f"flow from CLS, all layers, {size}, two threads",
        f"{report.duration(ours)}, {extra:,.0f} MB",
        f"forward pass of a BERT-base-sized model: {beside}" if beside else "",
        "under 3 s and 1 GB",
    )
    return report.Section(
        "One query, all layers", (text, report.table(["", "median", "best"], rows)), (finding,)
    )


def _memory(attention: af.Attention) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attention.npz"
        attention.save(path)
        extra, whole = timing.in_new_process(__file__, str(path))
    return extra, whole


def _measure_memory(path: Path) -> tuple[float, float]:
    """MB that the call takes more at its peak than before, and MB at the peak of the process."""
    _ = af.flow(random_attention(3, 1, 4), queries=0, threads=_THREADS)  # loads the kernels
    attention = af.Attention.load(path)
    highest = memory.peak_mb()
    extra = memory.extra_mb(partial(af.flow, attention, queries=0, threads=_THREADS))
    return extra, max(highest, memory.peak_mb())


if __name__ == "__main__":
    print(json.dumps(_measure_memory(Path(sys.argv[1]))))
