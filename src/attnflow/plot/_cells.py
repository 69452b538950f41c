"""Matrices of coloured cells, which `heatmap` and `matrix` share, and colour bars."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._checks import check_vmax, require_matplotlib
from attnflow.plot._palette import hex_colour, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

# A colour map or norm of matplotlib, or its name.
Cmap: TypeAlias = "str | Colormap | None"
Norm: TypeAlias = "str | Normalize | None"
# Where tokens are.
Tokens: TypeAlias = Literal["columns", "rows"]

# Points; smaller cells have no lines between them. Chosen by eye.
_MIN_CELL = 9.0
# Points; limits of the width of a colour bar, and its least distance from the cells. Chosen by eye.
_BAR_WIDTHS, _BAR_PAD = (7.0, 12.0), 4.0


def check_tokens(tokens: object) -> Tokens:
    """Return where tokens are, checked."""
    if not isinstance(tokens, str) or tokens not in ("columns", "rows"):
        raise InputError(f'tokens must be "columns" or "rows", got {tokens!r}')
    return tokens


@dataclass(frozen=True, slots=True)
class Colours:
    """How scores become colours, checked: a colour map and a norm."""

    cmap: Any
    norm: Any
    vmax: float | None

    @classmethod
    def of(cls, cmap: Cmap, norm: Norm, vmax: float | None, *, colour: str) -> Colours:
        """Return the colours of these settings; by default a map from white to `colour`."""
        if norm is not None and vmax is not None:
            raise InputError(
                f"expected vmax or norm, got both. Pass a norm with vmax={vmax}, such as "
                f"matplotlib.colors.PowerNorm(0.5, vmax={vmax})"
            )
        if vmax is not None:
            vmax = check_vmax(vmax)
        require_matplotlib()
        return cls(_check_cmap(cmap, colour), _check_norm(norm), vmax)

    def draw(
        self,
        ax: Axes,
        scores: NDArray[np.float64],
        *,
        top: float,
        origin: Literal["lower", "upper"],
        label: str | None,
    ) -> None:
        """Draw cells of scores (row, column), and a colour bar if there is a label for it.

        The scale ends at `top` by default; the colour bar has an arrow if scores exceed it.
        Infinite scores are drawn like the largest.
        """
        largest = float(scores[np.isfinite(scores)].max(initial=0.0)) or 1.0
        top = top if self.vmax is None else self.vmax
        shown = np.minimum(scores, largest)
        scale: dict[str, Any] = {"vmin": 0.0, "vmax": top}
        if self.norm is not None:
            norm = copy.copy(self.norm)  # it may be the caller's, for other figures
            norm.vmax = top if norm.vmax is None else norm.vmax
            norm.autoscale_None(shown)
            scale, top = {"norm": norm}, float(norm.vmax)
        settings: Any = {"aspect": "auto", "interpolation": "nearest", "origin": origin}
        image = ax.imshow(shown, cmap=self.cmap, **scale, **settings)
        if label is not None:
            draw_colorbar(ax, image, label, extend=largest > top)
        ax.spines[:].set_visible(False)


def draw_cell_borders(ax: Axes, n_rows: int, n_columns: int) -> None:
    """Draw white lines between cells that are large enough; after names have taken their space."""
    smallest = min(_axes.pitch(ax, n_columns), _axes.pitch(ax, n_rows, vertical=True))
    if smallest < _MIN_CELL:
        return
    _ = ax.set_xticks(np.arange(n_columns - 1) + 0.5, minor=True)
    _ = ax.set_yticks(np.arange(n_rows - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)


def _check_cmap(cmap: Cmap, colour: str) -> Any:
    import matplotlib as mpl
    from matplotlib.colors import LinearSegmentedColormap

    if cmap is None:
        # From white over the colour to a darker one, which gives more visible steps.
        stops = ["#FFFFFF", colour, hex_colour(shade(colour, 0.65))]
        parts = list(zip((0.0, 0.65, 1.0), stops, strict=True))
        return LinearSegmentedColormap.from_list("attnflow", parts)
    try:
        return mpl.colormaps.get_cmap(cmap)
    except (TypeError, ValueError) as reason:
        raise InputError(
            f'cmap: expected a colormap of matplotlib or its name, such as "viridis", got {cmap!r}'
        ) from reason


def _check_norm(norm: Norm) -> Any:
    from matplotlib.cm import ScalarMappable

    if norm is None:
        return None
    try:
        return ScalarMappable(norm=cast("Any", norm)).norm
    except (TypeError, ValueError) as reason:
        raise InputError(
            'norm: expected a Normalize of matplotlib or the name of a scale, such as "log", got '
            f"{norm!r}"
        ) from reason


def draw_colorbar(ax: Axes, image: Any, label: str, *, extend: bool) -> None:
    """Draw the colour bar, with an arrow if scores exceed it."""
    from matplotlib.ticker import AutoLocator, MaxNLocator

    figure: Any = ax.get_figure(root=True)
    width, height = _axes.pitch(ax, 1), _axes.pitch(ax, 1, vertical=True)
    # Thin, and as high as the axes, also of narrow and high ones; chosen by eye.
    fraction = min(max(0.05 * width, _BAR_WIDTHS[0]), _BAR_WIDTHS[1]) / width
    shape = {"fraction": fraction, "pad": max(0.015, _BAR_PAD / width)}
    shape["aspect"] = max(25.0, 1.3 * height / (fraction * width))  # the layout may make it higher
    bar = figure.colorbar(image, ax=ax, extend="max" if extend else "neither", **shape)
    if isinstance(bar.locator, AutoLocator):
        bar.locator = MaxNLocator(5, steps=[1, 2, 5, 10])  # short numbers, as names need the space
    _ = _axes.plain(bar.ax)
    small = _axes.font_size("x-small")
    bar.ax.tick_params(labelsize=small, length=2)
    bar.set_label(label, fontsize=small)
    bar.outline.set_visible(False)
