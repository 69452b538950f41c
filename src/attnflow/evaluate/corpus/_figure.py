"""A summary as a figure: the mean by layer, with bands of the bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnflow import plot

if TYPE_CHECKING:
    from attnflow.evaluate.corpus._formats import Group

_WIDTH, _HEIGHT = 5.6, 3.2  # inches of a panel. Chosen: a column of a paper, with the legend
_GREY = "#8C8C8C"  # of baselines without a colour


def save_figure(groups: Sequence[Group], path: Path) -> None:
    """Draw a panel for each group, one below the other, into a file."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(_WIDTH, _HEIGHT * len(groups)), layout="constrained")
    panels = figure.subplots(len(groups), squeeze=False)[:, 0]
    for group, ax in zip(groups, panels, strict=True):
        for method, by_layer in group.methods.items():
            layers, items = list(by_layer), list(by_layer.values())
            colour = plot.COLOURS[method]
            low, high = [item.low for item in items], [item.high for item in items]
            ax.fill_between(layers, low, high, color=colour, alpha=0.25, lw=0)
            means = [item.mean for item in items]
            ax.plot(layers, means, color=colour, marker="o", ms=3, label=plot.TITLES[method])
        for name, item in group.baselines.items():
            colour, label = plot.COLOURS.get(name, _GREY), name.replace("_", " ")
            ax.axhline(item.mean, color=colour, ls=":", label=label)
        ax.set_title(group.title, fontsize="small", loc="left")
        ax.set_xlabel("layer", fontsize="small")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.tick_params(labelsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    plot.save(figure, path)
