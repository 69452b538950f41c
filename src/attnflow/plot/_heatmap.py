"""`heatmap`: what one position takes from each token, layer by layer (Figures 2 and 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.plot import _axes
from attnflow.plot._checks import checked_query, checked_strongest, checked_title
from attnflow.plot._palette import INK, TITLES, colour_of, shade, written
from attnflow.plot._told import layer_label, layer_names, measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.image import AxesImage

    from attnflow.types import TokenAttention

# Points; cells that are smaller have no lines between them. Chosen by eye.
_SMALLEST_CELL = 9.0


def heatmap(
    token_attention: TokenAttention,
    *,
    query: int | None = None,
    strongest: float | None = None,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what one position takes from each token: tokens from left to right, layers upwards.

    The cell of layer l and token j is as dark as `scores[l, query, j]`, from 0 to the largest of
    the picture.

    Parameters
    ----------
    token_attention
        Scores of some layers.
    query
        The position that attends; it may be left out where only one was computed.
    strongest
        The score of the darkest cells; by default the largest. Less shows more where a few tokens,
        such as attention sinks, take most.
    colorbar
        Whether a scale stands beside the picture, with what it is of: "attention" (raw), "share"
        (rollout), "flow", or "share of flow" where it was `normalized`.
    title
        Above the picture; by default the method.
    ax
        Axes of matplotlib; None makes a new figure.

    Notes
    -----
    A star marks layers that are saturated, see `flow`: its scores there are the same for every
    query, or at their ceiling where one query was computed alone. Infinite scores are as dark as
    the largest finite one. Where not all names of tokens fit, those of the darkest columns are
    kept. `compare` with `view="heatmap"` draws several methods side by side, all as shares.
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
    checked_title(title)
    place = checked_query(token_attention, query)
    order = np.argsort(token_attention.layers, kind="stable")
    scores = token_attention.scores[order, place]  # (layer, token)
    largest = float(scores[np.isfinite(scores)].max(initial=0.0)) or 1.0
    top = largest if strongest is None else checked_strongest(strongest)
    n_layers, n_tokens = scores.shape
    ax = _axes.axes(ax, _axes.size_for(token_attention.tokens, n_layers))
    image = ax.imshow(
        np.minimum(scores, largest),
        cmap=_dark(colour_of(token_attention.method)),
        vmin=0.0,
        vmax=top,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
    )
    layers = layer_names(token_attention)
    _axes.name_layers(ax, layers, [float(l) for l in range(n_layers)])
    _ = ax.set_ylabel(layer_label(layers), fontsize=_axes.font_size("small"))
    if colorbar:
        _draw_scale(ax, image, measured(token_attention), beyond=largest > top)
    for side in ax.spines.values():
        side.set_visible(False)
    name_tokens(ax, token_attention, place)
    _between_cells(ax, n_layers, n_tokens)
    ax.tick_params(colors=INK)
    _axes.titled(ax, TITLES[token_attention.method] if title is None else title)
    return ax


def name_tokens(ax: Axes, shown: TokenAttention, place: int) -> None:
    """Write the names below; where not all fit, columns with the darkest cells keep theirs."""
    columns = [float(j) for j in range(len(shown.tokens))]
    darkest: list[float] = shown.scores[:, place].max(axis=0).tolist()
    _axes.name_columns(ax, shown.tokens, columns, strengths=darkest)


def _draw_scale(ax: Axes, image: AxesImage, of: str, *, beyond: bool) -> None:
    """Draw the scale and what it is of, with an arrow where scores go beyond it."""
    figure: Any = ax.get_figure(root=True)
    # Thin, and as high as the picture; chosen by eye.
    shape = {"fraction": 0.05, "pad": 0.02, "aspect": 25}
    bar = figure.colorbar(image, ax=ax, extend="max" if beyond else "neither", **shape)
    _ = _axes.plain(bar.ax)
    small = _axes.font_size("x-small")
    bar.ax.tick_params(labelsize=small, length=2)
    bar.set_label(of, fontsize=small)
    bar.outline.set_visible(False)


def _dark(colour: str) -> LinearSegmentedColormap:
    """From white over the colour to a darker one, so that there are more steps to see."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = ["#FFFFFF", colour, written(shade(colour, 0.65))]
    return LinearSegmentedColormap.from_list(
        "attnflow", list(zip((0.0, 0.65, 1.0), stops, strict=True))
    )


def _between_cells(ax: Axes, n_layers: int, n_tokens: int) -> None:
    """White lines between cells that are large enough."""
    room = min(_axes.pitch(ax, n_tokens), _axes.pitch(ax, n_layers, upright=True))
    if room < _SMALLEST_CELL:
        return
    _ = ax.set_xticks(np.arange(n_tokens - 1) + 0.5, minor=True)
    _ = ax.set_yticks(np.arange(n_layers - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
