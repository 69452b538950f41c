"""Axes to draw on, given or new, and the labels of their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attnflow._internal.display import numbered
from attnflow.errors import InputError
from attnflow.plot import _names as names
from attnflow.plot._checks import require_matplotlib
from attnflow.plot._palette import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches. Chosen: at least a column of a paper, at most a screen; text stays readable when the
# figure is printed over the width of a page.
_MIN_WIDTH, _MAX_WIDTH, _MIN_HEIGHT, _MAX_HEIGHT = 2.6, 16.0, 2.0, 9.0

# Characters of a line below a figure. Chosen: the width of three panels.
_NOTE_LENGTH = 120


def size_for(
    shown: Sequence[str], rows: int, *, panels: int = 1, min_aspect: float = 0.0
) -> tuple[float, float]:
    """Return width and height in inches for names of tokens and rows, in panels side by side.

    Names are those that people read, as `token_names` gives them; so they are in all of this file.
    `min_aspect` is the smallest height of a panel as a share of its width.

    >>> size_for(["a", "b", "c", "d", "e"], 6)
    (3.0, 3.4)
    """
    # Chosen by eye: 0.4 inches for each token and row, the rest for names.
    width = min(panels * max(0.4 * len(shown) + 1.0, _MIN_WIDTH), _MAX_WIDTH)
    longest = max(len(names.short(name)) for name in shown)
    height = max(0.4 * rows, min_aspect * width / panels - 1.0) + 1.0 + 0.05 * max(0, longest - 6)
    return round(width, 2), round(min(max(height, _MIN_HEIGHT), _MAX_HEIGHT), 2)


def size_for_rows(shown: Sequence[str], columns: int) -> tuple[float, float]:
    """Return width and height in inches for names of tokens at the left of rows.

    >>> size_for_rows(["a", "b", "c", "d", "e"], 6)
    (3.9, 2.1)
    """
    longest = max(len(names.short(name)) for name in shown)
    # Chosen by eye: 0.22 inches for a line of text, 0.08 for a letter.
    width = min(max(0.4 * columns + 1.4 + 0.08 * longest, _MIN_WIDTH), _MAX_WIDTH)
    height = min(max(0.22 * len(shown) + 1.0, _MIN_HEIGHT), _MAX_WIDTH)
    return round(width, 2), round(height, 2)


def size_for_matrix(columns: Sequence[str], rows: Sequence[str]) -> tuple[float, float]:
    """Return width and height in inches for cells that are about square.

    >>> size_for_matrix(["a"] * 5, ["b"] * 5)
    (2.78, 2.35)
    """
    wide, high = (max(len(names.short(name)) for name in each) for each in (rows, columns))
    # Chosen by eye: 0.3 inches for a cell, the rest for names and the colour bar.
    width = min(max(0.3 * len(columns) + 1.2 + 0.08 * wide, _MIN_WIDTH), _MAX_HEIGHT)
    height = min(max(0.3 * len(rows) + 0.8 + 0.05 * high, _MIN_HEIGHT), _MAX_HEIGHT)
    return round(width, 2), round(height, 2)


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, checked, or those of a new pyplot figure."""
    require_matplotlib()
    if ax is not None:
        return _check_axes(ax)
    from matplotlib import pyplot as plt

    return plain(plt.subplots(figsize=size, layout="constrained")[1])


def panels(
    ax: Sequence[Axes] | None,
    count: int,
    size: tuple[float, float],
    widths: Sequence[float] | None = None,
) -> tuple[Axes, ...]:
    """Return `count` axes side by side: those given, checked, or those of a new figure."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot as plt

        _, made = plt.subplots(
            1, count, figsize=size, layout="constrained", squeeze=False, width_ratios=widths
        )
        return tuple(plain(one) for one in made[0])
    given = tuple(
        map(_check_axes, getattr(ax, "flat", ax if isinstance(ax, list | tuple) else (ax,)))
    )
    if len(given) != count:
        raise InputError(
            f"ax: expected {count} axes, one for each panel, got {len(given)}. Pass "
            f"figure.subplots(1, {count})"
        )
    if len({id(one) for one in given}) != count:
        raise InputError(
            f"ax: expected {count} different axes, got some more than once. Pass "
            f"figure.subplots(1, {count})"
        )
    return given


def _check_axes(ax: Any) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(
            f"ax: expected matplotlib Axes, got {type(ax).__name__}. Pass what figure.subplots() "
            "returns, or None for a new figure"
        )
    if ax.name != "rectilinear":
        raise InputError(
            f"ax: expected a rectilinear projection, got {ax.name}. Pass what figure.subplots() "
            "returns, or None for a new figure"
        )
    if ax.get_figure() is None:
        raise InputError(
            "ax was removed from its figure. Pass axes of a figure, or None for a new figure"
        )
    return plain(ax)


def plain(ax: Axes) -> Axes:
    """Switch TeX off for the labels of axes, because names of tokens are not TeX.

    Ticks that are created later inherit it.
    """
    from matplotlib.text import Text

    for axis in (ax.xaxis, ax.yaxis):
        for text in axis.findobj(Text):
            text.set_usetex(False)
    return ax


def font_size(name: str = "small") -> float:
    """Return a font size such as "small" in points, by the rcParams in use."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=name).get_size_in_points()


def run_layout(ax: Axes) -> None:
    """Run the layout engine of the figure now, so that sizes are known before names are cut."""
    figure: Any = ax.get_figure(root=True)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def pitch(ax: Axes, count: float, *, vertical: bool = False) -> float:
    """Return the distance of `count` columns in points; with `vertical`, of rows."""
    box = ax.get_window_extent()
    length = box.height if vertical else box.width
    figure: Any = ax.get_figure(root=True)
    return length * 72 / figure.dpi / max(count, 1)


