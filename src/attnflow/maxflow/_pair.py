"""Maximum flow of one pair with the flow on every edge and the cut that proves it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.html_table import html_table
from attnflow._internal.records import Record
from attnflow.errors import InputError, SolverError
from attnflow.maxflow._choice import load_kernels, takes_plain
from attnflow.maxflow._network import (
    TOLERANCE,
    TOO_LARGE,
    Bounds,
    Floats,
    Matrices,
    Network,
    exponents_of,
)
from attnflow.maxflow._plain import PlainFlow, PlainNetwork
from attnflow.maxflow._sets import merge_columns, spread


@dataclass(frozen=True, slots=True, eq=False)
class MaxFlow(Record):
    """A maximum flow from one node down to another or to a set, and why there is none larger.

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
        the edges from True to False. In the sink's layer all nodes but the sink, or those of a
        set, are True; above the source's layer, where nothing flows, all are False.
    cut_value
        The capacity of these edges, added up from the graph.
    """

    value: float
    flows: tuple[NDArray[np.float64], ...]
    cut: tuple[NDArray[np.bool_], ...]
    cut_value: float

    def __post_init__(self) -> None:
        self._set(
            flows=tuple(map(checks.as_read_only, self.flows)),
            cut=tuple(map(checks.as_read_only, self.cut)),
        )

    def __repr__(self) -> str:
        return f"MaxFlow(value={self.value:.6g}, cut_value={self.cut_value:.6g})"

    def _repr_html_(self) -> str:
        rows = [
            [str(layer), f"{np.count_nonzero(flows)} of {flows.size}", f"{int(side.sum())}"]
            for layer, (flows, side) in enumerate(zip(self.flows, self.cut[1:], strict=True), 1)
        ]
        return html_table(repr(self), ["layer", "edges in use", "nodes before the cut"], rows)


def solve_pair(matrices: Matrices, sources: Sequence[int], sinks: Sequence[int]) -> MaxFlow:
    """Maximum flow from some nodes of the top layer to some of the lowest, each set taken as one.

    Nodes are distinct. Raises SolverError where flow and cut do not prove each other.
    """
    what = f"from {_named(sources)} to {_named(sinks)}"
    network, source, sink = _merged(matrices, sources, sinks)
    limits = Bounds(network, [source])
    if limits.infinite[-1, 0, sink]:
        raise InputError(
            f"the flow {what} is infinite: a path of infinite weights connects them. Choose "
            "other nodes, or make these weights finite"
        )
    if len(matrices) <= 2:
        result = _result(matrices, sources, sinks, *_shallow(network, source, sink))
    else:
        bound = min(limits.rows[-1, 0], limits.sinks[sink])
        exponent = _exponent(bound)
        while True:
            flows, inner = _deep(network, source, sink, exponent, what)
            result = _result(matrices, sources, sinks, flows, inner)
            # The flow is not larger than any cut, which may allow for a finer grid.
            finer = _exponent(result.cut_value)
            if _gap(result) <= TOLERANCE * result.value or finer >= exponent:
                break
            exponent = finer
    _check(matrices, result, sources, sinks, what)
    return result


def _named(nodes: Sequence[int]) -> str:
    """Return nodes as errors name them.

    >>> _named([3]), _named([3, 5]), _named(range(20))
    ('node 3', 'nodes 3, 5', '20 nodes')
    """
    if len(nodes) > 10:
        return f"{len(nodes)} nodes"
    return f"node{'s' if len(nodes) > 1 else ''} {', '.join(map(str, nodes))}"


def _merged(
    matrices: Matrices, sources: Sequence[int], sinks: Sequence[int]
) -> tuple[list[NDArray[np.floating]], int, int]:
    """The network in which each set of several nodes is one, its source and its sink."""
    network, source, sink = list(matrices), sources[0], sinks[0]
    if len(sinks) > 1:
        network[0], sink = merge_columns(network[0], [sinks]), 0
    # A single source keeps its position: a search starts from the flow of the node below it.
    if len(sources) > 1:
        network[-1], source = merge_columns(network[-1].T, [sources]).T, 0
    return network, source, sink


def unproved(what: str, why: str) -> SolverError:
    """The error that says which value has no proof, and what its check found."""
    return SolverError(
        f"the maximum flow {what} has no proof: {why}. This is an error in attnflow, not in the "
        "input; please report it with the graph"
    )


def _exponent(bound: float) -> int:
    return int(exponents_of(np.array(bound)))


def _result(
    matrices: Matrices,
    sources: Sequence[int],
    sinks: Sequence[int],
    flows: Sequence[Floats],
    inner: Sequence[NDArray[np.bool_]],
) -> MaxFlow:
    """Flows and cut with their values, from those of the network in which each set is one node."""
    lowest = np.ones(matrices[0].shape[1], dtype=bool)
    lowest[list(sinks)] = False
    top = np.zeros(len(matrices[-1]), dtype=bool)
    top[list(sources)] = True
    cut = (lowest, *inner, top)
    flows = _unmerged(matrices, sources, sinks, flows)
    with np.errstate(over="ignore"):
        value = float(flows[-1].sum())
        cut_value = sum(
            float(m[np.ix_(above, ~below)].sum(dtype=np.float64))
            for m, below, above in zip(matrices, cut, cut[1:], strict=False)
        )
    if value == np.inf:
        raise InputError(TOO_LARGE)
    return MaxFlow(value, tuple(flows), cut, cut_value)


def _unmerged(
    matrices: Matrices, sources: Sequence[int], sinks: Sequence[int], flows: Sequence[Floats]
) -> list[Floats]:
    """Flows over the edges of the matrices, from those of the network of `_merged`."""
    spread_flows = list(flows)
    if len(sources) > 1:
        top = _merged(matrices, sources[:1], sinks)[0][-1]
        spread_flows[-1] = np.zeros(top.shape)
        spread_flows[-1][list(sources)] = spread(flows[-1][0], top[list(sources)].T).T
    if len(sinks) > 1:
        lowest, merged = matrices[0], spread_flows[0][:, 0]
        spread_flows[0] = np.zeros(lowest.shape)
        spread_flows[0][:, list(sinks)] = spread(merged, lowest[:, list(sinks)])
    return spread_flows


def _shallow(
    matrices: Matrices, source: int, sink: int
) -> tuple[list[Floats], list[NDArray[np.bool_]]]:
    """Flows of layers 1 to d and cuts of layers 1 to d − 1, for d of one or two: closed forms."""
    flows = [np.zeros(m.shape) for m in matrices]
    into_sink = matrices[0][:, sink].astype(np.float64)
    if len(flows) == 1:
        flows[0][source, sink] = into_sink[source]
        return flows, []
    row = matrices[1][source].astype(np.float64)
    flows[1][source] = flows[0][:, sink] = np.minimum(row, into_sink)
    return flows, [row > into_sink]


def _deep(
    matrices: Matrices, source: int, sink: int, exponent: int, what: str
) -> tuple[list[Floats], list[NDArray[np.bool_]]]:
    """The same for d of three and more, by search, for a flow of at most `2 ** exponent`."""
    net = Network(matrices, exponent, limited=True)
    flow, visited = (_by_plain if takes_plain(net, np.array([net.depth]), 1) else _by_kernels)(
        net, source, sink, what
    )
    flows = [
        part[: m.shape[0], : m.shape[1]] * net.unit
        for part, m in zip(flow[net.first :], matrices, strict=True)
    ]
    return flows, [side[: len(m)] for side, m in zip(visited[net.first :], matrices, strict=False)]


def _by_plain(net: Network, source: int, sink: int, what: str) -> tuple[Floats, NDArray[np.bool_]]:
    """The flow over each edge of a network, in units, and the source's side of a cut."""
    solved = PlainFlow(PlainNetwork(net.capacity), source, sink)
    solved.solve(net.depth)
    if not solved.proved:
        raise unproved(what, "flow and cut differ")
    return solved.flow, solved.visited


