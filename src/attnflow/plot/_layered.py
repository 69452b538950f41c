"""Layers of nodes one above the other, and edges between neighbours as strong as their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.plot import _axes
from attnflow.plot._palette import GREY, INK
from attnflow.plot._told import layer_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from numpy.typing import NDArray

# Of the strongest edge: what is fainter cannot be seen. Chosen by eye.
FAINTEST = 0.02
# The strongest are drawn and the others left out: more make a file of megabytes that no viewer
# opens at once. Chosen.
_MOST = 20_000
# Points; chosen by eye.
_THINNEST, _WIDEST = 0.3, 5.0
_NODE = 5.0
# Nodes of a row above which edges become more transparent; chosen by eye.
_CROWD = 40
# The least height of a picture as a share of its width: flatter, edges are too slanted to follow.
# Chosen by eye.
FLATTEST = 0.33


@dataclass(frozen=True, slots=True)
class Stack:
    """Numbers of nodes of the rows, from the lowest up."""

    sizes: tuple[int, ...]

    @property
    def widest(self) -> int:
        """The nodes of the widest row."""
        return max(self.sizes)

    def columns(self, row: int) -> NDArray[np.float64]:
        """Where the nodes of a row stand; those of a smaller one are spread over the width.

        >>> Stack((4, 2)).columns(0), Stack((4, 2)).columns(1)
        (array([0., 1., 2., 3.]), array([0.5, 2.5]))
        """
        size = self.sizes[row]
        return (np.arange(size, dtype=np.float64) + 0.5) * (self.widest / size) - 0.5

    def lines(self, row: int, above: Any, below: Any) -> NDArray[np.float64]:
        """Lines (edge, end, coordinate) from nodes `above` of a row to nodes `below` under it."""
        upper = np.stack([self.columns(row)[above], np.full(len(above), float(row))], axis=1)
        lower = np.stack([self.columns(row - 1)[below], np.full(len(below), row - 1.0)], axis=1)
        return np.stack([upper, lower], axis=1)

    def thickness(self, ax: Axes) -> float:
        """Points of the strongest edge, by the room there is."""
        return float(np.clip(0.2 * _axes.pitch(ax, self.widest), 1.0, _WIDEST))

    def dot(self, ax: Axes) -> float:
        """Points across a node, by the room there is."""
        return float(np.clip(0.35 * _axes.pitch(ax, self.widest), 0.8, _NODE))


def draw_edges(
    ax: Axes,
    stack: Stack,
    matrices: Sequence[NDArray[np.float64]],
    *,
    colour: str,
    strongest: float,
    faintest: float = FAINTEST,
    most_opaque: float = 0.9,
    zorder: float = 1.0,
) -> LineCollection:
    """Draw edges as wide and as opaque as they are strong, the strongest on top.

    `matrices[r]` (above, below) holds the weights of the edges from row r + 1 down to row r.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    lines: list[NDArray[np.float64]] = []
    weights: list[NDArray[np.float64]] = []
    for row, matrix in enumerate(matrices, start=1):
        strength = matrix / strongest if strongest > 0 else np.zeros_like(matrix)
        above, below = np.nonzero(strength >= faintest)
        lines.append(stack.lines(row, above, below))
        weights.append(np.minimum(strength[above, below], 1.0))
    strength, line = np.concatenate(weights), np.concatenate(lines)
    order = np.argsort(strength, kind="stable")[-_MOST:]
    strength, line = strength[order], line[order]
    thickest = stack.thickness(ax)
    colours = np.empty((len(strength), 4))
    colours[:, :3] = to_rgb(colour)
    # Chosen by eye: faint ones stay visible, and many do not run into one mass.
    crowd = float(np.clip((_CROWD / stack.widest) ** 0.5, 0.3, 1.0))
    colours[:, 3] = most_opaque * crowd * strength**0.8
    drawn = LineCollection(
        list(line),
        colors=colours,
        linewidths=_THINNEST + (thickest - _THINNEST) * strength,
        capstyle="round",
        zorder=zorder,
    )
    _ = ax.add_collection(drawn, autolim=False)
    return drawn


def draw_nodes(
    ax: Axes, stack: Stack, *, faces: Sequence[Any] | str = "white", edge: str = INK
) -> PathCollection:
    """Draw every node, from the lowest row up; `faces` are the colours inside."""
    x = np.concatenate([stack.columns(row) for row in range(len(stack.sizes))])
    y = np.repeat(np.arange(len(stack.sizes), dtype=float), stack.sizes)
    across = stack.dot(ax)
    settings: Any = {"facecolors": faces, "edgecolors": edge, "linewidths": min(0.8, across / 5)}
    return ax.scatter(x, y, s=across**2, zorder=3, clip_on=False, **settings)


def frame(
    ax: Axes,
    stack: Stack,
    tokens: Sequence[str],
    layers: Sequence[str],
    *,
    strengths: Sequence[float],
) -> None:
    """Put names of the lowest row below the picture and numbers of layers beside it."""
    for side in ax.spines.values():
        side.set_visible(False)
    _ = ax.set_xlim(-0.6, stack.widest - 0.4)
    _ = ax.set_ylim(-0.3, len(stack.sizes) - 0.7)
    _axes.name_layers(ax, layers, [float(row) for row in range(len(layers))])
    _ = ax.set_ylabel(layer_label(layers), fontsize=_axes.font_size("small"))
    name_lowest(ax, stack, tokens, strengths)
    ax.tick_params(colors=INK)
    ax.yaxis.label.set_color(GREY)


def name_lowest(ax: Axes, stack: Stack, tokens: Sequence[str], strengths: Sequence[float]) -> None:
    """Write the names of the lowest row; where not all fit, the largest `strengths` keep theirs."""
    columns: list[float] = stack.columns(0).tolist()
    _axes.name_columns(ax, tokens, columns, strengths=strengths, ticks=False)
