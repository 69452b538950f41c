"""`graph`: who takes how much from whom, layer above layer (Figure 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import checked_strongest, checked_title
from attnflow.plot._layered import FLATTEST, Stack, draw_edges, draw_nodes, frame, name_lowest
from attnflow.plot._palette import GREY, INK, TITLES, colour_of
from attnflow.plot._told import layer_names
from attnflow.types import AttentionGraph, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_INPUT = "input"


def graph(
    shown: TokenAttention | AttentionGraph,
    *,
    strongest: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw layers one above the other, and edges as wide and opaque as they are strong.

    As in Figure 1 of the paper, the edge from position i of layer l to position j right below it
    stands for `scores[l, i, j]`: for raw attention the weight itself, for rollout and flow what
    the position takes from input token j.

    Parameters
    ----------
    shown
        Token attention, or the attention graph itself. Of token attention each row is drawn as
        shares of its sum, so that flow, whose rows add up to more than one, is on the scale of the
        others; positions that were not computed have no edges. Unbounded edges of a graph, which
        carry a node along unchanged, are thin dotted lines.
    strongest
        The weight of an edge of full width; by default the largest there is. `compare` gives
        several pictures the same.
    title
        Above the picture; by default the method.
    ax
        Axes of matplotlib; None makes a new figure.

    Notes
    -----
    Edges below a fiftieth of the strongest are left out, and of the others the 20,000 strongest are
    drawn. Where not all names fit, the tokens that most is taken from keep theirs. A star marks
    layers whose flow is saturated, as in `heatmap`.
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
    checked_title(title)
    rows = rows_of(shown)
    top = rows.strongest if strongest is None else checked_strongest(strongest)
    ax = _axes.axes(ax, _axes.size_for(rows.wide, len(rows.layers), flattest=FLATTEST))
    frame(ax, rows.stack, rows.tokens, rows.layers, strengths=rows.taken)
    _ = draw_edges(ax, rows.stack, rows.matrices, colour=rows.colour, strongest=top)
    _draw_carried(ax, rows)
    _ = draw_nodes(ax, rows.stack)
    _axes.titled(ax, rows.title if title is None else title)
    return ax


def name_tokens(ax: Axes, rows: Rows) -> None:
    """Write the names below; where not all fit, tokens that most is taken from keep theirs."""
    name_lowest(ax, rows.stack, rows.tokens, rows.taken)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a picture of layers holds."""

    stack: Stack
    matrices: list[NDArray[np.float64]]  # (above, below), one for each row but the lowest
    carried: list[NDArray[np.bool_]]  # edges without bound, which are not in `matrices`
    tokens: tuple[str, ...]  # names of the lowest row
    layers: tuple[str, ...]  # what each row is called
    colour: str
    title: str

    @property
    def wide(self) -> tuple[str, ...]:
        """The tokens, and more where a row above has more nodes."""
        return self.tokens + ("",) * (self.stack.widest - len(self.tokens))

    @property
    def strongest(self) -> float:
        """The largest weight."""
        return max(float(matrix.max()) for matrix in self.matrices)

    @property
    def taken(self) -> list[float]:
        """What all nodes together take from each token, over the rows that have a node for each."""
        count = len(self.tokens)
        each = [matrix.sum(axis=0) for matrix in self.matrices if matrix.shape[1] == count]
        return np.sum(each, axis=0).tolist()


def rows_of(shown: TokenAttention | AttentionGraph) -> Rows:
    """The rows, and what runs between them."""
    if isinstance(shown, TokenAttention):
        return _of_scores(shown)
    if isinstance(cast("object", shown), AttentionGraph):
        return _of_graph(shown)
    raise InputError(
        f"a {type(shown).__name__} came; token attention or an attention graph is wanted: "
        "raw(x), rollout(x), flow(x) or x.graph()"
    )


def _of_graph(shown: AttentionGraph) -> Rows:
    carried = [np.isinf(matrix) for matrix in shown.layers]
    matrices = [
        np.where(endless, 0.0, matrix.astype(np.float64))
        for matrix, endless in zip(shown.layers, carried, strict=True)
    ]
    return Rows(
        stack=Stack(shown.sizes),
        matrices=matrices,
        carried=carried,
        tokens=shown.tokens,
        layers=(_INPUT, *(str(layer) for layer in range(1, shown.n_layers + 1))),
        colour=INK,
        title="Attention graph",
    )


def _of_scores(shown: TokenAttention) -> Rows:
    if shown.settings.get("segments", "tokens") != "tokens":
        raise InputError(
            "the scores go to segments, which are no row of nodes for the layer above; draw them "
            'with heatmap, or compute them with segments="tokens"'
        )
    order: list[int] = np.argsort(shown.layers, kind="stable").tolist()
    below = len(shown.tokens)
    above = max(below, 1 + max(shown.queries))
    matrices: list[NDArray[np.float64]] = []
    for number, place in enumerate(order):
        # The scores of a layer go to the row below it, which has a node for each token at least.
        matrix = np.zeros((above, above if number else below))
        matrix[list(shown.queries), :below] = shares(shown.scores[place])
        matrices.append(matrix)
    onto = shown.settings.get("onto", 0)
    lowest = _INPUT if onto == 0 else str(onto)
    return Rows(
        stack=Stack((below, *(above for _ in matrices))),
        matrices=matrices,
        carried=[],
        tokens=shown.tokens,
        layers=(lowest, *layer_names(shown)),
        colour=colour_of(shown.method),
        title=TITLES[shown.method],
    )


def shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows as shares of their sums; infinite scores share all of a row, and zeros stay.

    >>> shares(np.array([[1.0, 3.0], [2.0, np.inf], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 1.  ],
           [0.  , 0.  ]])
    """
    endless = np.isinf(scores)
    scores = np.where(endless.any(axis=-1, keepdims=True), endless.astype(np.float64), scores)
    # By the largest first: the sum of a row near the largest float would have no bound.
    largest = scores.max(axis=-1, keepdims=True)
    scores = scores / np.where(largest > 0, largest, 1.0)
    sums = scores.sum(axis=-1, keepdims=True)
    return scores / np.where(sums > 0, sums, 1.0)


def _draw_carried(ax: Axes, rows: Rows) -> None:
    from matplotlib.collections import LineCollection

    lines = [
        line
        for row, endless in enumerate(rows.carried, start=1)
        for line in rows.stack.lines(row, *np.nonzero(endless))
    ]
    if lines:
        drawn = LineCollection(lines, colors=GREY, linewidths=0.7, linestyles="dotted", zorder=0.5)
        _ = ax.add_collection(drawn, autolim=False)