def _by_kernels(
    net: Network, source: int, sink: int, what: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """The same, by compiled code."""
    capacity = net.capacity
    layers, nodes, _ = capacity.shape
    load_kernels(nodes)
    # The kernels are imported where they are needed: they bring Numba's compiler along.
    from attnflow.maxflow._sink import solve_one_source  # noqa: PLC0415
    from attnflow.maxflow._source import new_sink_bounds  # noqa: PLC0415
    from attnflow.maxflow._state import new_workspace  # noqa: PLC0415

    workspace = new_workspace(capacity)
    if not solve_one_source(workspace, new_sink_bounds(layers, nodes), sink, source, net.depth):
        raise unproved(what, "flow and cut differ")
    flow = capacity - workspace.residual
    flow[-1] = 0.0
    flow[-1, source] = capacity[-1, source] - workspace.supply
    bits = workspace.visited[:-1].view(np.uint8)
    return flow, np.unpackbits(bits, axis=1, bitorder="little").astype(bool)


def _gap(result: MaxFlow) -> float:
    return abs(result.cut_value - result.value)


def _check(
    matrices: Matrices, result: MaxFlow, sources: Sequence[int], sinks: Sequence[int], what: str
) -> None:
    """A flow and a cut of the same size, or an error that says what is wrong."""
    allowed = TOLERANCE * result.value
    faults: list[str] = []
    for layer, (flow, m) in enumerate(zip(result.flows, matrices, strict=True), start=1):
        if (flow < 0).any() or (flow > m).any():
            faults.append(f"layer {layer} carries more than its capacity")
        if layer > 1:
            kept = flow.sum(axis=0) - result.flows[layer - 2].sum(axis=1)
            if np.abs(kept).max() > allowed:
                faults.append(f"nodes of layer {layer - 1} keep {np.abs(kept).max():.3g}")
    arriving = float(result.flows[0][:, list(sinks)].sum())
    leaving = float(result.flows[-1][list(sources)].sum())
    if abs(arriving - result.value) > allowed or abs(leaving - result.value) > allowed:
        faults.append(f"{leaving:.9g} leaves the source and {arriving:.9g} arrives")
    if _gap(result) > allowed:
        faults.append(f"the flow is {result.value:.9g} and the cut {result.cut_value:.9g}")
    if faults:
        raise unproved(what, "; ".join(faults))
