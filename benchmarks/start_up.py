"""What a new process waits for: importing attnflow, and its kernels, compiled or from the cache."""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path

import forward_pass
import report
import timing
from first_calls import LARGE, STEPS
from plan import Plan

_HEAVY = ("numba", "llvmlite", "torch", "matplotlib")

_SENTENCE, _LARGER = STEPS[0][0], STEPS[1][0]

# Nothing else is imported before, or it would not be counted.
_IMPORT = """
import time
start = time.perf_counter()
import {name}
seconds = time.perf_counter() - start
import json, sys
print(json.dumps([seconds, [name for name in {heavy} if name in sys.modules]]))
"""


def section(plan: Plan) -> report.Section:
    """Import and first-call times of new processes."""
    with tempfile.TemporaryDirectory() as folder:
        # Installed packages have their byte code on disk; a source tree may be without.
        byte_code = {"PYTHONPYCACHEPREFIX": f"{folder}/pycache", "PYTHONDONTWRITEBYTECODE": ""}
        numpy, ours = _imports(plan.rounds, byte_code)
        command = (
            _command(plan.rounds, byte_code)
            if plan.forward_pass and forward_pass.is_possible()
            else ()
        )
        kernels = {"NUMBA_CACHE_DIR": f"{folder}/numba"} if plan.fresh_compile else {}
        first, *others = [
            timing.in_new_process(
                str(Path(__file__).with_name("first_calls.py")),
                *(["large"] if plan.fresh_compile else []),
                environment=byte_code | kernels,
            )
            for _ in range(1 + plan.rounds)
        ]
    rows = [
        [
            step,
            report.duration(first[step]),
            report.duration(statistics.median(other[step] for other in others)),
        ]
        for step in first
    ]
    text = (
        f"`import attnflow` takes {report.duration(ours)}, `import numpy`, which attnflow loads "
        f"when it is first used, {report.duration(numpy)}: medians of {plan.rounds} new processes "
        f"each, in turns, byte code on disk. Of {', '.join(_HEAVY)} it loads none. The kernels are "
        "compiled when they are first needed on a machine and read from Numba's cache after that; "
        "small flows need none. The steps below are those of a new process, in order, on random "
        "attention of 6 layers."
    )
    finding = report.Finding(
        "`import attnflow`",
        report.duration(ours),
        f"`import numpy`: {report.duration(numpy)}; loads none of {', '.join(_HEAVY)}",
        "under 0.3 s",
    )
    empty = "cache empty" if plan.fresh_compile else "first process"
    head = ["step", empty, f"from the cache, median of {plan.rounds}"]
    larger = [report.duration(first[step]) for step in (_LARGER, LARGE[0]) if step in first]
    first_flow = report.Finding(
        "the first flow of a sentence, 32 tokens, one query",
        report.duration(first[_SENTENCE]),
        f"the first larger one, and the first above 64 tokens: {', '.join(larger)}",
        "under 3 s, and 15 s each, without a cache",
    )
    found = (finding, first_flow, *command)
    return report.Section("Start-up", (text, report.table(head, rows)), found)


def _command(rounds: int, environment: Mapping[str, str]) -> tuple[report.Finding]:
    """CPU time of `attnflow explain`, next to that of the imports which it cannot do without."""
    codes = {
        "imports": "import torch, transformers",
        "explain": "import sys; from attnflow.cli import main\n"
        "sys.argv = ['attnflow', 'explain', 'the key to the cabinets']; main()",
    }
    times: dict[str, list[float]] = {name: [] for name in codes}
    for turn in range(rounds + 1):
        for name, code in codes.items():
            seconds = timing.cpu_seconds("-c", code, environment=environment)
            if turn:  # the first turn writes the byte code
                times[name].append(seconds)
    imports, explain = (statistics.median(times[name]) for name in codes)
    return (
        report.Finding(
            "`attnflow explain`, CPU time",
            report.duration(explain),
            f"{explain / imports:.2f} times `import torch, transformers`: "
            f"{report.duration(imports)}",
            f"at most 1.3 times and 1 s: {report.duration(1.3 * imports + 1)}",
        ),
    )


def _imports(rounds: int, environment: Mapping[str, str]) -> tuple[float, float]:
    """Median seconds for NumPy and for attnflow."""
    times: dict[str, list[float]] = {"numpy": [], "attnflow": []}
    for turn in range(rounds + 1):
        for name, each in times.items():
            code = _IMPORT.format(name=name, heavy=_HEAVY)
            seconds, loaded = timing.in_new_process("-c", code, environment=environment)
            if loaded:
                raise RuntimeError(f"import {name} loads {', '.join(loaded)}")
            if turn:  # the first turn writes the byte code
                each.append(seconds)
    return statistics.median(times["numpy"]), statistics.median(times["attnflow"])
