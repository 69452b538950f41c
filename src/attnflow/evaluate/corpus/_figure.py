"""A summary as a figure: the mean by layer, with bands of the bootstrap interval."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnflow import plot
from attnflow._internal.display import method_title
from attnflow._internal.run_folder import resume_advice
from attnflow.errors import InputError

if TYPE_CHECKING:
    from attnflow.evaluate.corpus._formats import Group

# Inches of a panel, alone and beside others. Chosen: a column of a paper, and half of one.
_WIDTH, _NARROW, _HEIGHT = 4.2, 2.4, 2.6
_TITLE = 34  # characters of a line of a title. Chosen, so that it fits the height of a panel
_GREY = "#8C8C8C"  # of baselines without a colour


def save_figure(groups: Sequence[Group], path: Path) -> None:
    """Draw a row of panels for each group, a panel for each edge weight, into a file.

    The panels of a row have one scale.
    """
    from matplotlib.figure import Figure

    columns = max(len(group.edges) for group in groups)
    width = _NARROW * columns if columns > 1 else _WIDTH
    figure = Figure(figsize=(width, _HEIGHT * len(groups)), layout="constrained")
    panels: Any = figure.subplots(len(groups), columns, squeeze=False, sharex=True, sharey="row")
    for row, group in zip(panels, groups, strict=True):
        row[0].set_ylabel(textwrap.fill(group.title, _TITLE), fontsize="small")
        for edges, ax in zip(group.edges, row, strict=True):
            _draw(ax, group, edges)
    for edges, ax in zip(groups[0].edges, panels[0], strict=True):
        ax.set_title(f"edges: {edges.replace('_', ' ')}", fontsize="small", loc="left")
    for ax in panels[-1]:
        ax.set_xlabel("layer", fontsize="small")
    named = {
        label: handle
        for ax in panels.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    _ = figure.legend(
        list(named.values()), list(named), loc="outside upper left", ncols=5, frameon=False,
        fontsize="small",
    )  # fmt: skip
    try:
        plot.save(figure, path)
    except InputError as error:
        reason = error.__cause__
        if not isinstance(reason, OSError):
            raise
        raise InputError(
            f"{path} cannot be written: {reason.strerror or reason}. {resume_advice(path)}"
        ) from reason


def _draw(ax: Any, group: Group, edges: str) -> None:
    """Draw the methods of one edge weight, and the baselines."""
    from matplotlib.ticker import MaxNLocator

    for method, by_layer in group.methods(edges).items():
        layers, items = list(by_layer), list(by_layer.values())
        colour = plot.COLOURS[method]
        low, high = [item.low for item in items], [item.high for item in items]
        ax.fill_between(layers, low, high, color=colour, alpha=0.25, lw=0)
        means = [item.mean for item in items]
        ax.plot(layers, means, color=colour, marker="o", ms=3, label=plot.TITLES[method])
    for name, item in group.baselines.items():
        colour, label = plot.COLOURS.get(name, _GREY), method_title(name)
        ax.axhline(item.mean, color=colour, ls=":", label=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(labelsize="small")
    ax.spines[["top", "right"]].set_visible(False)
