"""Solve the flows to some sinks of one network in several threads."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._choice import load_kernels, takes_plain
from attnflow.maxflow._network import Floats, Network
from attnflow.maxflow._pair import unproved
from attnflow.maxflow._plain import PlainFlow, PlainNetwork

# Layers of the first sink whose flows are searched before saturation is tried; each sink adjusts
# the number for the next. Five is where real encoders begin to saturate.
_FIRST_SEARCH_DEPTH = 5
# Pairs times edges below which one thread is quicker than starting others: about six milliseconds
# of work, measured on attention of 4 to 32 tokens.
_ONE_THREAD = 2**20


class Job(NamedTuple):
    """A sink, and the sources whose flows to it are computed: index in the result, and node."""

    sink: int
    places: NDArray[np.int64]
    sources: NDArray[np.int64]


def solve_jobs(
    net: Network, jobs: Sequence[Job], layers: NDArray[np.int64], threads: int | None
) -> Iterator[tuple[Job, Floats]]:
    """Yield each job with its values (layer, source) in units, in the order they are solved.

    Values of `layers`, numbers of matrices from 0, are computed; those of others may be.
    """
    if takes_plain(net, layers + net.first, sum(len(job.sources) for job in jobs)):
        network = PlainNetwork(net.capacity)
        for job in jobs:
            yield job, _solve_plain(net, network, job, layers)
        return
    load_kernels(net.capacity.shape[1])
    if threads is None and sum(len(job.sources) for job in jobs) * net.capacity.size < _ONE_THREAD:
        threads = 1
    workers = min(threads or _cores(), _cores(), len(jobs))  # more than cores gain nothing
    # Sinks that may take the same saturate at the same layer, so one predicts the next.
    taking = net.capacity[net.first].sum(axis=0)
    order = sorted(jobs, key=lambda job: float(taking[job.sink]))
    if workers == 1:
        solver = _Solver(net)
        for job in order:
            yield job, solver.solve(job)
        return
    idle = [_Solver(net) for _ in range(workers)]
    left = iter(order)
    running: dict[Future[Floats], tuple[Job, _Solver]] = {}
    with ThreadPoolExecutor(workers) as pool:
        while True:
            while idle and (job := next(left, None)) is not None:
                solver = idle.pop()
                running[pool.submit(solver.solve, job)] = (job, solver)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, solver = running.pop(future)
                idle.append(solver)
                yield job, future.result()


def _solve_plain(
    net: Network, network: PlainNetwork, job: Job, layers: NDArray[np.int64]
) -> Floats:
    """Values (layer, source) of one sink without compiled code."""
    values = np.zeros((net.depth + 1 - net.first, len(job.sources)))
    for place, source in enumerate(job.sources.tolist()):
        solver = PlainFlow(network, source, job.sink)
        for layer in layers.tolist():
            solver.solve(net.first + layer)
            if not solver.proved:
                raise unproved(f"to node {job.sink}", "flow and cut differ")
            values[layer, place] = solver.rounded()
    return values


class _Solver:
    """The workspace of one thread, and the search depth that was best for its last sink."""

    def __init__(self, net: Network) -> None:
        # The kernels are imported where they are needed: they bring Numba's compiler along.
        from attnflow.maxflow._source import new_sink_bounds  # noqa: PLC0415
        from attnflow.maxflow._state import new_workspace  # noqa: PLC0415

        layers, nodes, _ = net.capacity.shape
        self._workspace = new_workspace(net.capacity)
        self._bounds = new_sink_bounds(layers, nodes)
        self._depth, self._first = net.depth, net.first
        self._search_depth = min(_FIRST_SEARCH_DEPTH, net.depth)

    def solve(self, job: Job) -> Floats:
        """Values (layer, source) of one sink."""
        from attnflow.maxflow._sink import solve_sink  # noqa: PLC0415

        keep = False
        search_depth = solve_sink(
            self._workspace,
            self._bounds,
            job.sink,
            job.sources,
            self._depth,
            self._search_depth,
            keep,
        )
        if search_depth < 0:
            raise unproved(f"to node {job.sink}", "flow and cut differ")
        self._search_depth = search_depth
        return self._bounds.upper[self._first :, job.sources]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
