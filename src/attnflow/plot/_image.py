"""`image`: what one position takes from each patch, over the picture that a model saw."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import checked_query, checked_title
from attnflow.plot._palette import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from attnflow.types import TokenAttention

# From dark blue over green to yellow: even steps of lightness, told apart by colour-blind readers.
_COLOURS = "viridis"
# Inches of the longer side of a new figure; chosen.
_LONGEST = 4.5


def image(
    token_attention: TokenAttention,
    picture: Any,
    *,
    query: int = 0,
    layer: int | None = None,
    smooth: bool = True,
    opacity: float = 0.6,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of one position over the picture that a model saw, patch by patch.

    Parameters
    ----------
    token_attention
        Scores of a model of images, whose `to_grid` knows the patches.
    picture
        The picture, of any size with the proportions of what the model read: an array (height,
        width), with 3 or 4 colours last or none, of whole numbers 0 to 255 or floats 0 to 1; or an
        image of Pillow.
    query
        The position that attends; 0 is the class token of most models.
    layer
        The layer that attends; by default the last that was computed.
    smooth
        Whether colours run into each other (bilinear) or each patch has one.
    opacity
        Of the colour of the largest score, 0 to 1; that of others is less, down to two fifths.
    title
        Above the picture; by default method and layer.
    ax
        Axes of matplotlib; None makes a new figure.

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
    checked_title(title)
    _ = checked_query(token_attention, query)
    layers = token_attention.layers
    chosen = max(layers) if layer is None else layer
    _ = token_attention.row(chosen, query)  # says which layers there are
    grid = token_attention.to_grid(query)[layers.index(chosen)]
    given = cast("object", opacity)
    if not isinstance(given, Real) or not 0 <= float(given) <= 1:
        raise InputError(f"opacity is {opacity!r}; a number from 0 to 1 is wanted")
    seen = _picture(picture)
    height, width = seen.shape[:2]
    scale = _LONGEST / max(height, width)
    ax = _axes.axes(ax, (max(scale * width, 1.5), max(scale * height, 1.5) + 0.3))
    grey = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0} if seen.ndim == 2 else {}
    _ = ax.imshow(seen, **grey)  # pyright: ignore[reportArgumentType]
    finite = grid[np.isfinite(grid)]
    top = float(finite.max(initial=0.0)) or 1.0
    _ = ax.imshow(
        np.minimum(grid, top),
        cmap=_COLOURS,
        vmin=0.0,
        vmax=top,
        # Where little is taken the picture itself is seen. Chosen by eye.
        alpha=opacity * (0.4 + 0.6 * np.minimum(grid, top) / top),
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        interpolation="bilinear" if smooth else "nearest",
    )
    ax.set_axis_off()
    told = f"{TITLES[token_attention.method]}, layer {chosen}"
    _axes.titled(ax, told if title is None else title)
    return ax


def _picture(picture: Any) -> NDArray[np.float64]:
    """Colours (height, width) or (height, width, 3 or 4) as floats 0 to 1."""
    try:
        array: NDArray[Any] = np.asarray(picture)
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(f"the picture cannot be read as an array: {reason}") from reason
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    colours: Literal[True, False] = array.ndim == 3 and array.shape[2] in (3, 4)
    if (array.ndim != 2 and not colours) or not array.size:
        first = array.ndim == 3 and array.shape[0] in (1, 3, 4)
        advice = "; put colours last: picture.transpose(1, 2, 0)" if first else ""
        raise InputError(
            f"the picture has shape {array.shape}; (height, width), (height, width, 3) or "
            f"(height, width, 4) is wanted{advice}"
        )
    if array.dtype.kind == "b":
        return array.astype(np.float64)
    if array.dtype.kind not in "uif":
        raise InputError(f"the picture holds {array.dtype}; whole numbers or floats are wanted")
    top = 1.0 if array.dtype.kind == "f" else 255.0
    values = array.astype(np.float64) / top
    if not (values.min() >= 0 and values.max() <= 1):  # also when it is NaN
        raise InputError(
            f"the picture holds {array.min()} to {array.max()}; floats 0 to 1 or whole numbers 0 "
            "to 255 are wanted. Give the picture itself, not what the model's processor made of it"
        )
    return values
