"""`max_flow`: one maximum flow on its graph, and the minimum cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import numbered, one_line, token_names
from attnflow.errors import InputError
from attnflow.maxflow import MaxFlow
from attnflow.plot import _axes
from attnflow.plot._checks import check_title, require_matplotlib
from attnflow.plot._layered import MIN_ASPECT, MIN_SHARE, Stack, draw_edges, draw_nodes, frame
from attnflow.plot._names import short
from attnflow.plot._palette import COLOURS, CUT, GREY, INK, PALE
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FLOW = COLOURS["flow"]
_SOURCE_SIDE = "#BFE3D8"  # nodes on the source's side of the cut: the colour of flow, lighter
# Share of the value; a smaller flow on an edge is rounding. Chosen far below what is visible.
_ROUNDING = 1e-9
# Relative tolerance of sums of flow and cut, as in the certificate.
_TOLERANCE = 1e-9
# Cut edges that get a bar each; more would overlap. Chosen by eye.
_MAX_BARS = 80
# Inches for the legend. Chosen: its longest line.
_LEGEND_INCHES = 2.0
# Half the length of a bar across a cut edge, as a share of the largest edge width, and its limits
# in points. Chosen by eye.
_BAR, _BAR_POINTS = 1.2, (3.0, 6.0)
# Place of the bar on its edge, from the nearer end. Chosen: away from the nodes and from the
# middle, where edges cross.
_BAR_AT = 1 / 3


def max_flow(
    graph: AttentionGraph | Attention | EncoderDecoderAttention,
    result: MaxFlow,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one maximum flow on the edges of its graph, with the minimum cut.

    Edges with flow are green, as wide as their flow. Edges of the cut, which are saturated and sum
    to the value of the flow, are orange, with a bar across each unless there are more than 80.
    Nodes before the cut, on the source's side, are shaded. Grey edges carry no flow. Source and
    sink have rings.

    Parameters
    ----------
    graph
        The graph of the flow, or the attention it was built from.
    result
        The result of `attnflow.max_flow` on it.
    title
        Title; by default source, sink, flow and cut.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    Only the layers from the sink to the source are drawn. All edges of the cut are drawn, and at
    most the 20,000 largest of the others.
    Ford & Fulkerson (1956), https://doi.org/10.4153/CJM-1956-045-5

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> g = af.AttentionGraph([[[0.5, 0.5], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]])
    >>> ax = plot.max_flow(g, af.max_flow(g, source=(2, 0), sink=0))
    >>> print(ax.get_title())
    position 0 at layer 2 → position 0
    flow 0.700 = cut 0.700
    """
    check_title(title)
    pair = _pair(graph, result)
    require_matplotlib()
    from matplotlib.colors import to_rgb

    layers = [str(layer) if layer else "input" for layer in range(pair.onto, pair.layer + 1)]
    width, height = _axes.size_for(pair.columns, len(layers), min_aspect=MIN_ASPECT)
    ax = _axes.axes(ax, (width + _LEGEND_INCHES, height))
    _draw_legend(ax, pair)  # first, because labels use the space that it leaves
    # The sinks are labelled in any case.
    label_weights = [float(position in pair.sinks) for position in range(len(pair.names))]
    frame(ax, pair.stack, pair.names, layers, weights=label_weights)
    finite = [capacity[np.isfinite(capacity)] for capacity in pair.capacities]
    largest = max(float(capacity.max(initial=0.0)) for capacity in finite) or 1.0
    widest = max(float(flow.max()) for flow in pair.flows)
    rest = [np.where((flow > 0) | cut, 0.0, c) for flow, cut, c in pair.edges]
    _ = draw_edges(ax, pair.stack, rest, colour=GREY, vmax=largest, opacity=0.25)
    running = [np.where(cut, 0.0, flow) for flow, cut, _ in pair.edges]
    _ = draw_edges(
        ax, pair.stack, running, colour=_FLOW, vmax=widest, min_share=MIN_SHARE / 2, zorder=1.5
    ).set_gid("flow")
    full = [np.where(cut, flow, 0.0) for flow, cut, _ in pair.edges]
    # Narrow edges too: the cut is shown completely.
    drawn = draw_edges(ax, pair.stack, full, colour=CUT, vmax=widest, min_share=_ROUNDING, zorder=2)
    drawn.set_gid("cut")
    if sum(int(cut.sum()) for _, cut, _ in pair.edges) <= _MAX_BARS:
        drawn.set_color(CUT)  # opaque
        _draw_bars(ax, pair)
    else:
        drawn.set_color((*to_rgb(CUT), 0.3))
    _draw_ends(ax, pair)
    equal = f"flow {result.value:.3f} = cut {result.cut_value:.3f}"
    _axes.set_title(ax, f"{pair.ends}\n{equal}" if title is None else title)
    return ax


