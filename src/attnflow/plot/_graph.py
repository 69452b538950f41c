"""`graph`: layers of nodes with edges as wide as their weights (Figure 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import position_names, token_names
from attnflow._internal.scale import scale_end
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import check_title, check_vmax
from attnflow.plot._labels import layer_names
from attnflow.plot._layered import MIN_ASPECT, Stack, draw_edges, draw_nodes, frame
from attnflow.plot._palette import GREY, INK, TITLES, colour_of
from attnflow.plot._scale import is_segmented
from attnflow.types import AttentionGraph, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# One scale of widths for all layers of a figure, or one for each layer.
Scale: TypeAlias = Literal["figure", "layer"]

_INPUT = "input"
# The least distance, as a share of the median, between the median weight of a layer and that of its
# widest edges. Chosen: small differences of nearly uniform attention are no pattern.
_LEAST_SPAN = 0.04
# Nodes in a row up to which edges to sinks have the colour of the others: few enough to follow each
# edge. Chosen by eye.
_FEW_NODES = 20
# Share of the full width above which many edges to one node cover others. Chosen by eye.
_COVERING = 0.25
# Opacity of edges to sinks, and the share of the full width that they have. Chosen by eye.
_SINK_OPACITY, _SINK_WIDTH = 0.3, 0.3


def graph(
    x: TokenAttention | AttentionGraph,
    *,
    scale: Scale = "figure",
    vmax: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw layers one above the other, with edges as wide and opaque as their weights.

    As in Figure 1 of the paper, the edge from position i of layer l to position j one row below
    shows `scores[l, i, j]`: for raw attention the weight itself, for rollout and flow the score of
    input token j.

    Parameters
    ----------
    x
        Token attention, or an attention graph. Rows of token attention are drawn as shares of their
        sum, so that flow, whose rows sum to more than one, has the scale of the others; positions
        that were not computed have no edges. Unbounded edges of a graph are thin dotted lines.
    scale
        "figure" for one scale of widths in all layers, from 0; "layer" for a scale in each layer,
        from its median weight up, which shows the pattern of layers whose weights differ little;
        differences of less than 4 % of the median stay thin.
    vmax
        Weight of the widest edges, only with one scale. By default the largest weight but for
        edges from a position to itself, which the residual connection adds to, and for outliers,
        as in `heatmap`; these are not drawn wider. `compare` uses one value for all panels.
    title
        Title; by default the name of the method.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    With more than 20 nodes in a row, edges to attention sinks would cover all others: edges to a
    node whose median edge is an outlier among those of all nodes are grey and thin, and a line
    below names the node.
    Edges below a fiftieth of the widest are left out, and at most the 20,000 largest are drawn. If
    not all names fit, the tokens with the largest sums are labelled. A star marks layers whose flow
    is saturated, and a dagger those where it is flat for every query drawn, see `flow`.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> from attnflow.types import random_attention
    >>> a = random_attention(3, 2, 5, tokens=["[CLS]", "the", "key", "is", "here"])
    >>> ax = plot.graph(af.rollout(a))
    >>> ax.get_title()
    'Attention rollout'
    """
    check_title(title)
    by_layer = check_scale(scale, vmax) == "layer"
    rows = rows_of(x)
    matrices = rows.above_median() if by_layer else rows.matrices
    top = 1.0 if by_layer else rows.top if vmax is None else check_vmax(vmax)
    ax = _axes.axes(ax, _axes.size_for(rows.columns, len(rows.layers), min_aspect=MIN_ASPECT))
    frame(ax, rows.stack, rows.names, rows.layers, weights=rows.sums)
    to_sinks = [rows.to_sinks(matrix, top) for matrix in matrices]
    pairs = list(zip(matrices, to_sinks, strict=True))
    others = [np.where(sinks, 0.0, matrix) for matrix, sinks in pairs]
    _ = draw_edges(ax, rows.stack, others, colour=rows.colour, vmax=top)
    if found := sorted({int(place) for sinks in to_sinks for place in np.flatnonzero(sinks)}):
        thin = [
            np.where(sinks, _SINK_WIDTH * np.minimum(matrix, top), 0.0) for matrix, sinks in pairs
        ]
        behind: Any = {"opacity": _SINK_OPACITY, "zorder": 0.5}
        _ = draw_edges(ax, rows.stack, thin, colour=GREY, vmax=top, **behind)
        grey = f"grey: edges to {position_names(found, rows.names)}, which would cover others"
        _axes.note_below(ax, [grey])
    _draw_unbounded(ax, rows)
    _ = draw_nodes(ax, rows.stack)
    _axes.set_title(ax, rows.title if title is None else title)
    return ax


def check_scale(scale: object, vmax: float | None = None) -> Scale:
    """Return the scale, checked; with a scale for each layer there is no `vmax`."""
    if not isinstance(scale, str) or scale not in ("figure", "layer"):
        raise InputError(f'scale must be "figure" or "layer", got {scale!r}')
    if scale == "layer" and vmax is not None:
        raise InputError(f'vmax={vmax} needs scale="figure": with "layer" each layer has its own')
    return scale


