"""Maximum flow of one pair, with the flow on every edge and the minimum cut that proves it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.html_table import html_table
from attnflow.errors import InputError
from attnflow.maxflow._network import Matrices, bounds, network
from attnflow.maxflow._unproved import unproved

# The largest gap between flow and cut; rounding leaves some 1e-12.
_GAP = 1e-9


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MaxFlow:
    """A maximum flow from one node down to another, and why there is none larger.

    Flow and cut prove each other: no flow is larger than any cut, and here both are equal
    (Ford & Fulkerson 1956, https://doi.org/10.4153/CJM-1956-045-5).

    Attributes
    ----------
    value
        How much flows.
    flows
        One matrix a layer, shaped as the layers of the graph: what runs over each edge.
    cut
        One boolean array a layer, 0…L: True for nodes on the source's side. The bottleneck is
        the edges from True to False. In the sink's layer all nodes but the sink are True; above
        the source's layer, where nothing flows, all are False.
    cut_value
        The capacity of these edges, added up from the graph.
    """

    value: float
    flows: tuple[NDArray[np.float64], ...]
    cut: tuple[NDArray[np.bool_], ...]
    cut_value: float

    def __post_init__(self) -> None:
        for name in ("flows", "cut"):
            arrays = tuple(checks.as_read_only(array) for array in getattr(self, name))
            object.__setattr__(self, name, arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies from other processes are read-only as well.
        return type(self), (self.value, self.flows, self.cut, self.cut_value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaxFlow):
            return NotImplemented
        mine, theirs = ((m.value, m.cut_value, len(m.flows)) for m in (self, other))
        arrays = zip(self.flows + self.cut, other.flows + other.cut, strict=False)
        return mine == theirs and all(np.array_equal(a, b) for a, b in arrays)

    def __hash__(self) -> int:
        return hash((self.value, self.cut_value))

    def __repr__(self) -> str:
        return f"MaxFlow(value={self.value:.6g}, cut_value={self.cut_value:.6g})"

    def _repr_html_(self) -> str:
        rows = [
            [str(layer), f"{np.count_nonzero(flows)} of {flows.size}", f"{int(side.sum())}"]
            for layer, (flows, side) in enumerate(zip(self.flows, self.cut[1:], strict=True), 1)
        ]
        return html_table(repr(self), ["layer", "edges in use", "nodes before the cut"], rows)


def solve_pair(matrices: Matrices, source: int, sink: int) -> MaxFlow:
    """Maximum flow from node `source` of the top layer to node `sink` of the lowest.

    Raises SolverError where flow and cut do not prove each other.
    """
    limits = bounds(matrices)
    if limits.endless and limits.endless[-1][source, sink]:
        raise InputError(
            f"the flow from node {source} of the top layer to node {sink} is infinite: edges of "
            "infinite weight lead all the way. Ask for another pair, or bound these edges"
        )
    exponent = int(limits.exponents([source])[0, sink])
    net = network(matrices, exponent)
    sizes = [matrices[0].shape[1], *(m.shape[0] for m in matrices)]
    solve = _shallow if net.depth <= 2 else _deep
    whole_flows, inner = solve(net.capacity, source, sink)
    flows = tuple(
        flow[: m.shape[0], : m.shape[1]] * net.unit
        for flow, m in zip(whole_flows, matrices, strict=True)
    )
    lowest = np.ones(sizes[0], dtype=bool)
    lowest[sink] = False
    top = np.zeros(sizes[-1], dtype=bool)
    top[source] = True
    cut = (lowest, *(side[:size] for side, size in zip(inner, sizes[1:], strict=False)), top)
    value = float(flows[-1].sum())
    result = MaxFlow(value, flows, cut, _cut_value(matrices, cut))
    _check(matrices, result, source, sink, net.unit)
    return result


def _shallow(
    capacity: NDArray[np.float64], source: int, sink: int
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.bool_]]]:
    """Flows of layers 1 to d and cuts of layers 1 to d − 1, for d of one or two: closed forms."""
    flows = [np.zeros_like(capacity[layer]) for layer in range(1, len(capacity))]
    into_sink = capacity[1][:, sink]
    if len(flows) == 1:
        flows[0][source, sink] = into_sink[source]
        return flows, []
    through = np.minimum(capacity[2][source], into_sink)
    flows[1][source] = through
    flows[0][:, sink] = through
    return flows, [capacity[2][source] > into_sink]


def _deep(
    capacity: NDArray[np.float64], source: int, sink: int
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.bool_]]]:
    """The same for d of three and more, by search."""
    # The kernels are imported where they are needed: they bring Numba's compiler along.
    from attnflow.maxflow._climb import nothing_known  # noqa: PLC0415
    from attnflow.maxflow._sink import climb_alone  # noqa: PLC0415
    from attnflow.maxflow._state import new_workspace  # noqa: PLC0415

    layers, nodes, _ = capacity.shape
    workspace = new_workspace(capacity)
    if not climb_alone(workspace, nothing_known(layers, nodes), sink, source, layers - 1):
        raise unproved(f"from {source} to {sink}", "flow and cut differ")
    flows = [capacity[layer] - workspace.room[layer] for layer in range(1, layers)]
    flows[0] = np.zeros_like(flows[0])
    flows[0][:, sink] = capacity[1][:, sink] - workspace.sink_room
    flows[-1] = np.zeros_like(flows[-1])
    flows[-1][source] = capacity[-1][source] - workspace.supply
    bits = workspace.seen[1 : layers - 1].view(np.uint8)
    seen = np.unpackbits(bits, axis=1, bitorder="little").astype(bool)
    return flows, list(seen)


def _cut_value(matrices: Matrices, cut: Sequence[NDArray[np.bool_]]) -> float:
    return float(
        sum(
            m[np.ix_(above, ~below)].sum(dtype=np.float64)
            for m, below, above in zip(matrices, cut, cut[1:], strict=False)
        )
    )


def _check(matrices: Matrices, result: MaxFlow, source: int, sink: int, unit: float) -> None:
    """A flow and a cut of the same size, or an error that says what is wrong."""
    # For flows below one the gap shrinks with what the pair may carry, for those above it grows.
    allowed = _GAP * max(result.value, min(1.0, unit * 2.0**50))
    faults: list[str] = []
    for layer, (flow, m) in enumerate(zip(result.flows, matrices, strict=True), start=1):
        if (flow < 0).any() or (flow > m).any():
            faults.append(f"layer {layer} carries more than its capacity")
        if layer > 1:
            kept = flow.sum(axis=0) - result.flows[layer - 2].sum(axis=1)
            if np.abs(kept).max() > allowed:
                faults.append(f"nodes of layer {layer - 1} keep {np.abs(kept).max():.3g}")
    arriving = float(result.flows[0][:, sink].sum())
    leaving = float(result.flows[-1][source].sum())
    if abs(arriving - result.value) > allowed or abs(leaving - result.value) > allowed:
        faults.append(f"{leaving:.9g} leaves the source and {arriving:.9g} arrives")
    gap = abs(result.cut_value - result.value)
    if gap > allowed:
        faults.append(f"the flow is {result.value:.9g} and the cut {result.cut_value:.9g}")
    if len(faults) == 1 and allowed < gap <= unit * sum(m.size for m in matrices):
        raise InputError(
            "the weights differ too widely: source and sink may carry so much more than the flow "
            f"of {result.value:.3g} between them that it is known to {gap:.1g} only; narrow them"
        )
    if faults:
        raise unproved(f"from {source} to {sink}", "; ".join(faults))
