"""`correlation`: a table by layer as lines with bands (Tables 1 to 3 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow._internal.display import method_title
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import check_title
from attnflow.plot._palette import COLOURS, GREY, INK, PALE, colour_of
from attnflow.types import LayerTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Labels of the y axis, by the measure in the settings of a table.
_LABELS = {
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
    """Draw the means of a table by layer, with bands of one standard deviation.

    The deviation is over the texts, as in the tables of the paper; it is not that of the mean.

    Parameters
    ----------
    table
        One number for each text, row and layer. Rows without layers are dotted lines.
    published
        Row → (mean, standard deviation) for each layer of published results: dashed lines.
    std
        Whether to draw bands; by default for all measures but shares of texts, whose deviation
        follows from the share.
    label
        Label of the y axis; by default from the settings of the table.
    title
        Title.
    ax
        Matplotlib axes to draw on; None makes a new figure.

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
        raise InputError(f"expected a LayerTable, got {type(table).__name__}")
    check_title(title)
    check_title(label, "label")
    reference = _check_published(table, {} if published is None else published)
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
        if name in reference:
            handles += ax.plot(table.layers, reference[name][:, 0], color=colour, ls="--", lw=1.2)
            labels.append(f"{name}, published")
    for name, (mean, _) in table.per_text_means.items():
        handles.append(ax.axhline(mean, color=COLOURS.get(name, GREY), ls=":", lw=1.6))
        labels.append(method_title(name))
    _finish(ax, table, label)
    _axes.legend(ax, handles, labels)
    if title is not None:
        _axes.set_title(ax, title)
    return ax


def _finish(ax: Axes, table: LayerTable, label: str | None) -> None:
    measure = cast("object", table.settings.get("measure"))
    default = _LABELS.get(measure, "mean") if isinstance(measure, str) else "mean"
    text, how = _axes.names.drawable_line(default if label is None else label)
    small = _axes.font_size("small")
    _ = ax.set_ylabel(text, fontsize=small, **how)
    _ = ax.set_xlabel("layer", fontsize=small)
    _axes.label_integers(ax, table.layers)
    ax.tick_params(labelsize=small, colors=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    if ax.get_ylim()[0] < 0:
        _ = ax.axhline(0.0, color=PALE, lw=0.8, zorder=0)


def _check_published(
    table: LayerTable, published: Mapping[str, Sequence[tuple[float, float]]]
) -> dict[str, checks.Floats]:
    """Return row → array (layer, mean and deviation), checked."""
    if not isinstance(cast("object", published), Mapping):
        raise InputError(
            "published must be a mapping of row → (mean, standard deviation) for each layer, as "
            f"paper.TABLE_1, got {published!r}"
        )
    rows: dict[str, checks.Floats] = {}
    for name, row in published.items():
        if name not in table.rows:
            raise InputError(
                f"published has a row {name!r}; the table has {', '.join(table.rows)}. Leave out "
                "other rows"
            )
        numbers = checks.as_floats(row, f"published[{name!r}]")
        if numbers.shape != (len(table.layers), 2):
            raise InputError(
                f"published[{name!r}]: expected shape {(len(table.layers), 2)}, a mean and a "
                f"standard deviation for each layer, got {numbers.shape}"
            )
        rows[name] = numbers
    return rows
