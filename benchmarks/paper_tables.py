"""Tables 1 and 2 of the paper: what the two commands take, and how much of it rollout and flow."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import report
from plan import Plan

_TABLES = ("table-1", "table-2")
# Beside the repository, unless the environment names another folder.
_DATA = Path(os.environ.get("ATTNFLOW_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Run(NamedTuple):
    """One command: its seconds from start to end, and those of each part."""

    seconds: float
    parts: dict[str, float]


def section(plan: Plan) -> report.Section:
    """The commands one after the other, as a user runs them."""
    runs = {table: _run(table, plan.samples) for table in _TABLES}
    names = list(dict.fromkeys(name for run in runs.values() for name in run.parts))
    total = sum(run.seconds for run in runs.values())
    composed = sum(run.parts[name] for run in runs.values() for name in ("rollout", "flow"))
    rows = [
        [
            f"`attnflow reproduce {table}`",
            report.duration(run.seconds),
            *(report.duration(run.parts[name]) if name in run.parts else "" for name in names),
        ]
        for table, run in runs.items()
    ]
    sentences = "natural" if (_DATA / "linzen").is_dir() else "generated"
    text = (
        f"{plan.samples:,} {sentences} sentences, all six layers, two cores; each command once, "
        "its start-up and the reading of the data included."
    )
    finding = report.Finding(
        f"Tables 1 and 2 of the paper, {plan.samples:,} sentences, two cores",
        f"{report.duration(total)} for both",
        f"{composed / total:.0%} of it in rollout and flow",
        "under 60 s, no more than a fifth of it in rollout and flow",
    )
    head = ["command", "in all", *(name.replace("_", "-") for name in names)]
    return report.Section("The paper's tables", (text, report.table(head, rows)), (finding,))


def _run(table: str, samples: int) -> Run:
    command = [Path(sys.executable).with_name("attnflow"), "reproduce", table, "--json"]
    command += ["--samples", str(samples)]
    if (_DATA / "linzen").is_dir():
        command += ["--data", _DATA]
    start = time.perf_counter()
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    document: dict[str, Any] = json.loads(found.stdout)
    return Run(seconds, document["settings"]["seconds"])
