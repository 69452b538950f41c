"""A layered network in whole numbers: how capacities are made exact, and how infinity goes in.

Capacities become whole numbers on a grid of about 2⁻⁵⁰ of the largest flow that is asked for,
rounded down, and are kept in float64. Every sum in a solve stays below 2⁵³, so all its arithmetic
is exact: flow and cut are equal or they are not. What is lost is the rounding of the capacities: a
value is below the true one by at most the number of edges in its cut times the grid, some 1e-12 for
attention. The grid is a power of two, so weights that are multiples of it are not changed at all.

The grid is fitted to what the source may send and the sink may take, so that one wide edge does not
blur the flow of others: `Bounds` says how wide it must be.

An unbounded edge gets a capacity no finite flow can fill. What can reach a sink over unbounded
edges alone has infinite flow, and is known from the edges without a solve.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError

Matrices = Sequence[NDArray[np.floating]]

TOO_LARGE = "the weights are too large, their sums are beyond float64; divide all by one number"

# Every whole number up to 2⁵³ is a float64; one bit is left for sums of two flows.
_BITS = 52
# The exponent of what float64 cannot hold.
_BEYOND = 1025


@dataclass(frozen=True, slots=True)
class Network:
    """Capacities (layer, node, node below), whole numbers of `unit`, padded; layer 0 is unused."""

    capacity: NDArray[np.float64]
    unit: float

    @property
    def depth(self) -> int:
        """The number of layers above the sinks."""
        return self.capacity.shape[0] - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds of finite flows, and which flows are infinite.

    `exponents(sources)[i, j]` is a power of two that no flow from source i of any layer to sink j
    exceeds. `endless[d - 1][i, j]` says whether the flow from node i of layer d to node j is
    infinite; it is empty where all capacities are finite.
    """

    of_sources: NDArray[np.float64]
    of_sinks: NDArray[np.float64]
    endless: tuple[NDArray[np.bool_], ...]

    def exponents(self, sources: Sequence[int]) -> NDArray[np.int64]:
        """Exponents of two (source, sink)."""
        pairs = np.minimum(self.of_sources[list(sources)][:, None], self.of_sinks[None, :])
        with np.errstate(over="ignore"):
            # A little more, so that row sums of one and of nearly one get the same grid.
            pairs = pairs * (1 + 1e-6)
        return np.where(np.isinf(pairs), _BEYOND, np.frexp(pairs)[1].astype(np.int64))


def bounds(matrices: Matrices) -> Bounds:
    """Bounds by the rows of a source in all layers, and by a cut around a sink."""
    endless = _endless(matrices)
    nodes = max(len(m) for m in matrices)
    of_sources = np.zeros(nodes)
    with np.errstate(over="ignore"):
        for m in matrices:
            rows = m.sum(axis=1, dtype=np.float64)
            of_sources[: len(rows)] = np.maximum(of_sources[: len(rows)], rows)
        of_sinks = _around_sinks(matrices, endless)
    return Bounds(of_sources, of_sinks, endless)


def network(matrices: Matrices, exponent: int) -> Network:
    """The network of one matrix (n_above, n_below) a layer, for flows of at most 2 ** exponent."""
    # Wider edges are cut down to twice the largest flow: more than a minimum cut can hold.
    widest = 2.0 * _power_of_two(exponent)
    # Flow of an endless pair runs over that many unbounded edges side by side; it is not used, but
    # must not upset the arithmetic.
    side_by_side = 1 + max(
        int(np.isinf(m).sum(axis=axis).max()) for m in matrices for axis in (0, 1)
    )
    unit = max(math.ceil(math.log2(widest * side_by_side)) - _BITS, -1074)
    most = max(max(m.shape) for m in matrices)
    nodes = (most + 7) // 8 * 8
    capacity = np.zeros((len(matrices) + 1, nodes, nodes))
    for layer, m in enumerate(matrices, start=1):
        narrowed = np.minimum(m, widest, dtype=np.float64)
        capacity[layer, : m.shape[0], : m.shape[1]] = np.floor(np.ldexp(narrowed, -unit))
    return Network(capacity=capacity, unit=math.ldexp(1.0, unit))


def _power_of_two(exponent: int) -> float:
    # 2 ** 1020 leaves room for twice the largest flow and a few unbounded edges side by side.
    if exponent > _BEYOND - 5:
        raise InputError(TOO_LARGE)
    return math.ldexp(1.0, max(exponent, -1074))


def _endless(matrices: Matrices) -> tuple[NDArray[np.bool_], ...]:
    """For each layer, which nodes reach which sinks over unbounded edges alone."""
    if not any(np.isinf(m).any() for m in matrices):
        return ()
    reach = np.eye(matrices[0].shape[1], dtype=bool)
    found: list[NDArray[np.bool_]] = []
    for m in matrices:
        reach = np.isinf(m).astype(np.float32) @ reach.astype(np.float32) > 0
        found.append(reach)
    return tuple(found)


def _around_sinks(
    matrices: Matrices, endless: tuple[NDArray[np.bool_], ...]
) -> NDArray[np.float64]:
    """The capacity of a cut around each sink and all nodes that reach it over unbounded edges.

    Without such edges it is the sink's column in the lowest layer.
    """
    if not endless:
        return matrices[0].sum(axis=0, dtype=np.float64)
    inside = np.eye(matrices[0].shape[1], dtype=bool)
    around = np.zeros(matrices[0].shape[1])
    for m, reach in zip(matrices, endless, strict=True):
        finite = np.where(np.isinf(m), 0.0, m).astype(np.float64)
        around += np.where(reach, 0.0, finite @ inside.astype(np.float64)).sum(axis=0)
        inside = reach
    return around
