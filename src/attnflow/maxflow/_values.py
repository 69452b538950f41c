"""Maximum flow values of many pairs: sinks are shared out among threads."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.checks import Progress
from attnflow.errors import InputError
from attnflow.maxflow._network import TOO_LARGE, Matrices, Network, bounds, network
from attnflow.maxflow._unproved import unproved

# Layers that are searched for all sources of the first sink before saturation is tried; every
# sink corrects it for the next. Five is where real encoders begin to saturate.
_FIRST_REACH = 5
# Pairs times edges below which one thread is quicker than starting others: about six milliseconds
# of work, measured on attention of 4 to 32 tokens.
_ALONE = 2**20


def flow_values(
    matrices: Matrices,
    sources: Sequence[int],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Maximum flows (layer, source, sink) from nodes `sources` of every layer to all sinks.

    `matrices[l - 1][i, k]` is the capacity of the edge from node i of layer l to node k of layer
    l − 1; sinks are the nodes of layer 0. A source that a layer does not have gives zeros there.
    `threads` is the number of sinks solved at a time, at most one a core, and by default that, or
    one where there is little to do; the values do not depend on it. `progress(done, total)` counts
    pairs, in the calling thread.

    Raises SolverError where a value comes without proof.
    """
    found = np.zeros((len(matrices), len(sources), matrices[0].shape[1]))
    _closed_forms(matrices, sources, found)
    limits = bounds(matrices)
    if not limits.endless and np.isinf(found).any():
        raise InputError(TOO_LARGE)
    done, total = 0, len(sources) * found.shape[2]
    if len(matrices) <= 2:
        if progress is not None:
            progress(total, total)
        return found
    for exponent, places, sinks in _groups(limits.exponents(sources)):
        net = network(matrices, exponent)
        group = [sources[place] for place in places]
        for sink, values in _each_sink(net, group, sinks, threads):
            found[2:, places, sink] = values[2:] * net.unit
            done += len(group)
            if progress is not None:
                progress(done, total)
    for layer, endless in enumerate(limits.endless):
        for place, source in enumerate(sources):
            if source < len(endless):
                found[layer, place, endless[source]] = np.inf
    return found


def _closed_forms(matrices: Matrices, sources: Sequence[int], found: NDArray[np.float64]) -> None:
    """Fill in depth 1, the capacity, and depth 2, sum_k min(A2[i, k], A1[k, j]).

    Paths of two edges share none. Both need no compiled code and no rounding.
    """
    first = matrices[0].astype(np.float64)
    for place, source in enumerate(sources):
        if source < len(first):
            found[0, place] = first[source]
        if len(matrices) > 1 and source < len(matrices[1]):
            through = np.minimum(matrices[1][source].astype(np.float64)[:, None], first)
            with np.errstate(over="ignore"):  # of weights that `network` refuses
                found[1, place] = through.sum(axis=0)


def _groups(exponents: NDArray[np.int64]) -> Iterator[tuple[int, list[int], list[int]]]:
    """(exponent, places of sources, sinks): pairs that are solved on one grid, each pair once.

    Attention makes two or three groups, all of them with all sources: its rows all sum to one.
    """
    kinds, kind_of = np.unique(exponents, axis=0, return_inverse=True)
    for kind, row in enumerate(kinds):
        places = np.flatnonzero(kind_of.ravel() == kind).tolist()
        for exponent in np.unique(row):
            yield int(exponent), places, np.flatnonzero(row == exponent).tolist()


def _each_sink(
    net: Network, sources: Sequence[int], sinks: Sequence[int], threads: int | None
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """(sink, values (layer, source)) as they are solved."""
    if threads is None and len(sources) * len(sinks) * net.capacity.size < _ALONE:
        threads = 1
    workers = min(threads or _cores(), _cores(), len(sinks))  # more than cores gain nothing
    # Sinks that may take the same saturate at the same layer, so that one foretells the next.
    taking = net.capacity[1].sum(axis=0)
    order = sorted(sinks, key=lambda sink: float(taking[sink]))
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
            raise unproved(f"to node {sink}", "flow and cut differ")
        self._reach = reach
        return self._known.upper[1:, self._sources]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