def label_columns(
    ax: Axes | Sequence[Axes],
    shown: Sequence[str],
    places: Sequence[float],
    *,
    weights: Sequence[float],
    positions: Sequence[int] | None = None,
    ticks: bool = True,
) -> None:
    """Label columns with names: horizontal if they fit, else slanted or vertical.

    If not even vertical names fit, the columns with the largest `weights` are labelled, with their
    `positions` (by default 0, 1, …), and their neighbours are not. Several axes with the same
    columns get the same labels.
    """
    panels: list[Any] = list(ax) if isinstance(ax, Sequence) else [ax]
    run_layout(panels[0])
    size = font_size("small")
    span = max(places) - min(places) + 1
    narrowest = min(pitch(panel, span) for panel in panels)
    apart = narrowest * (span - 1) / max(len(places) - 1, 1) if len(places) > 1 else 1e9
    kept, labels = _labels_that_fit(shown, weights, positions, apart / (1.25 * size))
    text, how = names.drawable(labels)
    nearest = min((right - left for left, right in pairwise(kept)), default=1)
    fits = names.width_of(text, size) + 0.5 * size < apart * nearest
    rotation: dict[str, Any] = {"rotation": 90}
    if fits:
        rotation = {"rotation": 0}
    elif apart >= 1.7 * size:  # chosen: slanted lines do not overlap from there on
        rotation = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    at = [places[place] for place in kept]
    for panel in panels:
        _ = panel.set_xticks(at, text, fontsize=size, **rotation, **how)
        panel.tick_params(axis="x", length=3 if ticks and len(kept) < len(shown) else 0)


def label_rows(
    ax: Axes,
    shown: Sequence[str],
    *,
    weights: Sequence[float],
    positions: Sequence[int] | None = None,
) -> None:
    """Label rows 0, 1, … with names; if not all fit, as `label_columns` does."""
    size = font_size("small")
    run_layout(ax)
    apart = pitch(ax, len(shown), vertical=True)
    kept, labels = _labels_that_fit(shown, weights, positions, apart / (1.15 * size))
    text, how = names.drawable(labels)
    _ = ax.set_yticks(kept, text, fontsize=size, **how)
    ax.tick_params(axis="y", length=3 if len(kept) < len(shown) else 0)


def _labels_that_fit(
    shown: Sequence[str],
    weights: Sequence[float],
    positions: Sequence[int] | None,
    apart: float,
) -> tuple[list[int], list[str]]:
    """Return the places that are labelled, and their labels: with positions if not all are.

    `apart` is the distance of places in lines of text.
    """
    kept = names.spaced_by_weight(weights, apart, 1.0)
    if len(kept) == len(shown):
        return kept, list(shown)
    numbers = range(len(shown)) if positions is None else positions
    return kept, [numbered(numbers[place], shown[place]) for place in kept]


def label_layers(ax: Axes, labels: Sequence[str], *, horizontal: bool = False) -> None:
    """Label rows 0, 1, … with layers, as many as fit; with `horizontal`, columns."""
    size = font_size("small")
    # Chosen by eye: a number takes about 1.8 times its height.
    space = 1.8 * size if horizontal else 1.15 * size
    kept = names.thinned(len(labels), pitch(ax, len(labels), vertical=not horizontal), space)
    text, how = names.drawable([labels[place] for place in kept])
    _ = (ax.set_xticks if horizontal else ax.set_yticks)(kept, text, fontsize=size, **how)
    ax.tick_params(axis="x" if horizontal else "y", length=0)


def label_integers(ax: Axes, numbers: Sequence[int]) -> None:
    """Label the x axis with integers, as many as fit."""
    span = max(numbers) - min(numbers) + 1
    kept = names.thinned(len(numbers), pitch(ax, span), 2.0 * font_size("small"))
    _ = ax.set_xticks([numbers[place] for place in kept], [str(numbers[place]) for place in kept])


def note_below(ax: Axes, lines: Sequence[str]) -> None:
    """Write lines in small grey letters below the axes and their label."""
    text, how = names.drawable(lines, _NOTE_LENGTH)
    how |= {"fontsize": font_size("x-small"), "color": GREY}
    if not ax.get_xlabel():
        _ = ax.set_xlabel("\n".join(text), loc="left", **how)
        return
    below: Any = {"xy": (0.0, 0.0), "xytext": (0.0, -2.0), "textcoords": "offset points"}
    # Left as the axes, and lower than the label.
    below |= {"xycoords": ("axes fraction", ax.xaxis.label), "va": "top", "annotation_clip": False}
    _ = ax.annotate("\n".join(text), **below, **how)


def set_title(ax: Axes, title: str) -> None:
    """Set the title of the axes; line breaks are kept."""
    lines = [names.drawable_line(line) for line in title.split("\n")]
    families = dict.fromkeys(family for _, how in lines for family in how["fontfamily"])
    how: dict[str, Any] = {"parse_math": False, "usetex": False, "fontfamily": list(families)}
    _ = ax.set_title("\n".join(text for text, _ in lines), fontsize=font_size("medium"), **how)


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **settings: Any) -> None:
    """Draw a legend at the right of the axes.

    Labels may start with an underscore, which matplotlib would leave out.
    """
    text, how = names.drawable(labels, 40)
    settings |= {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
    numbers = [str(place) for place in range(len(text))]
    drawn = ax.legend(list(handles), numbers, fontsize=font_size("small"), **settings)
    for entry, label in zip(drawn.get_texts(), text, strict=True):
        entry.set_text(label)
        _ = entry.set(**how)
