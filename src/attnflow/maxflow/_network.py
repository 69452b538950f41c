"""A layered network in integers: how capacities are made exact, and how infinity goes in.

Capacities become integers on a grid of about 2⁻⁵⁰ of the largest flow, rounded down, and are kept
in float64. Every sum in a solve stays below 2⁵³, so all its arithmetic is exact: flow and cut are
equal or they are not. The grid is a power of two, so weights that are multiples of it are not
changed at all.

What is lost is the rounding of the capacities. A minimum cut of the rounded network is a cut of the
true one, too:

    value <= true value <= value + what rounding took from the edges of the cut

`Network.lost` bounds the last term. It is tiny where the grid is fitted to the flow, and may be all
of the flow where the grid is fitted to a much larger one. Then the flow is solved again on a finer
grid (`_values`, `_pair`), in which edges that are wider than the flow are clipped.

An unbounded edge gets a capacity no finite flow can fill. A source that unbounded edges alone
connect to a sink has infinite flow; the edges show it without a solve.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError

Matrices = Sequence[NDArray[np.floating]]
Floats = NDArray[np.float64]

TOO_LARGE = "the sums of the weights overflow float64. Divide all weights by a constant"

# The largest error of a value, relative to it. Chosen for this project.
TOLERANCE = 1e-9

# A flow that is at least this share of what source and sink allow is set to just that, see `_sink`.
# Chosen here: 2⁻³⁵ is 3e-11, far above the rounding of a row sum and far below the error of 1e-9
# that a value may have.
NEARLY = 1.0 - 2.0**-35

# Every integer up to 2⁵³ is a float64; one bit is left for sums of two flows.
_BITS = 52
# The exponents of the smallest float64, and of what no float64 can hold.
_SMALLEST, _BEYOND = -1074, 1025
# Edges of layers that are rounded together. Chosen.
_STACKED = 2**14
# Units; more than all edges lose together where `ldexp` underflows.
_UNDERFLOW = 1e-280


class Network:
    """Capacities (layer, node, node below), integers of `unit`, padded; layer 0 is unused.

    They are fitted to flows of at most `2 ** exponent`. With `limited`, a layer below the sinks
    lets each of them take no more than twice that, so larger flows are clipped; without it there
    must be none. `grid` is the exponent of `unit`, `first` the layer of the lowest matrix.
    """

    def __init__(self, matrices: Matrices, exponent: int, *, limited: bool = False) -> None:
        # Twice the largest flow must be a float64, and some edges in parallel.
        if exponent > _BEYOND - 5:
            raise InputError(TOO_LARGE)
        # Wider edges are clipped to twice the largest flow: more than a minimum cut can hold.
        self._widest = math.ldexp(1.0, max(exponent + 1, _SMALLEST))
        # An infinite flow uses that many unbounded edges in parallel. Its value is not used, but
        # must not overflow.
        parallel = 1 if limited else 1 + _most_unbounded(matrices)
        self.grid = int(grid_of(exponent + math.ceil(math.log2(parallel))))
        self.unit = math.ldexp(1.0, self.grid)
        self.first = 2 if limited else 1
        nodes = (max(max(m.shape) for m in matrices) + 7) // 8 * 8
        self.capacity = np.zeros((len(matrices) + self.first, nodes, nodes))
        if limited:
            np.fill_diagonal(self.capacity[1], math.ldexp(self._widest, -self.grid))
        self._matrices = matrices
        self._all_lost = _UNDERFLOW
        layer = self.first
        for stack in _stacks(matrices):
            scaled, (count, above, below) = self._scaled(stack), stack.shape
            rounded = np.floor(scaled, out=self.capacity[layer : layer + count, :above, :below])
            scaled -= rounded
            self._all_lost += float(np.add.reduce(scaled, axis=None))
            layer += count

    @property
    def depth(self) -> int:
        """The number of layers above the sinks."""
        return self.capacity.shape[0] - 1

    @property
    def certain(self) -> float:
        """The number of units from which on rounding changes no flow beyond the tolerance."""
        return self._all_lost / TOLERANCE

    def lost(self, values: Floats) -> Floats:
        """Upper bounds, in units, of what rounding took from flows that are `values` units here.

        The edges of a minimum cut add up to the flow, so there are at most as many of them as of
        the narrowest edges that do. Each loses less than a unit; one narrower than a unit, itself.
        """
        narrower, sums = self._narrowest
        edges = np.searchsorted(sums, values * (1 + 1e-6), side="right")
        return np.minimum(self._all_lost, narrower + edges)

    @cached_property
    def _narrowest(self) -> tuple[float, Floats]:
        """The sum of all edges narrower than a unit, and running sums of the others, rounded."""
        narrower, others = _UNDERFLOW, [np.zeros(0)]
        for m in self._matrices:
            scaled = self._scaled(m)
            rounded = np.floor(scaled)
            narrower += float(scaled[rounded == 0].sum())
            others.append(rounded[(rounded > 0) & (rounded < scaled)])
        return narrower, np.cumsum(np.sort(np.concatenate(others)))

    def _scaled(self, m: NDArray[np.floating]) -> Floats:
        """Capacities in units, before they are rounded down."""
        return np.ldexp(np.minimum(m, self._widest, dtype=np.float64), -self.grid)


class Bounds:
    """Upper bounds of the finite flows from some sources, and which flows are infinite or zero.

    `rows[d - 1, i]` is what source i sends at most from layer d, `sinks[j]` what node j of layer 0
    takes. `infinite[d - 1, i, j]` says whether the flow from source i of layer d to node j is
    infinite, `connected` whether it is more than zero. A source that a layer does not have sends
    nothing.
    """

    def __init__(self, matrices: Matrices, sources: Sequence[int]) -> None:
        self._matrices, self._sources = matrices, np.array(sources, dtype=np.int64)
        infinite = _joined(matrices, np.isinf) if _any_unbounded(matrices) else []
        with np.errstate(over="ignore"):
            sums = [np.add.reduce(m, axis=1, dtype=np.float64) for m in matrices]
            self.rows = self._of_sources(sums)
            self.sinks = _around_sinks(matrices, infinite)
        shape = (*self.rows.shape, len(self.sinks))
        self.infinite = self._of_sources(infinite) if infinite else np.zeros(shape, dtype=bool)

    def exponents(self) -> NDArray[np.int64]:
        """Exponents of two (source, sink) that no finite flow from any layer exceeds."""
        return exponents_of(np.minimum.outer(self.rows.max(axis=0), self.sinks))

    @cached_property
    def connected(self) -> NDArray[np.bool_]:
        return self._of_sources(_joined(self._matrices, lambda m: m > 0))

    def _of_sources(self, layers: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The rows of the sources in every layer, zero where a layer has no such node."""
        found = np.zeros((len(layers), len(self._sources), *layers[0].shape[1:]), layers[0].dtype)
        for of_sources, of_nodes in zip(found, layers, strict=True):
            exists = self._sources < len(of_nodes)
            of_sources[exists] = of_nodes[self._sources[exists]]
        return found


