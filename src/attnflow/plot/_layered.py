"""Rows of nodes one above the other, and edges between neighbouring rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow.plot import _axes
from attnflow.plot._labels import layer_label
from attnflow.plot._palette import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection

# Share of the largest weight below which an edge is invisible. Chosen by eye.
MIN_SHARE = 0.02
# Edges drawn at most, the largest first. Chosen: more make files that are slow to open.
_MAX_EDGES = 20_000
# Points; chosen by eye.
_MIN_WIDTH, _MAX_WIDTH = 0.3, 5.0
_MAX_NODE = 5.0
# Width of the largest edge as a share of the space between the longest edges to one node, and the
# least such width in points. Chosen by eye, on real models with 5 to 30 tokens.
_FILLED, _LEAST_WIDTH = 0.7, 1.0
# Nodes in a row for each unit of the exponent by which opacity falls with the weight, and limits of
# the exponent: among many nodes weak edges fade, and strong ones stay. Chosen by eye.
_NODES_PER_UNIT, _EXPONENTS = 16, (0.8, 1.5)
# Smallest height of a figure as a share of its width: in a flatter one, edges are too slanted to
# follow. Chosen by eye.
MIN_ASPECT = 0.5


@dataclass(frozen=True, slots=True)
class Stack:
    """Positions of nodes in rows of given sizes, lowest row first."""

    sizes: tuple[int, ...]

    @property
    def widest(self) -> int:
        """Number of nodes of the widest row."""
        return max(self.sizes)

    def columns(self, row: int) -> NDArray[np.float64]:
        """Return the x coordinates of the nodes of a row, spread over the width.

        >>> Stack((4, 2)).columns(0), Stack((4, 2)).columns(1)
        (array([0., 1., 2., 3.]), array([0.5, 2.5]))
        """
        size = self.sizes[row]
        return (np.arange(size, dtype=np.float64) + 0.5) * (self.widest / size) - 0.5

    def lines(self, row: int, above: Any, below: Any) -> NDArray[np.float64]:
        """Return lines (edge, end, coordinate) from nodes `above` of a row to nodes `below` it."""
        upper = np.stack([self.columns(row)[above], np.full(len(above), float(row))], axis=1)
        lower = np.stack([self.columns(row - 1)[below], np.full(len(below), row - 1.0)], axis=1)
        return np.stack([upper, lower], axis=1)

    def edge_width(self, ax: Axes) -> float:
        """Return the width of the largest edge in points, by the space between edges.

        The space is that between the longest edges to one node, where they are farthest apart.
        """
        across, up = self._space(ax)
        space = across * up / np.hypot(across * (self.widest - 1), up)
        return float(np.clip(_FILLED * space, _LEAST_WIDTH, _MAX_WIDTH))

    def node_size(self, ax: Axes) -> float:
        """Return the diameter of a node in points, by the space between nodes."""
        return float(np.clip(0.35 * min(self._space(ax)), 0.8, _MAX_NODE))

    def _space(self, ax: Axes) -> tuple[float, float]:
        """Return the distances of columns and of rows in points."""
        rows = len(self.sizes) - 0.4  # as `frame` sets the limits
        return _axes.pitch(ax, self.widest), _axes.pitch(ax, rows, vertical=True)


def draw_edges(
    ax: Axes,
    stack: Stack,
    matrices: Sequence[NDArray[np.float64]],
    *,
    colour: str,
    vmax: float,
    min_share: float = MIN_SHARE,
    width: float = 1.0,
    opacity: float = 0.9,
    zorder: float = 1.0,
) -> LineCollection:
    """Draw edges as wide and opaque as their weights, the largest on top.

    `matrices[r]` (above, below) are the weights of the edges from row r + 1 to row r. `vmax` is the
    weight of an edge of full width; larger ones are as wide. `width` is a share of that width.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    lines: list[NDArray[np.float64]] = []
    shares: list[NDArray[np.float64]] = []
    for row, matrix in enumerate(matrices, start=1):
        # Cut off first, because the division by a tiny number would overflow.
        share = np.minimum(matrix, vmax) / vmax if vmax > 0 else np.zeros_like(matrix)
        above, below = np.nonzero(share >= min_share)
        lines.append(stack.lines(row, above, below))
        shares.append(share[above, below])
    share, line = np.concatenate(shares), np.concatenate(lines)
    order = np.argsort(share, kind="stable")[-_MAX_EDGES:]
    share, line = share[order], line[order]
    colours = np.empty((len(share), 4))
    colours[:, :3] = to_rgb(colour)
    colours[:, 3] = opacity * share ** float(np.clip(stack.widest / _NODES_PER_UNIT, *_EXPONENTS))
    drawn = LineCollection(
        list(line),
        colors=colours,
        linewidths=_MIN_WIDTH + (width * stack.edge_width(ax) - _MIN_WIDTH) * share,
        capstyle="round",
        zorder=zorder,
    )
    _ = ax.add_collection(drawn, autolim=False)
    return drawn


def draw_nodes(
    ax: Axes, stack: Stack, *, faces: Sequence[Any] | str = "white", edge: str = INK
) -> PathCollection:
    """Draw every node, from the lowest row up; `faces` are the fill colours."""
    x = np.concatenate([stack.columns(row) for row in range(len(stack.sizes))])
    y = np.repeat(np.arange(len(stack.sizes), dtype=float), stack.sizes)
    size = stack.node_size(ax)
    settings: Any = {"facecolors": faces, "edgecolors": edge, "linewidths": min(0.8, size / 5)}
    return ax.scatter(x, y, s=size**2, zorder=3, clip_on=False, **settings)


def frame(
    ax: Axes,
    stack: Stack,
    names: Sequence[str],
    layers: Sequence[str],
    *,
    weights: Sequence[float],
) -> None:
    """Label the lowest row with names and the rows with layers."""
    ax.spines[:].set_visible(False)
    _ = ax.set_xlim(-0.6, stack.widest - 0.4)
    _ = ax.set_ylim(-0.3, len(stack.sizes) - 0.7)
    _axes.label_layers(ax, layers)
    _ = ax.set_ylabel(layer_label(layers), fontsize=_axes.font_size("small"))
    label_lowest_row(ax, stack, names, weights)
    ax.tick_params(colors=INK)
    ax.yaxis.label.set_color(GREY)


def label_lowest_row(
    ax: Axes | Sequence[Axes], stack: Stack, names: Sequence[str], weights: Sequence[float]
) -> None:
    """Label the lowest row; if not all names fit, the nodes with the largest `weights`."""
    columns: list[float] = stack.columns(0).tolist()
    _axes.label_columns(ax, names, columns, weights=weights, ticks=False)
