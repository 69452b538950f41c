"""Maximum flow values of many pairs: sinks are shared out among threads."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import SolverError
from attnflow.maxflow._network import Network, network

Progress = Callable[[int, int], None]

# Layers that are searched for all sources of the first sink before saturation is tried; every
# sink corrects it for the next. Five is where real encoders begin to saturate.
_FIRST_REACH = 5


def flow_values(
    matrices: Sequence[NDArray[np.floating]],
    sources: Sequence[int],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Maximum flows (layer, source, sink) from nodes `sources` of every layer to all sinks.

    `matrices[l - 1][i, k]` is the capacity of the edge from node i of layer l to node k of layer
    l − 1; sinks are the nodes of layer 0. A source that a layer does not have gives zeros there.
    `threads` is the number of sinks solved at a time, by default one a core; the values do not
    depend on it. `progress(done, total)` counts sinks, in the calling thread.

    Raises SolverError where a value comes without proof.
    """
    net = network(matrices)
    sinks = matrices[0].shape[1]
    # Closed forms need no compiled code, so that a user of shallow graphs never waits for it.
    if net.depth <= 2:
        solved = _closed_forms(net, sources, sinks)
        if progress is not None:
            progress(sinks, sinks)
    else:
        solved = np.empty((net.depth, len(sources), sinks))
        for done, (sink, values) in enumerate(_each_sink(net, sources, sinks, threads), start=1):
            solved[:, :, sink] = values
            if progress is not None:
                progress(done, sinks)
    solved *= net.unit
    for layer, endless in enumerate(net.endless):
        for place, source in enumerate(sources):
            if source < len(endless):
                solved[layer, place, endless[source]] = np.inf
    return solved


def _closed_forms(net: Network, sources: Sequence[int], sinks: int) -> NDArray[np.float64]:
    """Depth 1: the capacity. Depth 2: sum_k min(A2[i, k], A1[k, j]), for paths share no edge."""
    rows = list(sources)
    first = net.capacity[1][:, :sinks]
    values = [first[rows]]
    if net.depth == 2:
        second = net.capacity[2][rows]
        values.append(np.stack([np.minimum(row[:, None], first).sum(axis=0) for row in second]))
    return np.stack(values)


def _each_sink(
    net: Network, sources: Sequence[int], sinks: int, threads: int | None
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """(sink, values (layer, source)) as they are solved."""
    workers = min(threads or _cores(), sinks)
    # Sinks that may take the same saturate at the same layer, so that one foretells the next.
    order = [int(sink) for sink in np.argsort(net.capacity[1][:, :sinks].sum(axis=0))]
    if workers == 1:
        solver = _Solver(net, sources)
        for sink in order:
            yield sink, solver.solve(sink)
        return
    idle = [_Solver(net, sources) for _ in range(workers)]
    left = iter(order)
    running: dict[Future[NDArray[np.float64]], tuple[int, _Solver]] = {}
    with ThreadPoolExecutor(workers) as pool:
        while True:
            while idle and (sink := next(left, None)) is not None:
                solver = idle.pop()
                running[pool.submit(solver.solve, sink)] = (sink, solver)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                sink, solver = running.pop(future)
                idle.append(solver)
                yield sink, future.result()


class _Solver:
    """The workspace of one thread, and what it learns from sink to sink."""

    def __init__(self, net: Network, sources: Sequence[int]) -> None:
        # The kernels are imported where they are needed: they bring Numba's compiler along.
        from attnflow.maxflow._climb import nothing_known  # noqa: PLC0415
        from attnflow.maxflow._state import new_workspace  # noqa: PLC0415

        layers, nodes, _ = net.capacity.shape
        self._workspace = new_workspace(net.capacity)
        self._known = nothing_known(layers, nodes)
        self._sources = np.array(sources, dtype=np.int64)
        self._depth = net.depth
        self._reach = min(_FIRST_REACH, net.depth)

    def solve(self, sink: int) -> NDArray[np.float64]:
        """Values (layer, source) of one sink."""
        from attnflow.maxflow._sink import solve_sink  # noqa: PLC0415

        reach = solve_sink(
            self._workspace, self._known, sink, self._sources, self._depth, self._reach
        )
        if reach < 0:
            raise SolverError(
                f"a maximum flow to node {sink} came without proof: flow and cut differ. This is "
                "an error in attnflow, not in the input; please report it with the graph"
            )
        self._reach = reach
        return self._known.upper[1:, self._sources]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
