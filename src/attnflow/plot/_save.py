"""`save`: a picture as a file that papers can take."""

from __future__ import annotations

import os
import threading
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from attnflow._internal import storage
from attnflow.errors import InputError
from attnflow.plot._door import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format: TypeAlias = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
# Dots an inch of .png; chosen: what print needs.
_DOTS = 300
# Dots of the whole picture; chosen: a gigabyte while it is drawn.
_MOST_DOTS = 2**28
# Settings of matplotlib are those of all threads: whoever changes them waits for the last to put
# them back.
_settings_lock = threading.RLock()
# Without a date, so that the same picture is the same file.
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save(picture: Axes | Figure, path: storage.PathLike, *, dpi: float = _DOTS) -> None:
    """Write the figure to a .svg, .pdf or .png file, whichever the name says.

    Parameters
    ----------
    picture
        The figure, or axes on it.
    path
        Where to. The file appears when it is complete; an earlier one is replaced.
    dpi
        Dots an inch of a .png.

    Notes
    -----
    What stands out of the figure, as slanted names under small axes do, makes the picture larger
    than the figure; `layout="constrained"` of a figure of your own makes room inside instead.
    Fonts of a .pdf are embedded as TrueType, which publishers ask for, and no file holds a date.
    Settings of matplotlib are changed for this meanwhile, and put back; of several threads one
    writes at a time.

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

    target = _target(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"{path} is no name for a picture; it must end in .svg, .pdf or .png")
    figure: Any = picture
    if hasattr(picture, "get_figure"):
        figure = picture.get_figure(root=True)
    if not hasattr(figure, "draw_without_rendering") or not hasattr(figure, "savefig"):
        removed = " that were removed from their figure" if figure is None else ""
        raise InputError(f"a {type(picture).__name__}{removed} came; axes or a figure is wanted")
    _check_dots(figure, dpi)
    settings: Any = {"pdf.fonttype": 42, "svg.hashsalt": "attnflow"}
    with _settings_lock, mpl.rc_context(settings), storage.atomic_file(target) as draft:
        metadata = _NO_DATE.get(kind)
        figure.savefig(draft, format=kind, dpi=dpi, metadata=metadata, bbox_inches=_whole(figure))


def _target(path: object) -> Path:
    try:
        target = Path(cast("str", path))
        if b"\0" not in os.fsencode(target):
            return target
    except (TypeError, UnicodeEncodeError):  # no path at all, or half a character
        pass
    raise InputError(
        f"path is {path!r} ({type(path).__name__}), and no file can be called so; a name that ends "
        "in .svg, .pdf or .png is wanted"
    )


def _check_dots(figure: Any, dpi: object) -> None:
    width, height = (float(side) for side in figure.get_size_inches())
    number = float(dpi) if isinstance(dpi, Real) and cast("float", dpi) < _MOST_DOTS else 0.0
    # Also when it is NaN; and a picture without a single dot is none.
    if not 1 <= min(width, height) * number <= width * height * number * number <= _MOST_DOTS:
        most = int((_MOST_DOTS / (width * height)) ** 0.5)
        raise InputError(
            f"dpi is {dpi!r}; for a figure of {width:.3g} by {height:.3g} inches a number above 0 "
            f"and up to {most} is wanted, as in dpi={_DOTS}"
        )


def _whole(figure: Any) -> Any:
    """The figure, and what stands out of it: no label is cut off. None where nothing does."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # a layout takes its places when it is drawn
    drawn, own = figure.get_tightbbox(), figure.bbox_inches
    whole = Bbox.union([own, drawn])
    # Less than a hundredth of an inch is no label. Chosen.
    return whole if abs(whole.extents - own.extents).max() > 0.01 else None
