"""`save`: a picture as a file that papers can take."""
# matplotlib's stubs leave some of its methods unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnflow import storage
from attnflow.errors import InputError
from attnflow.plot._door import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
# Dots an inch of .png; chosen: what print needs.
_DOTS = 300
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
    Fonts of a .pdf are embedded as TrueType, which publishers ask for, and no file holds a date.
    Settings of matplotlib are changed for this meanwhile, and put back.

    Examples
    --------
    >>> import tempfile
    >>> from attnflow import plot
    >>> from attnflow.synthetic import random_attention
    >>> ax = plot.graph(random_attention(2, 2, 3).graph())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot.save(ax, f"{folder}/graph.svg")
    """
    require()
    import matplotlib as mpl

    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"{path} is no name for a picture; it must end in .svg, .pdf or .png")
    figure: Any = picture
    if hasattr(picture, "get_figure"):
        figure = picture.get_figure(root=True)
    if not hasattr(figure, "savefig"):
        raise InputError(f"a {type(picture).__name__} came; axes or a figure is wanted")
    settings: Any = {"pdf.fonttype": 42, "svg.hashsalt": "attnflow"}
    with mpl.rc_context(settings), storage.whole_file(target) as draft:
        figure.savefig(draft, format=kind, dpi=dpi, metadata=_NO_DATE.get(kind))
