"""Seconds of the first steps of a new process, printed as JSON; start_up.py runs it."""

import importlib
import json
import time


def main() -> None:
    """Import, then call twice what needs the kernels, then what needs the others."""
    steps: dict[str, float] = {}
    start = time.perf_counter()
    import attnflow as af

    steps["import attnflow"] = time.perf_counter() - start
    start = time.perf_counter()
    _ = importlib.import_module("numba")
    steps["import numba"] = time.perf_counter() - start
    graph = af.AttentionGraph([[[0.75, 0.25], [0.5, 0.5]]] * 4)
    for name in ("flow", "flow again"):
        start = time.perf_counter()
        _ = af.flow(graph, threads=1)
        steps[name] = time.perf_counter() - start
    start = time.perf_counter()
    _ = af.max_flow(graph, source=(4, 0), sink=1)
    steps["max_flow"] = time.perf_counter() - start
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
