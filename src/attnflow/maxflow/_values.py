"""Maximum flow values of many pairs, on as many grids as it takes to be sure of each."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.checks import Progress
from attnflow.errors import InputError
from attnflow.maxflow._network import (
    TOLERANCE,
    TOO_LARGE,
    Bounds,
    Floats,
    Matrices,
    Network,
    exponents_of,
    grid_of,
)
from attnflow.maxflow._pair import solve_pair, unproved
from attnflow.maxflow._sets import merge_columns
from attnflow.maxflow._threads import Job, solve_jobs

# Flows that are solved again share a grid if their bounds are this close, as exponents of two. A
# grid is a solve of its own; the bits that are left are enough for cuts of some thousand edges.
_CLOSE = 8
_SMALLEST = 5e-324


# Flows that rounding may have changed by more than the tolerance, one in each row.
_UNCERTAIN = np.dtype(
    [
        ("layer", np.int64),  # of the matrices, from 0
        ("place", np.int64),  # of the source, in the list of sources
        ("sink", np.int64),
        ("bound", np.float64),  # the true value is not larger
        ("grid", np.int64),  # the finest so far
    ]
)
_Uncertain: TypeAlias = NDArray[Any]


def flow_values(
    matrices: Matrices,
    sources: Sequence[int],
    *,
    layers: Sequence[int] | None = None,
    sets: Sequence[Sequence[int]] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Maximum flows (layer, source, sink) from nodes `sources` of `layers` to all sinks.

    `matrices[l - 1][i, k]` is the capacity of the edge from node i of layer l to node k of layer
    l − 1; sinks are the nodes of layer 0, or `sets` of them, which may overlap. By default all
    layers are solved. A source that a layer does not have gives zeros there. The error of a value
    is at most 1e-9 of what source and sink allow. `threads` is as for `attnflow.flow`.
    `progress(done, total)` counts pairs, in the calling thread.

    Raises SolverError where a value cannot be proved.
    """
    chosen = range(1, len(matrices) + 1) if layers is None else layers
    if sets is not None:
        matrices = [merge_columns(matrices[0], sets), *matrices[1:]]
    table = _Table(matrices, sources, threads)
    total = table.values[0].size
    done = 0

    def report(now: int) -> None:
        nonlocal done
        if progress is not None and now > done:
            done = now
            progress(done, total)

    left = table.solve_all(chosen, lambda solved: report(min(solved, total - 1)))
    while left.size:
        left = table.solve_finer(left)
    report(total)
    return table.values[[layer - 1 for layer in chosen]]


