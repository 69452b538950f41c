"""One maximum flow among many, made unique: by least squares or by a logarithmic barrier.

Both are solved here and not by a general solver of quadratic and conic programs. The linear systems
of such a solver have one unknown per edge; here there is one per node, in blocks of a layer. For
attention of 12 layers and 128 tokens that is 1,408 instead of 196,608: least squares took 1.7
seconds of one core, and 5.3 with Clarabel 0.11.1 at its own tolerances, which left errors of 1e-7
to 1e-6 of the flow instead of 1e-11.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from attnflow.errors import SolverError
from attnflow.maxflow._edges import Edges
from attnflow.maxflow._interior import Point, solve_interior
from attnflow.maxflow._network import Floats, Matrices
from attnflow.maxflow._pair import solve_pair

Objective: TypeAlias = Literal["squares", "log_barrier"]

# Largest error of the flow on an edge and of what a node passes on, relative to the maximum flow,
# and with the barrier relative to the flow itself. Chosen; errors are 1e-11 and less on attention.
TOLERANCE = 1e-8
# The barrier that is left in the least squares, relative to the maximum flow. Chosen: the square
# root of it, which is the flow on edges that should have none, is below the rounding of a sum.
_NO_BARRIER = 1e-24
# With the default weight, the barrier takes at most this share of the maximum flow. Chosen.
_SHARE = 1e-8


class Split(NamedTuple):
    """The maximum flow, one matrix of flows per layer, and the weight of the barrier, if any."""

    value: float
    flows: tuple[Floats, ...]
    mu: float | None


def split_flow(
    matrices: Matrices, sources: Sequence[int], objective: Objective, mu: float | None = None
) -> Split:
    """Return the maximum flow from nodes of the top layer to all of the lowest that is unique.

    Raises SolverError where it is not proved to be a flow, a maximum and the one that is asked for.
    """
    value = solve_pair(matrices, sources, range(matrices[0].shape[1])).value
    if value == 0:
        return Split(value, tuple(np.zeros(m.shape) for m in matrices), mu)
    edges = Edges(matrices, sources, value)
    if objective == "squares":
        flow = _least_squares(edges)
    else:
        if mu is None:
            mu = _SHARE * value / (2 * len(edges.capacity))
        flow = _with_barrier(edges, mu / value)
    flows = [np.minimum(f * value, m) for f, m in zip(edges.matrices(flow), matrices, strict=True)]
    return Split(value, tuple(flows), mu)


def _least_squares(edges: Edges) -> Floats:
    """Return the maximum flow with the least sum of squares, in units of the maximum flow.

    `total − sum f² / 2k` has the same maximum for every k that is large enough, and unlike flows of
    a given total, flows of any total have an interior. The number of nodes is large enough: if f
    is the solution, k need not exceed what f adds up to on some path of the residual graph from
    the sinks to the sources, and on a path of n nodes this is less than n times the maximum flow.
    """
    curvature = 1.0 / (edges.nodes + 2)
    found = solve_interior(edges, curvature=curvature, mu=_NO_BARRIER * curvature)
    # The conditions of Karush, Kuhn and Tucker, in one line.
    flow = np.clip(found.drops / curvature, 0.0, edges.capacity)
    _check(edges, found, float(np.abs(found.flow - flow).max()), missing=TOLERANCE)
    return np.minimum(found.flow, edges.capacity)


def _with_barrier(edges: Edges, mu: float) -> Floats:
    """Return the flow that maximizes `total + mu · sum (log f + log(u − f))`, in the same units."""
    found = solve_interior(edges, curvature=0.0, mu=mu)
    bounded = np.isfinite(edges.capacity)
    low, high = mu / found.flow, np.where(bounded, mu / found.room, 0.0)
    error = float((np.abs(found.drops + low - high) / (low + high)).max())
    products = len(bounded) + int(bounded.sum())
    _check(edges, found, error, missing=products * mu + TOLERANCE)
    return np.minimum(found.flow, edges.capacity)


def _check(edges: Edges, found: Point, error: float, *, missing: float) -> None:
    """Raise SolverError where the point is no flow, or misses the maximum or the objective."""
    flow, total = found.flow, edges.total(found.flow)
    surplus = float(np.abs(edges.surplus(flow)).max(initial=0.0))
    excess = float((flow - edges.capacity).max())
    faults: list[str] = []
    if not (flow.min() >= 0 and excess <= TOLERANCE):
        faults.append(f"an edge carries {excess:.3g} more than its capacity")
    if not surplus <= TOLERANCE:
        faults.append(f"a node keeps {surplus:.3g}")
    if not -TOLERANCE <= 1 - total <= missing:
        faults.append(f"{total:.9g} leaves the sources")
    if not error <= TOLERANCE:
        faults.append(f"the error of a flow is {error:.3g}")
    if faults:
        raise SolverError(
            f"the split has no proof, relative to the maximum flow: {'; '.join(faults)}. This is "
            "an error in attnflow, not in the input; please report it with the graph"
        )
