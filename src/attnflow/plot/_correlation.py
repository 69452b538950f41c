"""`correlation`: a table of layers as lines with error bands (Tables 1 to 3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import checked_title
from attnflow.plot._palette import COLOURS, GREY, INK, PALE, colour_of
from attnflow.types import LayerTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# What the numbers of our own tables are, by the measure in their settings.
_MEASURED = {
    "blank_out": "rank correlation with blank-out",
    "input_gradient": "rank correlation with input gradients",
    "subject": "share of texts whose subject scores highest",
}
_MARKERS = "osD^v"


def correlation(
    table: LayerTable,
    *,
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    std: bool | None = None,
    label: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the means of a table over the layers, in bands of one standard deviation.

    The deviation is that of the texts, not of their mean, as in the tables of the paper.

    Parameters
    ----------
    table
        One number for each text, row and layer. Rows that belong to no layer are dotted lines.
    published
        Row → (mean, standard deviation) for each layer, as others have it: dashed lines.
    std
        Whether there are bands; by default for all but shares of texts, whose spread says nothing
        that the share does not.
    label
        What the numbers are; by default what the settings of the table say.
    title
        Above the picture.
    ax
        Axes of matplotlib; None makes a new figure.

    Examples
    --------
    >>> from attnflow import plot
    >>> from attnflow.types import LayerTable
    >>> t = LayerTable([[[0.2, 0.4]], [[0.4, 0.6]]], ["raw"], [1, 2], ["a b", "c d"])
    >>> ax = plot.correlation(t)
    >>> ax.lines[0].get_ydata().round(2)
    array([0.3, 0.5])
    """
    if not isinstance(cast("object", table), LayerTable):
        raise InputError(f"a {type(table).__name__} came; a LayerTable is wanted")
    checked_title(title)
    checked_title(label, "label")
    theirs = _fitting(table, {} if published is None else published)
    ax = _axes.axes(ax, _axes.size_for([""] * max(10, 2 * len(table.layers)), 6))
    handles: list[Any] = []
    labels: list[str] = []
    means, deviations = table.mean, table.std
    banded = table.settings.get("measure") != "subject" if std is None else std
    for place, name in enumerate(table.rows):
        colour, mean = colour_of(name, place), means[place]
        if banded:
            low, high = mean - deviations[place], mean + deviations[place]
            _ = ax.fill_between(table.layers, low, high, color=colour, alpha=0.1, lw=0)
        marker = _MARKERS[place % len(_MARKERS)]
        handles += ax.plot(table.layers, mean, color=colour, marker=marker, ms=4, lw=1.8)
        labels.append(name)
        if name in theirs:
            handles += ax.plot(table.layers, theirs[name][:, 0], color=colour, ls="--", lw=1.2)
            labels.append(f"{name}, published")
    for name, (mean, _) in table.per_text_means.items():
        handles.append(ax.axhline(mean, color=COLOURS.get(name, GREY), ls=":", lw=1.6))
        labels.append(name.replace("_", " "))
    _finish(ax, table, label)
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    _axes.legend(ax, handles, labels, frameon=False, fontsize=_axes.font_size("small"), **beside)
    if title is not None:
        _axes.titled(ax, title)
    return ax


def _finish(ax: Axes, table: LayerTable, label: str | None) -> None:
    measure = cast("object", table.settings.get("measure"))
    told = _MEASURED.get(measure, "mean") if isinstance(measure, str) else "mean"
    text, how = _axes.names.one(told if label is None else label)
    small = _axes.font_size("small")
    _ = ax.set_ylabel(text, fontsize=small, **how)
    _ = ax.set_xlabel("layer", fontsize=small)
    _axes.name_numbers(ax, table.layers)
    ax.tick_params(labelsize=small, colors=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    if ax.get_ylim()[0] < 0:
        _ = ax.axhline(0.0, color=PALE, lw=0.8, zorder=0)


def _fitting(
    table: LayerTable, published: Mapping[str, Sequence[tuple[float, float]]]
) -> dict[str, checks.Floats]:
    """For each row (layer, mean and deviation)."""
    if not isinstance(cast("object", published), Mapping):
        raise InputError(
            f"published is {published!r}; row → (mean, standard deviation) for each layer is "
            "wanted, as in paper.TABLE_1"
        )
    fitting: dict[str, checks.Floats] = {}
    for name, row in published.items():
        if name not in table.rows:
            raise InputError(
                f"numbers were published for {name!r}, and the table has the rows "
                f"{', '.join(table.rows)}; leave out what it has not"
            )
        each = checks.as_floats(row, f"published[{name!r}]")
        if each.shape != (len(table.layers), 2):
            raise InputError(
                f"numbers of shape {each.shape} were published for {name}, and the table has "
                f"{len(table.layers)} layers; give one pair a layer: mean and standard deviation"
            )
        fitting[name] = each
    return fitting
