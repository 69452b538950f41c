"""A layered network in whole numbers: how capacities are made exact, and how infinity goes in.

Capacities become whole numbers on a grid of 2⁻⁵¹ of the largest flow there can be, rounded down,
and are kept in float64. Every sum in a solve stays below 2⁵³, so all its arithmetic is exact: flow
and cut are equal or they are not. The grid is a power of two, so weights that fit it, such as
float32 attention of one head, are not changed at all; for others a value is below the true one by
at most the number of edges in its cut times the grid, some 1e-12 for attention.

An unbounded edge gets a capacity no finite flow can fill. What can reach a sink over unbounded
edges alone has infinite flow, and is known from the edges without a solve.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError

# Every whole number up to 2⁵³ is a float64; one bit is left for sums of two flows.
_BITS = 52


@dataclass(frozen=True, slots=True)
class Network:
    """Capacities (layer, node, node below) in whole numbers of `unit`, padded; layer 0 is unused.

    `endless[d - 1][i, j]` says whether the flow from node i of layer d to node j is infinite;
    `endless` is empty where all capacities are finite.
    """

    capacity: NDArray[np.float64]
    unit: float
    endless: tuple[NDArray[np.bool_], ...]

    @property
    def depth(self) -> int:
        """The number of layers above the sinks."""
        return self.capacity.shape[0] - 1


def network(matrices: Sequence[NDArray[np.floating]]) -> Network:
    """The network of one matrix (n_above, n_below) a layer, bottom first, none negative or NaN."""
    endless = _endless(matrices)
    with np.errstate(over="ignore"):
        largest = _largest_flow(matrices, endless)
    if math.isinf(largest):
        raise InputError(
            "the weights are too large, their sums are beyond float64; divide all by one number"
        )
    # Flow of an endless pair runs over that many unbounded edges side by side; it is not used, but
    # must not upset the arithmetic.
    side_by_side = 1 + max(
        (int(np.isinf(m).sum(axis=axis).max()) for m in matrices for axis in (0, 1)), default=0
    )
    # Wider edges are cut down to twice the largest flow: more than a minimum cut can hold.
    widest_edge = 2 * largest if largest > 0 else 1.0
    # A power of two above the largest sum; the limits keep the unit itself within float64.
    exponent = min(max(math.frexp(widest_edge * side_by_side)[1] - _BITS, -1074), 900)
    nodes_most = max(max(m.shape) for m in matrices)
    nodes = (nodes_most + 7) // 8 * 8
    capacity = np.zeros((len(matrices) + 1, nodes, nodes))
    for layer, m in enumerate(matrices, start=1):
        narrowed = np.minimum(m, widest_edge, dtype=np.float64)
        capacity[layer, : m.shape[0], : m.shape[1]] = np.floor(np.ldexp(narrowed, -exponent))
    return Network(capacity=capacity, unit=math.ldexp(1.0, exponent), endless=endless)


def _endless(matrices: Sequence[NDArray[np.floating]]) -> tuple[NDArray[np.bool_], ...]:
    """For each layer, which nodes reach which sinks over unbounded edges alone."""
    if not any(np.isinf(m).any() for m in matrices):
        return ()
    reach = np.eye(matrices[0].shape[1], dtype=bool)
    found: list[NDArray[np.bool_]] = []
    for m in matrices:
        reach = np.isinf(m).astype(np.float32) @ reach.astype(np.float32) > 0
        found.append(reach)
    return tuple(found)


def _largest_flow(
    matrices: Sequence[NDArray[np.floating]], endless: tuple[NDArray[np.bool_], ...]
) -> float:
    """An upper bound of all finite flows: the largest cut around a sink.

    Around it means around all nodes that reach it over unbounded edges. Without such edges it is
    the sink's column in the lowest layer, and the rows of the sources are a bound as well.
    """
    if not endless:
        rows = max(float(m.sum(axis=1, dtype=np.float64).max()) for m in matrices)
        return min(rows, float(matrices[0].sum(axis=0, dtype=np.float64).max()))
    inside = np.eye(matrices[0].shape[1], dtype=bool)
    around = np.zeros(matrices[0].shape[1])
    for m, reach in zip(matrices, endless, strict=True):
        finite = np.where(np.isinf(m), 0.0, m).astype(np.float64)
        around += np.where(reach, 0.0, finite @ inside.astype(np.float64)).sum(axis=0)
        inside = reach
    return float(around.max())
