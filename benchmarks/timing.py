"""How time is taken: in turns, so that a busy moment of the machine meets everyone alike."""

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# Threads of one library may wait busily for a moment after their work; the next one's time should
# not begin before they sleep. Chosen here: OpenMP runtimes spin for some milliseconds.
_PAUSE = 0.02


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call, with the garbage collector off as in `timeit`."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        _ = run()
        return time.perf_counter() - start
    finally:
        if was_on:
            gc.enable()


def in_turns(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Wall times of each run, all of them once a round; everyone has warmed up once before."""
    for run in runs.values():
        _ = run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(_PAUSE)
            times[name].append(seconds(run))
    return times


class Spent(NamedTuple):
    """What a process took."""

    wall: float
    cpu: float  # user and system, of all its threads


def of_process(
    *arguments: str, environment: Mapping[str, str] | None = None, status: int = 0
) -> Spent:
    """Seconds of a new interpreter with these arguments, which has to end with `status`."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != status:
        raise RuntimeError(f"expected exit code {status}, got {ended.returncode}: {ended.stderr}")
    return Spent(wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def in_new_process(*arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """What a new interpreter with these arguments prints, read as JSON."""
    result = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **(environment or {})},
    )
    return json.loads(result.stdout)
