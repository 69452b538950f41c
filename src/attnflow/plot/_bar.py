"""`bar`: scores of one position as bars, several methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.display import position_name, token_names
from attnflow._internal.scale import largest_other
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._cells import Tokens, check_tokens
from attnflow.plot._checks import check_title, check_titles, check_vmax, query_index
from attnflow.plot._labels import score_label
from attnflow.plot._palette import GREY, INK, OTHERS, TITLES, colour_of, hex_colour, ink_on, rgb
from attnflow.plot._scale import is_segmented, own_column
from attnflow.types import Importance, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Result: TypeAlias = TokenAttention | Importance

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

    Every position has bars of its own, also where several have one name.

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
    series = _series(results, query, layer)
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
    colours = _colours(series)
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
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    _axes.set_title(ax, _title(series, names) if title is None else title)
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


class _Series(NamedTuple):
    """The bars of one result."""

    values: NDArray[np.float64]
    own: NDArray[np.bool_] | None  # whether a value is that of the query itself; not of importance
    method: str
    label: str
    unit: str
    of: str  # layer and query; "" for importance


def _series(results: Sequence[object], query: int | None, layer: int | None) -> list[_Series]:
    """Return the bars of each result, checked."""
    if not results:
        raise InputError("expected token attention or importance, got nothing")
    series: list[_Series] = []
    for place, one in enumerate(results):
        if not isinstance(one, TokenAttention | Importance):
            raise InputError(
                f"expected token attention or importance, got {type(one).__name__}. Pass raw(x), "
                "rollout(x), flow(x) or what attnflow.importance returns"
            )
        first = cast("Result", results[0]).tokens
        if one.tokens != first:
            raise InputError(
                f"results 0 and {place} are of different tokens, {' '.join(first[:3])} … and "
                f"{' '.join(one.tokens[:3])} …. Pass results of one text, all of tokens or all of "
                "words"
            )
        is_attention = isinstance(one, TokenAttention)
        series.append(_of_scores(one, query, layer) if is_attention else _of_importance(one))
    if all(not one.of for one in series) and (query is not None or layer is not None):
        raise InputError("query and layer need token attention, got importance. Leave them out")
    return series


def _of_scores(one: TokenAttention, query: int | None, layer: int | None) -> _Series:
    place = query_index(one, query)
    position = one.queries[place]
    chosen = max(one.layers) if layer is None else layer
    scores = one.row(chosen, position)
    number = one.layers.index(chosen)
    label = TITLES[one.method]
    edges = one.settings.get("edges", "attention")
    if edges != "attention":
        label += f", {edges}"
    if one.saturated[number] or one.flat[number, place]:
        label += " (saturated)" if one.saturated[number] else " (flat)"
    named = one.settings.get("onto", 0) == 0 and not is_segmented(one)
    where = position_name(position, token_names(one.tokens) if named else ())
    finite = scores[np.isfinite(scores)].max(initial=0.0) or 1.0
    return _Series(
        values=np.minimum(scores, finite),
        own=own_column(one, position),
        method=one.method,
        label=label,
        unit=score_label(one),
        of=f"layer {chosen}, from {where}",
    )


def _of_importance(one: Importance) -> _Series:
    label = "blank-out" if one.method == "blank_out" else one.method.replace("_", " ")
    return _Series(one.values, None, one.method, label.capitalize(), "importance", "")


def _title(series: Sequence[_Series], names: Sequence[str]) -> str:
    """Return layer and query, if they are the same for all; with one result, its name too."""
    where = {one.of for one in series if one.of}
    parts = [*names[: len(series) == 1], *(where if len(where) == 1 else ())]
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _colours(series: Sequence[_Series]) -> list[str]:
    """Return a colour for each result; those of one method differ."""
    colours: list[str] = []
    for place, one in enumerate(series):
        free = [c for c in (colour_of(one.method, place), *OTHERS) if c not in colours]
        colours.append(free[0] if free else colour_of("", place))
    return colours


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


def _places(values: NDArray[np.float64], number: int) -> NDArray[np.float64]:
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