def exponents_of(bounds: Floats) -> NDArray[np.int64]:
    """Exponents of powers of two that no flow within `bounds` exceeds."""
    with np.errstate(over="ignore"):
        # A little more, so that row sums of one and of nearly one get the same grid.
        more = bounds * (1 + 1e-6)
    return np.where(np.isinf(more), _BEYOND, np.frexp(more)[1].astype(np.int64))


def grid_of(exponents: Any) -> Any:
    """Exponents of the units for flows up to `2 ** exponents`, clipped to twice that."""
    return np.maximum(exponents + 1 - _BITS, _SMALLEST)


def _most_unbounded(matrices: Matrices) -> int:
    """The largest number of unbounded edges that leave or enter one node."""
    if not _any_unbounded(matrices):
        return 0
    return max(int(np.isinf(m).sum(axis=axis).max()) for m in matrices for axis in (0, 1))


def _any_unbounded(matrices: Matrices) -> bool:
    return any(np.maximum.reduce(stack, axis=None) == np.inf for stack in _stacks(matrices))


def _stacks(matrices: Matrices) -> Iterator[NDArray[np.floating]]:
    """Matrices of one shape together, (layer, node, node below): small ones cost calls, not work.

    A large one is alone, so that little memory is needed.
    """
    for (above, below), group in itertools.groupby(matrices, key=lambda m: m.shape):
        alike, step = list(group), max(1, _STACKED // (above * below))
        for start in range(0, len(alike), step):
            part = alike[start : start + step]
            yield np.array(part) if len(part) > 1 else part[0][None]


def _joined(
    matrices: Matrices, edges: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> list[NDArray[np.bool_]]:
    """For each layer, which nodes are connected to which sinks by such edges alone."""
    joined = np.eye(matrices[0].shape[1], dtype=bool)
    found: list[NDArray[np.bool_]] = []
    for m in matrices:
        # Some BLAS builds set floating-point flags for lanes that are not part of the result.
        with np.errstate(all="ignore"):
            joined = edges(m).astype(np.float32) @ joined.astype(np.float32) > 0
        found.append(joined)
    return found


def _around_sinks(matrices: Matrices, infinite: Sequence[NDArray[np.bool_]]) -> Floats:
    """The capacity of a cut around each sink and all nodes with an infinite flow to it.

    Without such nodes it is the sink's column in the lowest layer.
    """
    if not infinite:
        return matrices[0].sum(axis=0, dtype=np.float64)
    inside = np.eye(matrices[0].shape[1], dtype=bool)
    around = np.zeros(matrices[0].shape[1])
    for m, joined in zip(matrices, infinite, strict=True):
        finite = np.where(np.isinf(m), 0.0, m).astype(np.float64)
        around += np.where(joined, 0.0, finite @ inside.astype(np.float64)).sum(axis=0)
        inside = joined
    return around