@dataclass(frozen=True, slots=True)
class Rows:
    """The content of a figure of layers."""

    stack: Stack
    matrices: list[NDArray[np.float64]]  # (above, below), one for each row but the lowest
    unbounded: list[NDArray[np.bool_]]  # unbounded edges, which are zero in `matrices`
    names: tuple[str, ...]  # of the lowest row, as people read them
    layers: tuple[str, ...]  # labels of the rows
    colour: str
    title: str
    positions: bool  # whether the nodes of all rows are the same positions

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the tokens, padded if a row above has more nodes."""
        return self.names + ("",) * (self.stack.widest - len(self.names))

    @property
    def top(self) -> float:
        """The weight of the widest edges: the largest but for own edges and sinks; 0 if none."""
        return max(self._top(matrix) for matrix in self.matrices)

    def above_median(self) -> list[NDArray[np.float64]]:
        """Return the weights above the median of their layer, as shares of the widest edges'.

        The median is that of all edges but own ones. A layer whose edges are equal has none above,
        and one whose edges are nearly equal only thin ones.
        """
        scaled: list[NDArray[np.float64]] = []
        for matrix in self.matrices:
            others = matrix[(matrix > 0) & ~self._own(matrix)]
            median = float(np.median(others)) if others.size else 0.0
            span = max(self._top(matrix) - median, _LEAST_SPAN * median) or 1.0
            scaled.append(np.maximum(matrix - median, 0.0) / span)
        return scaled

    def _own(self, matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which edges are from a position to itself."""
        return np.eye(*matrix.shape, dtype=np.bool_) & self.positions

    def _top(self, matrix: NDArray[np.float64]) -> float:
        if not matrix.any():
            return 0.0
        others = np.where(self._own(matrix), 0.0, matrix)
        if len(self.names) > _FEW_NODES:
            medians = self._medians(matrix)
            others[:, medians > scale_end(medians)] = 0.0
        return scale_end((others if others.any() else matrix).max(axis=0))

    def to_sinks(self, matrix: NDArray[np.float64], top: float) -> NDArray[np.bool_]:
        """Return the nodes below whose edges would cover those to others; of few nodes none."""
        medians = self._medians(matrix)
        covering = medians > max(_COVERING * top, scale_end(medians))
        return covering & (len(self.names) > _FEW_NODES)

    def _medians(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the median of the edges to each node below, but for own ones; 0 without edges."""
        masked: Any = np.ma  # its types are incomplete
        others = masked.masked_where(self._own(matrix) | (matrix == 0), matrix)
        return masked.median(others, axis=0).filled(0.0)

    @property
    def sums(self) -> list[float]:
        """Sum of the weights to each token, over the rows that have a node for each."""
        count = len(self.names)
        sums = [matrix.sum(axis=0) for matrix in self.matrices if matrix.shape[1] == count]
        return np.sum(sums, axis=0).tolist()


def rows_of(x: TokenAttention | AttentionGraph) -> Rows:
    """Return the rows of nodes and the weights between them."""
    if isinstance(x, TokenAttention):
        return _rows_of_scores(x)
    if isinstance(cast("object", x), AttentionGraph):
        return _rows_of_graph(x)
    raise InputError(
        f"expected a TokenAttention or an AttentionGraph, got {type(x).__name__}. Pass raw(x), "
        "rollout(x), flow(x) or x.graph()"
    )


def _rows_of_graph(graph: AttentionGraph) -> Rows:
    unbounded = [np.isinf(matrix) for matrix in graph.layers]
    matrices = [
        np.where(infinite, 0.0, matrix.astype(np.float64))
        for matrix, infinite in zip(graph.layers, unbounded, strict=True)
    ]
    return Rows(
        stack=Stack(graph.sizes),
        matrices=matrices,
        unbounded=unbounded,
        names=token_names(graph.tokens),
        layers=(_INPUT, *(str(layer) for layer in range(1, graph.n_layers + 1))),
        colour=INK,
        title="Attention graph",
        positions=len(set(graph.sizes)) == 1,
    )


def _rows_of_scores(token_attention: TokenAttention) -> Rows:
    if is_segmented(token_attention):
        raise InputError(
            "the scores are of segments, which a graph of positions cannot show. Draw them with "
            'heatmap, or compute them with segments="tokens" or without groups'
        )
    order: list[int] = np.argsort(token_attention.layers, kind="stable").tolist()
    below = len(token_attention.tokens)
    above = max(below, 1 + max(token_attention.queries))
    matrices: list[NDArray[np.float64]] = []
    for number, place in enumerate(order):
        # The row below a layer has at least one node for each token.
        matrix = np.zeros((above, above if number else below))
        matrix[list(token_attention.queries), :below] = shares(token_attention.scores[place])
        matrices.append(matrix)
    onto = token_attention.settings.get("onto", 0)
    lowest = _INPUT if onto == 0 else str(onto)
    return Rows(
        stack=Stack((below, *(above for _ in matrices))),
        matrices=matrices,
        unbounded=[],
        names=token_names(token_attention.tokens),
        layers=(lowest, *layer_names(token_attention)),
        colour=colour_of(token_attention.method),
        title=TITLES[token_attention.method],
        positions=above == below,
    )


def shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows as shares of their sums; infinite scores share all of a row, zeros stay.

    >>> shares(np.array([[1.0, 3.0], [2.0, np.inf], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 1.  ],
           [0.  , 0.  ]])
    """
    infinite = np.isinf(scores)
    scores = np.where(infinite.any(axis=-1, keepdims=True), infinite.astype(np.float64), scores)
    # Divided by the largest first, because the sum of a row may overflow.
    largest = scores.max(axis=-1, keepdims=True)
    scores = scores / np.where(largest > 0, largest, 1.0)
    sums = scores.sum(axis=-1, keepdims=True)
    return scores / np.where(sums > 0, sums, 1.0)


def _draw_unbounded(ax: Axes, rows: Rows) -> None:
    from matplotlib.collections import LineCollection

    lines = [
        line
        for row, infinite in enumerate(rows.unbounded, start=1)
        for line in rows.stack.lines(row, *np.nonzero(infinite))
    ]
    if lines:
        drawn = LineCollection(lines, colors=GREY, linewidths=0.7, linestyles="dotted", zorder=0.5)
        _ = ax.add_collection(drawn, autolim=False)
