"""What a new process waits for: importing attnflow, and its kernels, compiled or from the cache."""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path

import report
import timing
from plan import Plan

_HEAVY = ("numba", "llvmlite", "torch", "matplotlib")

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
        kernels = {"NUMBA_CACHE_DIR": f"{folder}/numba"} if plan.fresh_compile else {}
        first, *others = [
            timing.in_new_process(
                str(Path(__file__).with_name("first_calls.py")), environment=byte_code | kernels
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
        "compiled at the first call on a machine and read from Numba's cache after that. The steps "
        "below are those of a new process, in order, on a graph of 4 layers and 2 tokens."
    )
    finding = report.Finding(
        "`import attnflow`",
        report.duration(ours),
        f"`import numpy`: {report.duration(numpy)}; loads none of {', '.join(_HEAVY)}",
        "under 0.3 s",
    )
    empty = "cache empty" if plan.fresh_compile else "first process"
    head = ["step", empty, f"from the cache, median of {plan.rounds}"]
    return report.Section("Start-up", (text, report.table(head, rows)), (finding,))


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