class _Table:
    """Values (layer, source, sink), filled in as they are found."""

    def __init__(self, matrices: Matrices, sources: Sequence[int], threads: int | None) -> None:
        self._matrices, self._threads = matrices, threads
        self._sources = np.array(sources, dtype=np.int64)
        self._limits = Bounds(matrices, sources)
        self.values = np.where(self._limits.infinite, np.inf, 0.0)
        self._fill_in_closed_forms()

    def _fill_in_closed_forms(self) -> None:
        """Depth 1 is the capacity, depth 2 is sum_k min(A2[i, k], A1[k, j]).

        Paths of two edges share none. Both need no compiled code and no rounding.
        """
        first = self._matrices[0].astype(np.float64)
        for place, source in enumerate(self._sources):
            if source < len(first):
                self.values[0, place] = first[source]
            if len(self._matrices) > 1 and source < len(self._matrices[1]):
                through = np.minimum(self._matrices[1][source].astype(np.float64)[:, None], first)
                with np.errstate(over="ignore"):
                    self.values[1, place] = through.sum(axis=0)
        if (np.isinf(self.values) & ~self._limits.infinite).any():
            raise InputError(TOO_LARGE)

    def solve_all(self, layers: Sequence[int], report: Callable[[int], None]) -> _Uncertain:
        """Solve each pair on a grid for all its layers; what is uncertain of `layers`.

        Attention makes two or three grids, with all sources of a sink on one of them: its rows all
        sum to one.
        """
        searched = np.array(sorted({layer - 1 for layer in layers if layer > 2}), dtype=np.int64)
        parts = [np.zeros(0, _UNCERTAIN)]
        solved = 0
        exponents = self._limits.exponents()
        for exponent in sorted({*exponents.ravel().tolist()}) if searched.size else ():
            net = Network(self._matrices, exponent)
            sinks, places = np.nonzero(np.equal(exponents.T, exponent))
            for job, values in solve_jobs(net, self._jobs(places, sinks), searched, self._threads):
                self.values[2:, job.places, job.sink] = values[2:] * net.unit
                solved += len(job.places)
                report(solved)
            parts.append(self._uncertain(net, searched, places, sinks))
        self.values[self._limits.infinite] = np.inf
        return np.concatenate(parts)

    def _uncertain(
        self,
        net: Network,
        layers: NDArray[np.int64],
        places: NDArray[np.int64],
        sinks: NDArray[np.int64],
    ) -> _Uncertain:
        """What is uncertain of pairs that were solved on the grid of `net`."""
        limits = self._limits
        here = layers[:, None], places, sinks
        uncertain = self.values[here] < net.certain * net.unit
        if uncertain.any():  # `connected` is computed only if it is needed
            uncertain &= limits.connected[here] & ~limits.infinite[here]
        if not uncertain.any():
            return np.zeros(0, _UNCERTAIN)
        layer, pair = np.nonzero(uncertain)
        found = np.zeros(len(layer), _UNCERTAIN)
        found["layer"], found["place"], found["sink"] = layers[layer], places[pair], sinks[pair]
        found["bound"] = np.minimum(
            limits.rows[found["layer"], found["place"]], limits.sinks[found["sink"]]
        )
        return self._left(net, found)

    def solve_finer(self, left: _Uncertain) -> _Uncertain:
        """Solve again, each flow on a grid that is fitted to its bound; what is still uncertain."""
        own = exponents_of(np.maximum(left["bound"], _SMALLEST))
        shared = own.max() - _CLOSE * ((own.max() - own) // _CLOSE)
        exponents = np.where(grid_of(shared) < left["grid"], shared, own)
        finer = grid_of(exponents) < left["grid"]
        self._solve_pairs(left[~finer])
        parts = [np.zeros(0, _UNCERTAIN)]
        for exponent in np.unique(exponents[finer]):
            part = left[finer & (exponents == exponent)]
            net = Network(self._matrices[: part["layer"].max() + 1], int(exponent), limited=True)
            sinks, places = np.unique(np.stack([part["sink"], part["place"]]), axis=1)
            layers = np.unique(part["layer"])
            for job, values in solve_jobs(net, self._jobs(places, sinks), layers, self._threads):
                here = part[part["sink"] == job.sink]
                position = np.searchsorted(job.places, here["place"])
                found = values[here["layer"], position] * net.unit
                if (found > here["bound"] * (1 + 1e-6)).any():
                    raise unproved(f"to node {job.sink}", "it exceeds a cut")
                self.values[here["layer"], here["place"], job.sink] = found
            parts.append(self._left(net, part))
        return np.concatenate(parts)

    def _left(self, net: Network, tried: _Uncertain) -> _Uncertain:
        """What is uncertain after a solve on the grid of `net`, with its new bounds."""
        values = self.values[tried["layer"], tried["place"], tried["sink"]] / net.unit
        lost = net.lost(values)
        tried["bound"] = np.minimum(tried["bound"], (values + lost) * net.unit)
        tried["grid"] = net.grid
        return tried[lost > TOLERANCE * values]

    def _solve_pairs(self, left: _Uncertain) -> None:
        """Solve flows one by one: their own cuts may show that rounding took less from them."""
        for layer, place, sink in left[["layer", "place", "sink"]].tolist():
            solved = solve_pair(self._matrices[: layer + 1], [int(self._sources[place])], [sink])
            self.values[layer, place, sink] = solved.value

    def _jobs(self, places: NDArray[np.int64], sinks: NDArray[np.int64]) -> list[Job]:
        """One job a sink, for pairs in the order of their sinks."""
        starts = [0, *(1 + np.flatnonzero(sinks[1:] != sinks[:-1])).tolist(), len(sinks)]
        return [
            Job(int(sinks[start]), places[start:end], self._sources[places[start:end]])
            for start, end in itertools.pairwise(starts)
        ]