@dataclass(frozen=True, slots=True)
class _Pair:
    """The part of a graph between source and sink."""

    layer: int  # the source's
    source: int
    onto: int  # the sink's layer
    sinks: tuple[int, ...]  # one, or a set
    stack: Stack
    ends: str  # names of source and sinks
    names: tuple[str, ...]  # of the sink's layer
    capacities: list[NDArray[np.float64]]
    flows: list[NDArray[np.float64]]
    sides: list[NDArray[np.bool_]]  # for each row, True on the source's side

    @property
    def columns(self) -> tuple[str, ...]:
        """The names, padded if a row above has more nodes."""
        return self.names + ("",) * (self.stack.widest - len(self.names))

    @property
    def edges(self) -> list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]]:
        """For each layer the flow on its edges, which of them are cut, and their capacities."""
        cuts = [
            above[:, None] & ~below[None, :] & (capacity > 0)
            for below, above, capacity in zip(
                self.sides, self.sides[1:], self.capacities, strict=False
            )
        ]
        return list(zip(self.flows, cuts, self.capacities, strict=True))


def _pair(graph: object, result: object) -> _Pair:
    if isinstance(graph, Attention | EncoderDecoderAttention):
        graph = graph.graph()
    if not isinstance(graph, AttentionGraph) or not isinstance(result, MaxFlow):
        raise InputError(
            "expected an AttentionGraph and a MaxFlow of it, got "
            f"{type(graph).__name__} and {type(result).__name__}"
        )
    if [flow.shape for flow in result.flows] != [matrix.shape for matrix in graph.layers]:
        raise InputError(
            f"the flow is of another graph: it has {len(result.flows)} layers, the lowest of shape "
            f"{result.flows[0].shape}, and the graph has {graph.n_layers}, the lowest of shape "
            f"{graph.layers[0].shape}. Pass the graph that max_flow was called with"
        )
    # See `MaxFlow.cut`: above the source all nodes are False, below the sink all are True.
    layer = max(number for number, side in enumerate(result.cut) if side.any())
    onto = min(number for number, side in enumerate(result.cut) if not side.all())
    matrices = [*graph.layers[onto : layer - 1], graph.top(layer)]
    source = int(np.argmax(result.cut[layer]))
    sinks = tuple(np.flatnonzero(~result.cut[onto]).tolist())
    _check_same_graph(result, matrices, onto)
    smallest = _ROUNDING * result.value
    names = ", ".join(_node_name(graph, onto, sink) for sink in sinks)
    lower = one_line(names) + (f" at layer {onto}" if onto else "")
    return _Pair(
        layer=layer,
        source=source,
        onto=onto,
        sinks=sinks,
        stack=Stack(graph.sizes[onto : layer + 1]),
        ends=f"{_node_name(graph, layer, source)} at layer {layer} → {lower}",
        names=token_names(graph.names(onto)),
        capacities=[matrix.astype(np.float64) for matrix in matrices],
        flows=[np.where(flow > smallest, flow, 0.0) for flow in result.flows[onto:layer]],
        sides=list(result.cut[onto : layer + 1]),
    )


def _check_same_graph(result: MaxFlow, matrices: Sequence[NDArray[Any]], onto: int) -> None:
    """Raise InputError where flow or cut do not fit the capacities of the graph."""
    problem = ""
    cut_value = 0.0
    for layer, matrix in enumerate(matrices, start=onto + 1):
        flow = result.flows[layer - 1]
        # Negated, so that NaN is found as well.
        over = ~(flow <= matrix.astype(np.float64) * (1 + _TOLERANCE) + _TOLERANCE * result.value)
        if over.any() and not problem:
            i, k = (int(place[0]) for place in np.nonzero(over))
            problem = (
                f"the flow from position {i} of layer {layer} to position {k} below is "
                f"{flow[i, k]:.3g}, and the capacity is {matrix[i, k]:.3g}"
            )
        above, below = result.cut[layer], result.cut[layer - 1]
        cut_value += float(matrix[np.ix_(above, ~below)].sum(dtype=np.float64))
    if not problem and not abs(cut_value - result.cut_value) <= _TOLERANCE * result.cut_value:
        problem = (
            f"its cut is {result.cut_value:.6g}, and the same edges here sum to {cut_value:.6g}"
        )
    if problem:
        raise InputError(
            f"the flow is of another graph: {problem}. Pass the graph that max_flow was called with"
        )


