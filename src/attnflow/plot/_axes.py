"""The axes that a picture is drawn on: given, or new ones of a fitting size."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.plot import _names as names
from attnflow.plot._door import require_matplotlib
from attnflow.types import position_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Inches. Chosen: a picture of a paper's column at least, and no more than a screen shows; text
# stays readable when it is printed over the width of a page.
_NARROWEST, _WIDEST, _LOWEST, _HIGHEST = 2.6, 16.0, 2.0, 9.0


def size_for(
    tokens: Sequence[str], rows: int, *, panels: int = 1, flattest: float = 0.0
) -> tuple[float, float]:
    """Width and height in inches for tokens and as many layers, in panels side by side.

    `flattest` is the least height as a share of the width of a panel.

    >>> size_for(["a", "b", "c", "d", "e"], 6)
    (3.0, 3.4)
    """
    # Chosen by eye: 0.4 inches a token and layer are easily read, and the rest is for names.
    width = min(panels * max(0.4 * len(tokens) + 1.0, _NARROWEST), _WIDEST)
    longest = max(len(name) for name in names.shortened(tokens))
    height = max(0.4 * rows, flattest * width / panels - 1.0) + 1.0 + 0.05 * max(0, longest - 6)
    return round(width, 2), round(min(max(height, _LOWEST), _HIGHEST), 2)


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that came, or those of a new figure that notebooks show."""
    require_matplotlib()
    if ax is not None:
        return _checked(ax)
    from matplotlib import pyplot as plt

    return plain(plt.subplots(figsize=size, layout="constrained")[1])


def panels(
    ax: Sequence[Axes] | None,
    count: int,
    size: tuple[float, float],
    widths: Sequence[float] | None = None,
) -> tuple[Axes, ...]:
    """As many axes side by side: those that came, or those of a new figure."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot as plt

        _, made = plt.subplots(
            1, count, figsize=size, layout="constrained", squeeze=False, width_ratios=widths
        )
        return tuple(plain(one) for one in made[0])
    each = tuple(_checked(one) for one in getattr(ax, "flat", ax if _several(ax) else (ax,)))
    if len(each) != count:
        raise InputError(
            f"{len(each)} axes came for {count} panels; give ax={count} of them, as in "
            f"figure.subplots(1, {count})"
        )
    if len({id(one) for one in each}) != count:
        raise InputError(
            f"the same axes came more than once for {count} panels; give each its own, as in "
            f"figure.subplots(1, {count})"
        )
    return each


def _several(ax: object) -> bool:
    return isinstance(ax, list | tuple)


def _checked(ax: Any) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InputError(
            f"ax is of type {type(ax).__name__}; axes of matplotlib are wanted, as "
            "figure.subplots() gives them, or None for a new figure"
        )
    if ax.name != "rectilinear":
        raise InputError(
            f"ax is {ax.name}; axes with a straight x and y are wanted, as figure.subplots() "
            "gives them, or None for a new figure"
        )
    if ax.get_figure() is None:
        raise InputError(
            "ax was removed from its figure; give axes that are on one, or None for a new figure"
        )
    return plain(ax)


def plain(ax: Axes) -> Axes:
    """Let labels of the axes be drawn as they are, also where readers have texts go through TeX.

    Ticks that are made later take after these.
    """
    from matplotlib.text import Text

    for axis in (ax.xaxis, ax.yaxis):
        for text in axis.findobj(Text):
            text.set_usetex(False)
    return ax


def font_size(name: str = "small") -> float:
    """Points of a size such as "small", by the reader's own settings."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=name).get_size_in_points()


def settle(ax: Axes) -> None:
    """Let a figure that lays itself out do so now, that places are known before names are cut."""
    figure: Any = ax.get_figure(root=True)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def pitch(ax: Axes, count: float, *, upright: bool = False) -> float:
    """Points from one of `count` columns to the next; with `upright`, rows."""
    box = ax.get_window_extent()
    length = box.height if upright else box.width
    figure: Any = ax.get_figure(root=True)
    return length * 72 / figure.dpi / max(count, 1)


def name_columns(
    ax: Axes,
    tokens: Sequence[str],
    places: Sequence[float],
    *,
    strengths: Sequence[float],
    ticks: bool = True,
) -> None:
    """Write names below columns: flat where they fit, else slanted or upright.

    Where not even upright ones fit, the strongest columns keep theirs, numbered, and those beside
    them give way.
    """
    settle(ax)
    size = font_size("small")
    span = max(places) - min(places) + 1
    apart = pitch(ax, span) * (span - 1) / max(len(places) - 1, 1) if len(places) > 1 else 1e9
    kept = names.strongest_apart(strengths, apart, 1.25 * size)
    labels = list(tokens)
    if len(kept) < len(tokens):
        labels = [position_name(place, tokens) for place in range(len(tokens))]
    text, how = names.shown([labels[place] for place in kept])
    nearest = min((right - left for left, right in pairwise(kept)), default=1)
    fits = names.width_of(text, size) + 0.5 * size < apart * nearest
    turned: dict[str, Any] = {"rotation": 90}
    if fits:
        turned = {"rotation": 0}
    elif apart >= 1.7 * size:  # chosen: slanted lines keep clear of each other from there on
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    _ = ax.set_xticks([places[place] for place in kept], text, fontsize=size, **turned, **how)
    ax.tick_params(axis="x", length=3 if ticks and len(kept) < len(tokens) else 0)


def name_layers(ax: Axes, labels: Sequence[str], places: Sequence[float]) -> None:
    """Write numbers of layers beside rows, as many as fit."""
    size = font_size("small")
    kept = names.thinned(len(labels), pitch(ax, len(labels), upright=True), 1.15 * size)
    text, how = names.shown([labels[place] for place in kept])
    _ = ax.set_yticks([places[place] for place in kept], text, fontsize=size, **how)
    ax.tick_params(axis="y", length=0)


def name_numbers(ax: Axes, numbers: Sequence[int]) -> None:
    """Write whole numbers below the picture, where they stand and as many as fit."""
    span = max(numbers) - min(numbers) + 1
    kept = names.thinned(len(numbers), pitch(ax, span), 2.0 * font_size("small"))
    _ = ax.set_xticks([numbers[place] for place in kept], [str(numbers[place]) for place in kept])


def titled(ax: Axes, title: str) -> None:
    """Put a title above the axes, on as many lines as its line breaks say."""
    lines = [names.one(line) for line in title.split("\n")]
    families = dict.fromkeys(each for _, how in lines for each in how["fontfamily"])
    how: dict[str, Any] = {"parse_math": False, "usetex": False, "fontfamily": list(families)}
    _ = ax.set_title("\n".join(text for text, _ in lines), fontsize=font_size("medium"), **how)


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **settings: Any) -> None:
    """Explain colours; any name will do, also one that matplotlib would leave out."""
    text, how = names.shown(labels, 40)
    made = ax.legend(list(handles), [str(place) for place in range(len(text))], **settings)
    for each, label in zip(made.get_texts(), text, strict=True):
        each.set_text(label)
        _ = each.set(**how)
