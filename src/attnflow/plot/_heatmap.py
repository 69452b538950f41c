"""`heatmap`: scores of one position, token by layer (Figures 2 and 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.plot import _axes
from attnflow.plot._checks import check_title, check_vmax, query_index
from attnflow.plot._labels import layer_label, layer_names, score_label
from attnflow.plot._palette import INK, TITLES, colour_of, hex_colour, shade
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.image import AxesImage

# Points; smaller cells have no lines between them. Chosen by eye.
_MIN_CELL = 9.0


def heatmap(
    token_attention: TokenAttention,
    *,
    query: int | None = None,
    vmax: float | None = None,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of the scores of one position: tokens as columns, layers as rows.

    The cell of layer l and token j shows `scores[l, query, j]`, on a colour scale from 0 to the
    largest score.

    Parameters
    ----------
    token_attention
        Scores of some layers.
    query
        Position whose scores are drawn; optional if only one was computed.
    vmax
        Upper end of the colour scale; by default the largest score. A smaller value shows more
        where a few tokens, such as attention sinks, have most of the attention.
    colorbar
        Whether to draw a colour bar. Its label is "attention" (raw), "share" (rollout), "flow", or
        "share of flow" after `normalized`.
    title
        Title; by default the name of the method.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    A star marks saturated layers, see `flow`. Infinite scores are drawn like the largest finite
    one. If not all names of tokens fit, the columns with the largest scores are labelled.
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
    place = query_index(token_attention, query)
    order = np.argsort(token_attention.layers, kind="stable")
    scores = token_attention.scores[order, place]  # (layer, token)
    largest = float(scores[np.isfinite(scores)].max(initial=0.0)) or 1.0
    top = largest if vmax is None else check_vmax(vmax)
    n_layers, n_tokens = scores.shape
    ax = _axes.axes(ax, _axes.size_for(token_attention.tokens, n_layers))
    image = ax.imshow(
        np.minimum(scores, largest),
        cmap=_colour_map(colour_of(token_attention.method)),
        vmin=0.0,
        vmax=top,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
    )
    layers = layer_names(token_attention)
    _axes.label_layers(ax, layers, [float(l) for l in range(n_layers)])
    _ = ax.set_ylabel(layer_label(layers), fontsize=_axes.font_size("small"))
    if colorbar:
        _draw_colorbar(ax, image, score_label(token_attention), extend=largest > top)
    ax.spines[:].set_visible(False)
    label_tokens(ax, token_attention, place)
    _draw_cell_borders(ax, n_layers, n_tokens)
    ax.tick_params(colors=INK)
    _axes.set_title(ax, TITLES[token_attention.method] if title is None else title)
    return ax


def label_tokens(ax: Axes, token_attention: TokenAttention, place: int) -> None:
    """Label the columns; if not all names fit, those with the largest scores."""
    columns = [float(j) for j in range(len(token_attention.tokens))]
    largest: list[float] = token_attention.scores[:, place].max(axis=0).tolist()
    _axes.label_columns(ax, token_attention.tokens, columns, weights=largest)


def _draw_colorbar(ax: Axes, image: AxesImage, label: str, *, extend: bool) -> None:
    """Draw the colour bar, with an arrow if scores exceed it."""
    figure: Any = ax.get_figure(root=True)
    # Thin, and as high as the axes; chosen by eye.
    shape = {"fraction": 0.05, "pad": 0.02, "aspect": 25}
    bar = figure.colorbar(image, ax=ax, extend="max" if extend else "neither", **shape)
    _ = _axes.plain(bar.ax)
    small = _axes.font_size("x-small")
    bar.ax.tick_params(labelsize=small, length=2)
    bar.set_label(label, fontsize=small)
    bar.outline.set_visible(False)


def _colour_map(colour: str) -> LinearSegmentedColormap:
    """Return a map from white over the colour to a darker one, which gives more visible steps."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = ["#FFFFFF", colour, hex_colour(shade(colour, 0.65))]
    return LinearSegmentedColormap.from_list(
        "attnflow", list(zip((0.0, 0.65, 1.0), stops, strict=True))
    )


def _draw_cell_borders(ax: Axes, n_layers: int, n_tokens: int) -> None:
    """Draw white lines between cells that are large enough."""
    smallest = min(_axes.pitch(ax, n_tokens), _axes.pitch(ax, n_layers, vertical=True))
    if smallest < _MIN_CELL:
        return
    _ = ax.set_xticks(np.arange(n_tokens - 1) + 0.5, minor=True)
    _ = ax.set_yticks(np.arange(n_layers - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
