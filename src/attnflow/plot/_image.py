"""`image`: scores of patches over the input image of a model."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.scale import largest_other
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._cells import draw_colorbar
from attnflow.plot._checks import check_title, query_index
from attnflow.plot._labels import layer_title, score_label, score_notes
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Perceptually uniform, and suitable for colour-blind readers.
_COLOUR_MAP = "viridis"
# Inches of the longer side of a new figure; chosen.
_LONG_SIDE = 4.5
# Modes of Pillow whose numbers are colours that are shown as they are, or levels of grey.
_SHOWN_MODES = ("1", "L", "I", "I;16", "F", "RGB", "RGBA")
# Inches for the colour bar. Chosen by eye.
_BAR_INCHES = 0.8


def image(
    token_attention: TokenAttention,
    picture: Any,
    *,
    query: int = 0,
    layer: int | None = None,
    smooth: bool = True,
    opacity: float = 0.6,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of one position over the input image, patch by patch.

    The scale of colours ends at the largest score but for the patch of the query itself and for
    attention sinks, as in `heatmap`. A line below says what was taken out of the scores.

    Parameters
    ----------
    token_attention
        Scores of a vision model, with a grid of patches in `origin`.
    picture
        The image, of any size with the proportions of the model's input: an array (height, width)
        or (height, width, 3 or 4) of integers 0 to 255 or floats 0 to 1, or a Pillow image.
    query
        Position whose scores are drawn; 0 is the class token of most models.
    layer
        Layer; by default the last computed.
    smooth
        Whether to interpolate between patches (bilinear).
    opacity
        Opacity of the largest score, 0 to 1; smaller scores have less, down to two fifths of it.
    colorbar
        Whether to draw a colour bar, as of `heatmap`.
    title
        Title; by default method and layer, and whether flow is saturated or flat there.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> o = af.Origin(grid=af.Grid(rows=1, columns=2, prefix=1))
    >>> t = af.TokenAttention([[[0.5, 0.3, 0.2]]], [*"c01"], [6], [0], "rollout", origin=o)
    >>> ax = plot.image(t, np.zeros((8, 16, 3)))
    >>> ax.images[1].get_array().data.tolist()
    [[0.3, 0.2]]
    """
    check_title(title)
    _ = query_index(token_attention, query)
    layers = token_attention.layers
    chosen = max(layers) if layer is None else layer
    _ = token_attention.row(chosen, query)  # raises with the layers there are
    grid = token_attention.to_grid(query)[layers.index(chosen)]
    given = cast("object", opacity)
    if not isinstance(given, Real) or not 0 <= float(given) <= 1:
        raise InputError(f"opacity must be a number from 0 to 1, got {opacity!r}")
    pixels = _check_picture(picture)
    height, width = pixels.shape[:2]
    scale = _LONG_SIDE / max(height, width)
    size = max(scale * width, 1.5) + _BAR_INCHES * colorbar, max(scale * height, 1.5) + 0.3
    ax = _axes.axes(ax, size)
    grey = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0} if pixels.ndim == 2 else {}
    _ = ax.imshow(pixels, **grey)  # pyright: ignore[reportArgumentType]
    first = origin.grid.prefix if (origin := token_attention.origin) and origin.grid else 0
    top = largest_other(grid.reshape(1, -1), np.arange(grid.size) == query - first)
    shown = ax.imshow(
        np.minimum(grid, top),
        cmap=_COLOUR_MAP,
        vmin=0.0,
        vmax=top,
        # The image is visible where scores are small. Chosen by eye.
        alpha=opacity * (0.4 + 0.6 * np.minimum(grid, top) / top),
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        interpolation="bilinear" if smooth else "nearest",
    )
    if colorbar:
        draw_colorbar(ax, shown, score_label(token_attention), extend=bool(grid.max() > top))
    _ = ax.set_xticks([]), ax.set_yticks([])
    ax.spines[:].set_visible(False)
    _axes.set_title(ax, layer_title(token_attention, chosen, query) if title is None else title)
    if notes := score_notes(token_attention):
        _axes.note_below(ax, notes)
    return ax


def _check_picture(picture: Any) -> NDArray[np.float64]:
    """Return the pixels (height, width) or (height, width, 3 or 4) as floats 0 to 1."""
    try:
        array: NDArray[Any] = np.asarray(_in_rgb(picture))
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(
            f"picture cannot be read as an array: {reason}. Pass an array or an image in RGB"
        ) from reason
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    colours: Literal[True, False] = array.ndim == 3 and array.shape[2] in (3, 4)
    if (array.ndim != 2 and not colours) or not array.size:
        first = array.ndim == 3 and array.shape[0] in (1, 3, 4)
        advice = ". Put the channels last: picture.transpose(1, 2, 0)" if first else ""
        raise InputError(
            "picture: expected shape (height, width), (height, width, 3) or (height, width, 4), "
            f"got {array.shape}{advice}"
        )
    if array.dtype.kind == "b":
        return array.astype(np.float64)
    if array.dtype.kind not in "uif":
        raise InputError(f"picture: expected integers or floats, got {array.dtype}")
    top = 1.0 if array.dtype.kind == "f" else 255.0
    values = array.astype(np.float64) / top
    if not (values.min() >= 0 and values.max() <= 1):  # also when it is NaN
        raise InputError(
            f"picture: expected floats 0 to 1 or integers 0 to 255, got {array.min()} to "
            f"{array.max()}. Pass the image itself, not the output of the model's processor"
        )
    return values


def _in_rgb(picture: Any) -> Any:
    """Return an image of Pillow that has other channels, as CMYK has, in RGB or RGBA."""
    mode = getattr(picture, "mode", None)
    if not isinstance(mode, str) or not hasattr(picture, "convert") or mode in _SHOWN_MODES:
        return picture
    transparent = mode[-1] in "Aa" or "transparency" in picture.info
    return picture.convert("RGBA" if transparent else "RGB")
