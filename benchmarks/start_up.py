"""What a new process waits for: importing attnflow, and its kernels, compiled or from the cache."""

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import forward_pass
import report
import timing
from first_calls import DEEP, LARGE, LARGER, SENTENCE, STEPS
from plan import Plan

_HEAVY = ("numba", "llvmlite", "torch", "matplotlib")

_EXPLAIN = """
import sys
from attnflow.cli import main
sys.argv = ["attnflow", "explain", *{arguments}]
main()
"""
_TEXT = "the key to the cabinets"

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
        steps = [name for name in STEPS if plan.fresh_compile or name != LARGE]
        first, *others = [
            _first_calls(steps, byte_code | _no_kernels(plan, f"{folder}/numba"))
            for _ in range(1 + plan.rounds)
        ]
        # A process of its own each, and no kernels for any.
        deep = {
            name: _first_calls([name], byte_code | _no_kernels(plan, f"{folder}/{number}"))[name]
            for number, name in enumerate(DEEP)
        }
    rows = [
        [
            step,
            report.duration(first[step]),
            report.duration(statistics.median(other[step] for other in others)),
        ]
        for step in first
    ]
    rows += [[f"{SENTENCE}: {name}", report.duration(took), ""] for name, took in deep.items()]
    text = (
        f"`import attnflow` takes {report.duration(ours)}, `import numpy`, which attnflow loads "
        f"when it is first used, {report.duration(numpy)}: medians of {plan.rounds} new processes "
        f"each, in turns, byte code on disk. Of {', '.join(_HEAVY)} it loads none. The kernels are "
        "compiled when they are first needed on a machine and read from Numba's cache after that; "
        "small flows need none. The steps below are those of a new process, in order, on random "
        "attention; the last three have a process of their own each."
    )
    finding = report.Finding(
        "`import attnflow`",
        report.duration(ours),
        f"`import numpy`: {report.duration(numpy)}; loads none of {', '.join(_HEAVY)}",
        "under 0.3 s",
    )
    empty = "cache empty" if plan.fresh_compile else "first process"
    head = ["step", empty, f"from the cache, median of {plan.rounds}"]
    sentences = [report.duration(took) for took in (first[SENTENCE], *deep.values())]
    first_sentence = report.Finding(
        "the first flow of a sentence, 32 tokens, one query",
        sentences[0],
        "12 layers, 30 layers, 30 layers corrected for the receptive field: "
        f"{', '.join(sentences[1:])}",
        "under 3 s without a cache",
    )
    larger = [report.duration(first[step]) for step in (LARGER, LARGE) if step in first]
    first_larger = report.Finding(
        "the first larger flow",
        larger[0],
        f"the first above 64 tokens: {', '.join(larger[1:]) or 'not measured'}",
        "under 15 s without a cache",
    )
    found = (finding, first_sentence, first_larger, *command)
    return report.Section("Start-up", (text, report.table(head, rows)), found)


def _no_kernels(plan: Plan, folder: str) -> dict[str, str]:
    return {"NUMBA_CACHE_DIR": folder} if plan.fresh_compile else {}


def _first_calls(steps: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Seconds of steps of a new process."""
    program = str(Path(__file__).with_name("first_calls.py"))
    return timing.in_new_process(program, *steps, environment=environment)


def _command(rounds: int, environment: Mapping[str, str]) -> tuple[report.Finding, ...]:
    """`attnflow explain`, next to the imports which it cannot do without; and bad input."""
    no_folder = [_TEXT, "--model", "./no-such-folder"]
    codes = {
        "imports": "import torch, transformers",
        "explain": _EXPLAIN.format(arguments=[_TEXT]),
        "no folder": _EXPLAIN.format(arguments=no_folder),
        "no text": _EXPLAIN.format(arguments=[" "]),
    }
    times: dict[str, list[timing.Spent]] = {name: [] for name in codes}
    for turn in range(rounds + 1):
        for name, code in codes.items():
            status = 1 if name.startswith("no ") else 0
            spent = timing.of_process("-c", code, environment=environment, status=status)
            if turn:  # the first turn writes the byte code
                times[name].append(spent)
    wall = {name: statistics.median(spent.wall for spent in of) for name, of in times.items()}
    cpu = {name: statistics.median(spent.cpu for spent in of) for name, of in times.items()}
    return (
        *(
            report.Finding(
                f"`attnflow explain`, {what} time",
                report.duration(took["explain"]),
                f"{took['explain'] / took['imports']:.2f} times `import torch, transformers`: "
                f"{report.duration(took['imports'])}",
                f"at most 1.3 times and 1 s: {report.duration(1.3 * took['imports'] + 1)}",
            )
            for what, took in (("wall", wall), ("CPU", cpu))
        ),
        report.Finding(
            "`attnflow explain` with a folder that does not exist",
            report.duration(wall["no folder"]),
            f"with whitespace for a text: {report.duration(wall['no text'])}",
            "under 1 s",
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