def _node_name(graph: AttentionGraph, layer: int, position: int) -> str:
    """Return the position of a node with its name, as names may occur twice."""
    name = numbered(position, short(token_names(graph.names(layer))[position]))
    return f"position {position}" if name == str(position) else name


def _draw_bars(ax: Axes, pair: _Pair) -> None:
    """Draw a short bar across each edge of the cut, perpendicular to it."""
    from matplotlib.collections import LineCollection

    bars: list[Any] = []
    # Data units for each point.
    across = 1 / _axes.pitch(ax, pair.stack.widest)
    up = 1 / _axes.pitch(ax, len(pair.sides), vertical=True)
    half = float(np.clip(_BAR * pair.stack.edge_width(ax), *_BAR_POINTS))
    for row, (_, cut, _) in enumerate(pair.edges, start=1):
        above, below = np.nonzero(cut)
        for i, k, ((x1, y1), (x2, y2)) in zip(
            above, below, pair.stack.lines(row, above, below), strict=True
        ):
            # Nearer to the end that fewer cut edges share, where bars do not overlap.
            down = 1 - _BAR_AT if cut[i].sum() > cut[:, k].sum() else _BAR_AT
            dx, dy = (x2 - x1) / across, (y2 - y1) / up
            length = float(np.hypot(dx, dy))
            step = np.array([-dy / length * half * across, dx / length * half * up])
            middle = np.array([x1 + (x2 - x1) * down, y1 + (y2 - y1) * down])
            bars.append(np.array([middle - step, middle + step]))
    drawn = LineCollection(bars, colors=CUT, linewidths=1.4, zorder=2.5)
    drawn.set_gid("cut bars")
    _ = ax.add_collection(drawn, autolim=False)


def _draw_ends(ax: Axes, pair: _Pair) -> None:
    """Draw the nodes, shaded on the source's side, and rings around source and sinks."""
    faces = [_SOURCE_SIDE if inside else "white" for side in pair.sides for inside in side]
    _ = draw_nodes(ax, pair.stack, faces=faces, edge=INK)
    ends = [
        (pair.stack.columns(len(pair.sides) - 1)[pair.source], len(pair.sides) - 1.0),
        *((pair.stack.columns(0)[sink], 0.0) for sink in pair.sinks),
    ]
    across = max(2.2 * pair.stack.node_size(ax), 6.0)
    x, y = zip(*ends, strict=True)
    rings: Any = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2}
    _ = ax.scatter(x, y, s=across**2, zorder=4, clip_on=False, **rings)


def _draw_legend(ax: Axes, pair: _Pair) -> None:
    from matplotlib.lines import Line2D

    count = sum(int(cut.sum()) for _, cut, _ in pair.edges)
    many = f"{count} full edge{'' if count == 1 else 's'}"
    node: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgecolor": INK}
    ring: dict[str, Any] = {**node, "markerfacecolor": "none", "markeredgewidth": 1.2}
    handles = [
        Line2D([], [], color=_FLOW, linewidth=3),
        Line2D([], [], color=CUT, linewidth=3),
        Line2D([], [], color=PALE, linewidth=2),
        Line2D([], [], markerfacecolor=_SOURCE_SIDE, markersize=6, **node),
        Line2D([], [], markerfacecolor="white", markersize=6, **node),
        Line2D([], [], markersize=9, **ring),
    ]
    sinks = "sink" if len(pair.sinks) == 1 else "sinks"
    ends = f"source (top), {sinks} (bottom)"
    labels = ["flow", f"minimum cut: {many}", "no flow", "before the cut", "after the cut", ends]
    _axes.legend(ax, handles, labels, handlelength=1.4)
