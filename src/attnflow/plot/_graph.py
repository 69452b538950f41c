"""`graph`: layers of nodes with edges as wide as their weights (Figure 1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import position_name, token_names
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import check_title, check_vmax
from attnflow.plot._labels import layer_names, score_notes
from attnflow.plot._layered import MIN_ASPECT, Stack, draw_edges, draw_nodes, frame
from attnflow.plot._palette import GREY, INK, TITLES, colour_of
from attnflow.plot._scale import fans, is_segmented, widest_edge
from attnflow.types import AttentionGraph, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# One scale of widths for all layers of a figure, or one for each layer.
Scale: TypeAlias = Literal["figure", "layer"]

_INPUT = "input"
# The least distance, as a share of the median, between the median weight of a layer and that of its
# widest edges. Chosen: small differences of nearly uniform attention are no pattern.
_LEAST_SPAN = 0.04
# Nodes in a row up to which fans have the colour of the others: few enough to follow each edge.
# Chosen by eye.
_FEW_NODES = 20
# Opacity of fans, and the share of the full width that they have. Chosen by eye.
_FAN_OPACITY, _FAN_WIDTH = 0.3, 0.5


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
        edges from a position to itself, which the residual connection adds to, and for fans (see
        Notes); these are not drawn wider. `compare` uses one value for all panels.
    title
        Title; by default the name of the method.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    A fan is the edges to one node from at least a quarter of the positions, if their median is more
    than five times that of every node outside the largest quarter: those to an attention sink. Fans
    to a row of more than 20 nodes would cover all other edges: they are grey and thin, and a line
    below names their nodes.
    The widest edges are as wide as the space between nodes and rows allows, and weak ones fade
    among many nodes. Edges below a fiftieth of the widest are left out, and of more than 20,000
    coloured or 20,000 grey ones the largest are drawn. If not all names fit, the tokens with the
    largest sums are labelled. A star marks layers whose flow is saturated, and a dagger those where
    it is flat for every query drawn, see `flow`. A line below says what was taken out of the
    scores.
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
    ax = draw_rows(
        rows, by_layer=by_layer, vmax=None if vmax is None else check_vmax(vmax), title=title, ax=ax
    )
    if isinstance(x, TokenAttention) and (notes := score_notes(x)):
        _axes.note_below(ax, notes)
    return ax


def draw_rows(
    rows: Rows, *, by_layer: bool, vmax: float | None, title: str | None, ax: Axes | None
) -> Axes:
    """Draw rows of nodes and edges, without a line about what was taken out of the scores."""
    matrices = rows.above_median() if by_layer else rows.matrices
    top = 1.0 if by_layer else rows.top if vmax is None else vmax
    ax = _axes.axes(ax, _axes.size_for(rows.columns, len(rows.layers), min_aspect=MIN_ASPECT))
    frame(ax, rows.stack, rows.names, rows.layers, weights=rows.sums)
    covering = rows.covering()
    pairs = list(zip(matrices, covering, strict=True))
    others = [np.where(fan, 0.0, matrix) for matrix, fan in pairs]
    _ = draw_edges(ax, rows.stack, others, colour=rows.colour, vmax=top)
    if names := rows.named(covering):
        listed = f"position{'' if len(names) == 1 else 's'} {', '.join(names)}"
        thin = [np.where(fan, matrix, 0.0) for matrix, fan in pairs]
        behind: Any = {"opacity": _FAN_OPACITY, "width": _FAN_WIDTH, "zorder": 0.5}
        _ = draw_edges(ax, rows.stack, thin, colour=GREY, vmax=top, **behind)
        _axes.note_below(ax, [f"grey: edges to {listed}, which would cover others"])
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
    of_tokens: bool  # whether the columns of all matrices are the tokens

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the tokens, padded if a row above has more nodes."""
        return self.names + ("",) * (self.stack.widest - len(self.names))

    @property
    def top(self) -> float:
        """The weight of the widest edges: the largest but for own edges and fans; 0 if none."""
        return max(widest_edge(matrix, self._own(matrix)) for matrix in self.matrices)

    def above_median(self) -> list[NDArray[np.float64]]:
        """Return the weights above the median of their layer, as shares of the widest edges'.

        The median is that of all edges but own ones. A layer whose edges are equal has none above,
        and one whose edges are nearly equal only thin ones.
        """
        scaled: list[NDArray[np.float64]] = []
        for matrix in self.matrices:
            own = self._own(matrix)
            others = matrix[(matrix > 0) & ~own]
            median = float(np.median(others)) if others.size else 0.0
            span = max(widest_edge(matrix, own) - median, _LEAST_SPAN * median) or 1.0
            scaled.append(np.maximum(matrix - median, 0.0) / span)
        return scaled

    def covering(self) -> list[NDArray[np.bool_]]:
        """Return for each row the nodes below whose fans would cover other edges; of few none."""
        return [
            fans(matrix, self._own(matrix)) & (matrix.shape[1] > _FEW_NODES)
            for matrix in self.matrices
        ]

    def named(self, nodes: Sequence[NDArray[np.bool_]]) -> list[str]:
        """Return the names of nodes of the rows from the lowest up, each once.

        >>> two = np.array([False, True]), np.array([True, False])
        >>> rows_of(AttentionGraph([np.ones((2, 2))] * 2, ["a", "b"])).named(two)
        ['0 a', '1 b']
        >>> rows_of(AttentionGraph([np.ones((2, 2)), np.ones((1, 2))], ["a", "b"])).named(two)
        ['1 b', '0 of layer 1']
        """
        found = [(row, int(at)) for row, each in enumerate(nodes) for at in np.flatnonzero(each)]
        if self.of_tokens:
            return [position_name(at, self.names) for at in sorted({at for _, at in found})]
        return [
            f"{at} of layer {self.layers[row]}" if row else position_name(at, self.names)
            for row, at in found
        ]

    def _own(self, matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which edges are from a position to itself."""
        return np.eye(*matrix.shape, dtype=np.bool_) & self.positions

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
        of_tokens=len(set(graph.sizes)) == 1,
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
        of_tokens=True,
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
