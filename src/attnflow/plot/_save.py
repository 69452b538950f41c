"""`save`: a figure as a .svg, .pdf or .png file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from attnflow._internal.files import PathLike, as_path, atomic_file
from attnflow.errors import InputError
from attnflow.plot._checks import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format: TypeAlias = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
# Dots per inch of a .png; chosen for print.
_DPI = 300
# Pixels of a .png at most; chosen: a gigabyte while it is drawn.
_MAX_PIXELS = 2**28
# rcParams are shared by all threads, so one thread at a time changes and restores them.
_settings_lock = threading.RLock()
# No date, so that the same figure gives the same file.
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save(figure: Axes | Figure | Sequence[Axes], path: PathLike, *, dpi: float = _DPI) -> None:
    """Write a figure to a .svg, .pdf or .png file, by the suffix of the name.

    Parameters
    ----------
    figure
        The figure, or axes of it: one, or several as `compare` returns them.
    path
        Name of the file, which is written completely or not at all; an existing file is replaced.
    dpi
        Dots per inch of a .png.

    Notes
    -----
    Labels that extend beyond the figure, as slanted names under small axes do, make the file larger
    than the figure; use `layout="constrained"` for a figure of your own to keep them inside. Fonts
    of a .pdf are embedded as TrueType, which publishers ask for, and no file contains a date.
    rcParams are changed while the file is written, by one thread at a time.

    Examples
    --------
    >>> import tempfile
    >>> from attnflow import plot
    >>> from attnflow.types import random_attention
    >>> ax = plot.graph(random_attention(2, 2, 3).graph())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot.save(ax, f"{folder}/graph.svg")
    """
    require_matplotlib()
    import matplotlib as mpl

    target = as_path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"path must end in .svg, .pdf or .png, got {path}")
    root = _figure_of(figure)
    _check_dpi(root, dpi)
    settings: Any = {"pdf.fonttype": 42, "svg.hashsalt": "attnflow"}
    with _settings_lock, mpl.rc_context(settings), atomic_file(target) as draft:
        metadata = _NO_DATE.get(kind)
        root.savefig(draft, format=kind, dpi=dpi, metadata=metadata, bbox_inches=_extent(root))


def _figure_of(given: Any) -> Any:
    """Return the figure that was given, or that of axes."""
    several = list(getattr(given, "flat", given)) if _is_sequence(given) else [given]
    figures = {id(root): root for root in map(_root, several)}
    if len(figures) != 1:
        raise InputError(
            f"expected a Figure or axes of one, got {len(several)} axes of {len(figures)} figures. "
            "Call save once for each figure"
        )
    return next(iter(figures.values()))


def _is_sequence(given: object) -> bool:
    # Arrays of axes are what `figure.subplots` returns.
    return isinstance(given, list | tuple | np.ndarray)


def _root(given: Any) -> Any:
    root = given.get_figure(root=True) if hasattr(given, "get_figure") else given
    if hasattr(root, "draw_without_rendering") and hasattr(root, "savefig"):
        return root
    removed = " that were removed from their figure" if root is None else ""
    fix = ". Pass its .figure" if root is not None and hasattr(given, "figure") else ""
    fix = ". Write its to_html() to a file" if hasattr(given, "to_html") else fix
    raise InputError(f"expected a Figure or Axes, got {type(given).__name__}{removed}{fix}")


def _check_dpi(figure: Any, dpi: object) -> None:
    width, height = (float(side) for side in figure.get_size_inches())
    number = float(dpi) if isinstance(dpi, Real) and cast("float", dpi) < _MAX_PIXELS else 0.0
    # Also False for NaN and for less than one pixel.
    if not 1 <= min(width, height) * number <= width * height * number * number <= _MAX_PIXELS:
        most = int((_MAX_PIXELS / (width * height)) ** 0.5)
        raise InputError(
            f"dpi must be above 0 and at most {most} for a figure of {width:.3g} by {height:.3g} "
            f"inches, got {dpi!r}. Pass for example dpi={_DPI}"
        )


def _extent(figure: Any) -> Any:
    """Return the extent with labels that exceed the figure; None where none does."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # runs the layout engine
    drawn, own = figure.get_tightbbox(), figure.bbox_inches
    extent = Bbox.union([own, drawn])
    # Chosen: less than a hundredth of an inch is not a label.
    return extent if abs(extent.extents - own.extents).max() > 0.01 else None
