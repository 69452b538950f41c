"""The counts of Figure 4 by layer, as lines with the bands of their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnflow import plot
from attnflow.paper.results._pronoun_counts import (
    CHANCE,
    EFFECT,
    FIRST,
    NEAREST,
    SUPPORT,
    PronounCounts,
)
from attnflow.types import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attnflow.paper.results._shares import Share

_SIZE = (9.6, 3.6)  # inches. Chosen by eye: two panels over the width of a page
_GREY, _INK = "#8C8C8C", "#333333"
# Of horizontal lines.
_PLACES = {FIRST: ":", NEAREST: "--"}
_CHANGES = {SUPPORT: "-.", EFFECT: (0, (1, 3))}


def pronoun_counts_figure(counts: PronounCounts, *, title: str | None = None) -> Figure:
    """Return a figure of the shares of `count_pronouns` by layer, with 95 % intervals.

    The left panel has the shares, with those of rules that only know the places of the candidates;
    the right panel has the balanced shares, with those of rules that replace a candidate.

    Parameters
    ----------
    counts
        The counts.
    title
        Title of the figure.
    """
    plot.require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    layers = counts.table.layers
    _draw(left, layers, counts.shares())
    _draw(right, layers, counts.shares(balanced=True))
    chance = counts.table.per_text_means[CHANCE][0]
    for ax in (left, right):
        _ = ax.axhline(chance, color=_GREY, lw=1.0, label=CHANCE, zorder=0)
    for ax, styles, rules in (
        (left, _PLACES, counts.rules()),
        (right, _CHANGES, counts.rules(balanced=True)),
    ):
        for name, style in styles.items():
            value = float(rules[name].share)
            _ = ax.axhline(value, color=_GREY, ls=style, lw=1.2, label=name, zorder=0)
    left.set_title(f"{len(counts.table.texts)} sentences", fontsize="medium")
    right.set_title("mean over which candidate decides", fontsize="medium")
    left.set_ylabel("share where the deciding candidate\nhas more weight", fontsize="small")
    labelled = {
        label: handle
        for ax in (left, right)
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    _ = figure.legend(
        [*labelled.values()],
        [*labelled],
        loc="outside right center",
        frameon=False,
        fontsize="small",
    )
    if title is not None:
        _ = figure.suptitle(title, fontsize="medium", usetex=False)
    return figure


def _draw(ax: Axes, layers: tuple[int, ...], shares: dict[str, Share]) -> None:
    from matplotlib.ticker import MaxNLocator

    for name in METHODS:
        value, low, high = shares[name]
        colour = plot.COLOURS[name]
        _ = ax.fill_between(layers, low, high, color=colour, alpha=0.15, lw=0)
        _ = ax.plot(layers, value, color=colour, marker="o", ms=3, lw=1.6, label=name)
    _ = ax.set_xlabel("layer", fontsize="small")
    _ = ax.set_ylim(0, 1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(labelsize="small", colors=_INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_GREY)
