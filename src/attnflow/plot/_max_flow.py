"""`max_flow`: one maximum flow over its edges, and the minimum cut that bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.errors import InputError
from attnflow.maxflow import MaxFlow
from attnflow.plot import _axes
from attnflow.plot._checks import checked_title
from attnflow.plot._door import require_matplotlib
from attnflow.plot._layered import FAINTEST, FLATTEST, Stack, draw_edges, draw_nodes, frame
from attnflow.plot._names import short
from attnflow.plot._palette import COLOURS, CUT, GREY, INK, PALE
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_FLOW = COLOURS["flow"]
_BEFORE = "#BFE3D8"  # nodes on the source's side: the colour of flow, lighter
# Of the value: an edge that carries less is rounding. Far below what is visible. Chosen.
_NOTHING = 1e-9
# Of flow and cut: what adding up in another order may change, as in the proof itself. Chosen.
_SAME = 1e-9
# Edges of a cut that are marked one by one; more would make one mass. Chosen by eye.
_MOST_BARS = 80
# Inches beside the picture. Chosen: what the longest line of the legend takes.
_LEGEND_INCHES = 1.7
# Half of a bar across an edge of the cut: of the strongest edge's thickness, and points at least
# and at most. Chosen by eye: it stands out on a wide edge, and hides no other on a narrow one.
_BAR, _BAR_POINTS = 1.2, (3.0, 6.0)
# Where on an edge its bar is, from the nearer end. Chosen: clear of the nodes and of the middle,
# where edges cross.
_BAR_AT = 1 / 3


def max_flow(
    graph: AttentionGraph | Attention | EncoderDecoderAttention,
    result: MaxFlow,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one maximum flow over the edges of its graph, and the minimum cut through them.

    Edges that carry flow are green, as wide as what runs over them; those of the cut, which are
    full and add up to the value of the flow, are orange, with a bar across each unless there are
    more than 80. Nodes on the source's side of the cut are shaded. Grey lines are edges that no
    flow needs.

    Parameters
    ----------
    graph
        The graph that was solved, or the attention it was made from.
    result
        What `attnflow.max_flow` gave for it.
    title
        Above the picture; by default source and sink, and flow and cut, which are equal.
    ax
        Axes of matplotlib; None makes a new figure.

    Notes
    -----
    Only the layers from the sink to the source are drawn. Edges of the cut are drawn however
    narrow they are, of all the 20,000 strongest.
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
    checked_title(title)
    pair = _pair(graph, result)
    require_matplotlib()
    from matplotlib.colors import to_rgb

    layers = [str(layer) if layer else "input" for layer in range(pair.onto, pair.layer + 1)]
    width, height = _axes.size_for(pair.wide, len(layers), flattest=FLATTEST)
    ax = _axes.axes(ax, (width + _LEGEND_INCHES, height))
    _explain(ax, pair)  # first: names take the room that it leaves
    # Where not all names fit, that of the sink does.
    named_first = [float(position == pair.sink) for position in range(len(pair.names))]
    frame(ax, pair.stack, pair.names, layers, strengths=named_first)
    capacities, flows = pair.capacities, pair.flows
    widest = max(float(flow.max()) for flow in flows)
    rest = [np.where((flow > 0) | cut, 0.0, c) for flow, cut, c in pair.edges]
    _ = draw_edges(
        ax, pair.stack, rest, colour=GREY, strongest=_largest(capacities), most_opaque=0.25
    )
    running = [np.where(cut, 0.0, flow) for flow, cut, _ in pair.edges]
    _ = draw_edges(
        ax, pair.stack, running, colour=_FLOW, strongest=widest, faintest=FAINTEST / 2, zorder=1.5
    ).set_gid("flow")
    full = [np.where(cut, flow, 0.0) for flow, cut, _ in pair.edges]
    # However narrow: left out, the cut would not be whole.
    drawn = draw_edges(
        ax, pair.stack, full, colour=CUT, strongest=widest, faintest=_NOTHING, zorder=2
    )
    drawn.set_gid("cut")
    if sum(int(cut.sum()) for _, cut, _ in pair.edges) <= _MOST_BARS:
        drawn.set_color(CUT)  # opaque, however narrow
        _draw_bars(ax, pair)
    else:
        drawn.set_color((*to_rgb(CUT), 0.3))
    _draw_ends(ax, pair)
    equal = f"flow {result.value:.3f} = cut {result.cut_value:.3f}"
    _axes.titled(ax, f"{pair.ends}\n{equal}" if title is None else title)
    return ax


@dataclass(frozen=True, slots=True)
class _Pair:
    """The part of a graph between source and sink."""

    layer: int  # the source's
    source: int
    onto: int  # the sink's layer
    sink: int
    stack: Stack
    ends: str  # what source and sink are called
    names: tuple[str, ...]  # of the sink's layer
    capacities: list[NDArray[np.float64]]
    flows: list[NDArray[np.float64]]
    sides: list[NDArray[np.bool_]]  # by row, True on the source's side

    @property
    def wide(self) -> tuple[str, ...]:
        """The names, and more where a row above has more nodes."""
        return self.names + ("",) * (self.stack.widest - len(self.names))

    @property
    def edges(self) -> list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]]:
        """For each layer what runs over its edges, which of them are cut, and what they hold."""
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
        came = f"{type(graph).__name__} and {type(result).__name__}"
        raise InputError(f"{came} came; an AttentionGraph and the MaxFlow of it are wanted")
    if [flow.shape for flow in result.flows] != [matrix.shape for matrix in graph.layers]:
        raise InputError(
            f"the flow is of another graph: {len(result.flows)} layers, the lowest of shape "
            f"{result.flows[0].shape}, and here {graph.n_layers}, {graph.layers[0].shape}; pass "
            "the graph that max_flow was given"
        )
    # See `MaxFlow.cut`: nothing is on the source's side above it, and everything is below the sink.
    layer = max(number for number, side in enumerate(result.cut) if side.any())
    onto = min(number for number, side in enumerate(result.cut) if not side.all())
    matrices = [*graph.layers[onto : layer - 1], graph.top(layer)]
    source, sink = int(np.argmax(result.cut[layer])), int(np.argmin(result.cut[onto]))
    _refuse_another(result, matrices, onto)
    lower = _called(graph, onto, sink) + (f" at layer {onto}" if onto else "")
    return _Pair(
        layer=layer,
        source=source,
        onto=onto,
        sink=sink,
        stack=Stack(graph.sizes[onto : layer + 1]),
        ends=f"{_called(graph, layer, source)} at layer {layer} → {lower}",
        names=graph.names(onto),
        capacities=[matrix.astype(np.float64) for matrix in matrices],
        flows=[_carried(flow, result.value) for flow in result.flows[onto:layer]],
        sides=list(result.cut[onto : layer + 1]),
    )


def _refuse_another(result: MaxFlow, matrices: Sequence[NDArray[Any]], onto: int) -> None:
    """Say so where the graph cannot carry the flow, or another cut bounds it."""
    told = ""
    across = 0.0
    for layer, matrix in enumerate(matrices, start=onto + 1):
        flow = result.flows[layer - 1]
        # Written so that NaN is refused as well.
        over = ~(flow <= matrix.astype(np.float64) * (1 + _SAME) + _SAME * result.value)
        if over.any() and not told:
            i, k = (int(place[0]) for place in np.nonzero(over))
            told = (
                f"{flow[i, k]:.3g} runs from position {i} of layer {layer} to position {k} below, "
                f"where {matrix[i, k]:.3g} fits"
            )
        above, below = result.cut[layer], result.cut[layer - 1]
        across += float(matrix[np.ix_(above, ~below)].sum(dtype=np.float64))
    if not told and not abs(across - result.cut_value) <= _SAME * result.cut_value:
        told = f"its cut is {result.cut_value:.6g}, and here the same edges hold {across:.6g}"
    if told:
        raise InputError(
            f"the flow is of another graph: {told}; pass the graph that max_flow was given"
        )


def _called(graph: AttentionGraph, layer: int, position: int) -> str:
    """The name of a node, or where it is one without."""
    name = short(graph.names(layer)[position])
    return f"position {position}" if name in ("", str(position)) else name


def _carried(flow: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    return np.where(flow > _NOTHING * value, flow, 0.0)


def _largest(matrices: list[NDArray[np.float64]]) -> float:
    """The largest weight that has a bound."""
    finite = [matrix[np.isfinite(matrix)] for matrix in matrices]
    return max((float(each.max(initial=0.0)) for each in finite), default=0.0) or 1.0


def _draw_bars(ax: Axes, pair: _Pair) -> None:
    """Draw a short bar across each edge of the cut, upright to it on the page."""
    from matplotlib.collections import LineCollection

    bars: list[Any] = []
    # Data units of one point, to either side.
    across, up = (
        1 / _axes.pitch(ax, pair.stack.widest),
        1 / _axes.pitch(ax, len(pair.sides), upright=True),
    )
    half = float(np.clip(_BAR * pair.stack.thickness(ax), *_BAR_POINTS))
    for row, (_, cut, _) in enumerate(pair.edges, start=1):
        above, below = np.nonzero(cut)
        for i, k, ((x1, y1), (x2, y2)) in zip(
            above, below, pair.stack.lines(row, above, below), strict=True
        ):
            # Nearer to the end that fewer edges of the cut share: at the other bars would overlap.
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
    """Nodes, shaded on the source's side, and rings round source and sink."""
    faces = [_BEFORE if before else "white" for side in pair.sides for before in side]
    _ = draw_nodes(ax, pair.stack, faces=faces, edge=INK)
    ends = [
        (pair.stack.columns(len(pair.sides) - 1)[pair.source], len(pair.sides) - 1.0),
        (pair.stack.columns(0)[pair.sink], 0.0),
    ]
    across = max(2.2 * pair.stack.dot(ax), 6.0)
    x, y = zip(*ends, strict=True)
    rings: Any = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2}
    _ = ax.scatter(x, y, s=across**2, zorder=4, clip_on=False, **rings)


def _explain(ax: Axes, pair: _Pair) -> None:
    from matplotlib.lines import Line2D

    count = sum(int(cut.sum()) for _, cut, _ in pair.edges)
    many = f"{count} edge{'' if count == 1 else 's'}"
    node: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgecolor": INK}
    handles = [
        Line2D([], [], color=_FLOW, linewidth=3),
        Line2D([], [], color=CUT, linewidth=3),
        Line2D([], [], color=PALE, linewidth=2),
        Line2D([], [], markerfacecolor=_BEFORE, markersize=6, **node),
    ]
    labels = ["flow", f"minimum cut: {many}", "not needed", "side of the source"]
    _axes.legend(
        ax,
        handles,
        labels,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=_axes.font_size("small"),
        handlelength=1.4,
    )
