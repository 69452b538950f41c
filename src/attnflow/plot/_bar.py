"""`bar`: scores of one position as bars, several methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.display import token_names
from attnflow._internal.scale import largest_other
from attnflow.plot import _axes
from attnflow.plot._bar_series import Result, colours_of, notes_of, series_of, title_of
from attnflow.plot._cells import Tokens, check_tokens
from attnflow.plot._checks import check_title, check_titles, check_vmax
from attnflow.plot._palette import GREY, INK, hex_colour, ink_on, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Share of the space of a token that its bars fill. Chosen by eye.
_FILLED = 0.8
# Length of the axis as a share of the scale: room for the triangles of longer bars. Chosen by eye.
_ROOM = 1.08
# Inches for the legend. Chosen: its usual labels.
_LEGEND_INCHES = 1.4
# Additional space of a token for each further result, as a share, and inches up to which a figure
# gets it. Chosen by eye.
_MORE, _MAX_INCHES = 0.25, 12.0


def bar(
    *results: Result,
    query: int | None = None,
    layer: int | None = None,
    shares: bool | None = None,
    tokens: Tokens = "columns",
    vmax: float | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of one position as bars: a group for each token, a bar for each method.

    Every position has bars of its own, also where several have one name. Tokens that were taken out
    of the attention have a dash instead, and a line below names them. A line below also names the
    answers that importance is for, if it records them.

    Parameters
    ----------
    results
        Token attention and importance of the same tokens, or of the same words (`to_words`): for
        example `*e.scores.values(), *e.importance.values()` of an explanation e.
    query
        Position whose scores are drawn; optional if only one was computed.
    layer
        Layer; by default the last computed.
    shares
        Whether bars are shares of the sum of the absolute values of their method. By default True
        for several results, whose scores have different scales, and False for one.
    tokens
        "columns" for tokens from left to right; "rows" for tokens from top to bottom, which suits
        long names.
    vmax
        Upper end of the scale. By default the largest value but for the attention of the query to
        itself and for outliers, which are more than five times every score outside the largest
        quarter of a method. A larger bar ends there with a triangle, and with its value if there is
        room.
    labels
        Names of the results; by default those of their methods, and of the edges if they are not
        attention.
    title
        Title; by default layer and query.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> t = af.TokenAttention([[[0.2, 0.5, 0.3]]], ["the", "key", "the"], [6], [1], "rollout")
    >>> ax = plot.bar(t, af.Importance([0.0, 0.3, 0.1], t.tokens, "blank_out"))
    >>> [label.get_text() for label in ax.get_xticklabels()], len(ax.patches)
    (['the', 'key', 'the'], 6)
    """
    check_title(title)
    in_rows = check_tokens(tokens) == "rows"
    series = series_of(results, query, layer)
    names = (
        [one.label for one in series]
        if labels is None
        else check_titles(labels, len(series), "labels")
    )
    as_shares = len(series) > 1 if shares is None else checks.as_bool(shares, "shares")
    values = np.stack([_shares(one.values) if as_shares else one.values for one in series])
    own = [one.own for one in series]
    top = _top(values, own) if vmax is None else check_vmax(vmax)
    words = token_names(results[0].tokens)
    ax = _axes.axes(ax, _size(words, len(series), in_rows=in_rows))
    colours = colours_of(series)
    handles = _draw_bars(ax, values, colours, top, in_rows=in_rows)
    if len(series) > 1:
        _axes.legend(ax, handles, names)
    small = _axes.font_size("small")
    unit = series[0].unit if len(series) == 1 else "score"
    value_label = "share" if as_shares else unit
    _ = (ax.set_xlabel if in_rows else ax.set_ylabel)(value_label, fontsize=small)
    ax.tick_params(labelsize=small, colors=INK)
    weights: list[float] = np.abs(values).max(axis=0).tolist()
    if in_rows:
        _axes.label_rows(ax, words, weights=weights)
    else:
        _axes.label_columns(ax, words, [float(j) for j in range(len(words))], weights=weights)
    _draw_values(ax, values, colours, top, in_rows=in_rows)
    _draw_removed(ax, [one.removed for one in series], in_rows=in_rows)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    _axes.set_title(ax, title_of(series, names) if title is None else title)
    if notes := notes_of(series, names):
        _axes.note_below(ax, notes)
    return ax


