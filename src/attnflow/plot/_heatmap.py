"""`heatmap`: scores of one position, token by layer (Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnflow._internal.display import token_names
from attnflow._internal.scale import largest_other
from attnflow.plot import _axes
from attnflow.plot._cells import Cmap, Colours, Norm, Tokens, check_tokens, draw_cell_borders
from attnflow.plot._checks import check_title, query_index
from attnflow.plot._labels import layer_label, layer_names, score_label, score_notes
from attnflow.plot._palette import INK, TITLES, colour_of
from attnflow.plot._scale import own_column
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def heatmap(
    token_attention: TokenAttention,
    *,
    query: int | None = None,
    tokens: Tokens = "columns",
    cmap: Cmap = None,
    norm: Norm = None,
    vmax: float | None = None,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of the scores of one position: tokens as columns, layers as rows.

    The cell of layer l and token j shows `scores[l, query, j]`.

    Parameters
    ----------
    token_attention
        Scores of some layers.
    query
        Position whose scores are drawn; optional if only one was computed.
    tokens
        "columns" for tokens from left to right and layers upwards; "rows" for tokens from top to
        bottom, which suits long names, and layers from left to right.
    cmap
        Colormap of matplotlib, or its name; by default from white to the colour of the method.
    norm
        `Normalize` of matplotlib, or the name of a scale such as "log"; by default linear from 0 to
        `vmax`. A norm without `vmax` gets the default one, and without `vmin` the smallest score.
    vmax
        Upper end of the colour scale. By default the largest score but for what the query has of
        itself through the residual connection, and for outliers: columns whose largest score is
        more than five times that of every column outside the largest quarter. The colour bar has an
        arrow if scores exceed the scale.
    colorbar
        Whether to draw a colour bar. Its label is "attention" (raw), "share" (rollout), "flow", or
        "share of flow" after `normalized`.
    title
        Title; by default the name of the method.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    A star marks saturated layers and a dagger flat ones, see `flow`. Infinite scores are drawn like
    the largest finite one. If not all names of tokens fit, those with the largest scores are shown.
    A line below says what was taken out of the scores, and whether they are corrected.
    `compare` with `view="heatmap"` draws several methods side by side, all as shares.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> from attnflow.types import random_attention
    >>> ax = plot.heatmap(af.rollout(random_attention(3, 2, 5)), query=0)
    >>> ax.images[0].get_array().shape
    (3, 5)
    """
    check_title(title)
    in_rows = check_tokens(tokens) == "rows"
    place = query_index(token_attention, query)
    colours = Colours.of(cmap, norm, vmax, colour=colour_of(token_attention.method))
    ax = draw_heatmap(
        token_attention, place, colours, in_rows=in_rows, colorbar=colorbar, title=title, ax=ax
    )
    if notes := score_notes(token_attention):
        _axes.note_below(ax, notes)
    return ax


def draw_heatmap(
    token_attention: TokenAttention,
    place: int,
    colours: Colours,
    *,
    in_rows: bool = False,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the heat map of the query at index `place`, without a line about what was taken out."""
    order = np.argsort(token_attention.layers, kind="stable")
    scores = token_attention.scores[order, place]  # (layer, token)
    own = own_column(token_attention, token_attention.queries[place])
    layers, label = layer_names(token_attention, place), score_label(token_attention)
    names = token_names(token_attention.tokens)
    size = _axes.size_for_rows if in_rows else _axes.size_for
    ax = _axes.axes(ax, size(names, len(layers)))
    colours.draw(
        ax,
        scores.T if in_rows else scores,
        top=largest_other(scores, own),
        origin="upper" if in_rows else "lower",
        label=label if colorbar else None,
    )
    weights: list[float] = scores.max(axis=0).tolist()
    _axes.label_layers(ax, layers, horizontal=in_rows)
    small = _axes.font_size("small")
    _ = (ax.set_xlabel if in_rows else ax.set_ylabel)(layer_label(layers), fontsize=small)
    if in_rows:
        _axes.label_rows(ax, names, weights=weights)
    else:
        label_tokens(ax, names, weights)
    draw_cell_borders(ax, *(scores.T if in_rows else scores).shape)
    ax.tick_params(colors=INK)
    _axes.set_title(ax, TITLES[token_attention.method] if title is None else title)
    return ax


def label_tokens(ax: Axes | Sequence[Axes], names: Sequence[str], weights: Sequence[float]) -> None:
    """Label the columns; if not all names fit, those with the largest `weights`."""
    _axes.label_columns(ax, names, [float(j) for j in range(len(names))], weights=weights)