def _size(names: Sequence[str], n_series: int, *, in_rows: bool) -> tuple[float, float]:
    """Return width and height in inches: more for more bars, with a legend for several results."""
    width, height = _axes.size_for_rows(names, 8) if in_rows else _axes.size_for(names, 4)
    more = 1 + _MORE * (n_series - 1)
    if in_rows:
        height = min(more * height, max(height, _MAX_INCHES))
    else:
        width = min(more * width, max(width, _MAX_INCHES))
    return width + _LEGEND_INCHES * (n_series > 1), height


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values as shares of the sum of their absolute values; zeros stay."""
    largest = float(np.abs(values).max()) or 1.0
    scaled = values / largest  # first, because the sum may overflow
    return scaled / (float(np.abs(scaled).sum()) or 1.0)


def _top(values: NDArray[np.float64], own: Sequence[NDArray[np.bool_] | None]) -> float:
    """Return the end of the scale; importance is always on it."""
    rows = zip(values, own, strict=True)
    return (
        max(
            float(np.abs(row).max()) if mask is None else largest_other(row[None], mask)
            for row, mask in rows
        )
        or 1.0
    )


def _places(values: NDArray[Any], number: int) -> NDArray[np.float64]:
    """Return the places of the bars of one of several results."""
    n_series, n_tokens = values.shape
    return np.arange(n_tokens) + (number - (n_series - 1) / 2) * _FILLED / n_series


def _draw_bars(
    ax: Axes, values: NDArray[np.float64], colours: Sequence[str], top: float, *, in_rows: bool
) -> list[Any]:
    """Draw the bars up to the end of the scale, with triangles where they are longer."""
    n_series, n_tokens = values.shape
    thickness = _FILLED / n_series
    handles: list[Any] = []
    for number, (row, colour) in enumerate(zip(values, colours, strict=True)):
        at, shown = _places(values, number), np.clip(row, -top, top)
        if in_rows:
            handles.append(ax.barh(at, shown, thickness, color=colour))
        else:
            handles.append(ax.bar(at, shown, thickness, color=colour))
        for over, end, pointing in ((row > top, top, "^>"), (row < -top, -top, "v<")):
            ends = np.full(int(over.sum()), end * (1 + _ROOM) / 2)
            where = (ends, at[over]) if in_rows else (at[over], ends)
            marker = pointing[in_rows]
            _ = ax.scatter(*where, marker=marker, s=14, color=colour, linewidths=0)
    low = min(float(np.clip(values, -top, top).min()), 0.0)
    ends, places = (_ROOM * low, _ROOM * top), (-0.6, n_tokens - 0.4)
    if in_rows:
        _ = ax.set_xlim(*ends), ax.set_ylim(*places[::-1])  # the first token is at the top
    else:
        _ = ax.set_xlim(*places), ax.set_ylim(*ends)
    if low < 0:
        _ = (ax.axvline if in_rows else ax.axhline)(0.0, color=GREY, linewidth=0.8)
    return handles


def _draw_values(
    ax: Axes, values: NDArray[np.float64], colours: Sequence[str], top: float, *, in_rows: bool
) -> None:
    """Write the value of each bar that is longer than the scale into it, if there is room."""
    n_series, n_tokens = values.shape
    size = _axes.font_size("x-small")
    if _axes.pitch(ax, n_tokens + 0.2, vertical=in_rows) * _FILLED / n_series < 1.1 * size:
        return
    turned: Any = {} if in_rows else {"rotation": 90}
    for number, (row, colour) in enumerate(zip(values, colours, strict=True)):
        ink = hex_colour(ink_on(rgb(colour)))
        for at, value in zip(_places(values, number), row, strict=True):
            if abs(value) <= top:
                continue
            end, side = (0.98 * top, "right") if value > 0 else (-0.98 * top, "left")
            aligned = {"ha": side, "va": "center"}
            if not in_rows:
                aligned = {"ha": "center", "va": "top" if value > 0 else "bottom"}
            where = (end, at) if in_rows else (at, end)
            settings: Any = {**aligned, **turned, "color": ink, "fontsize": size, "usetex": False}
            _ = ax.text(*where, f"{value:.2f}", **settings)


def _draw_removed(ax: Axes, removed: Sequence[NDArray[np.bool_]], *, in_rows: bool) -> None:
    """Write a dash in the place of each bar of a token that was taken out."""
    stacked = np.stack(removed)
    size = _axes.font_size("medium")
    side: Any = {"ha": "left", "va": "center"} if in_rows else {"ha": "center", "va": "bottom"}
    for number, row in enumerate(stacked):
        for at in _places(stacked, number)[row]:
            _ = ax.text(
                *((0.0, at) if in_rows else (at, 0.0)), "-", color=INK, fontsize=size, **side
            )
