"""`show`: the page as the output of a notebook's cell."""

import functools
import html
import importlib
from typing import Any, Unpack

from attnflow.view._data import Settings, page_data
from attnflow.view._encoded import script_json
from attnflow.view._page import page_of
from attnflow.view._shown import Shown
from attnflow.view._static import static_file

# Pixels until the page tells how high it is; chosen: six layers with toolbar and importance. This
# stays where a notebook runs no script of an output: what is higher then scrolls in the frame.
_HEIGHT = 1100
# Listens to the page in this frame alone, takes nothing but a number, and asks for it.
_FIT = (
    "window.addEventListener('message',({source,data})=>{if(source===this.contentWindow)"
    "this.style.height=`${Number(data)}px`});this.contentWindow.postMessage('','*')"
)


def show(shown: Shown, **settings: Unpack[Settings]) -> Any:
    """The page of `to_html` as the output of a notebook's cell.

    A widget where anywidget is installed (`pip install "attnflow[view]"`), else the page in a
    frame.

    Parameters
    ----------
    shown, **settings
        As for `to_html`.

    Examples
    --------
    >>> import attnflow as af
    >>> seen = show(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> seen.data[:39]
    '{"version":1,"title":"Token attention",'
    """
    document = page_data(shown, **settings)
    try:
        made = _widget_class()
    except ImportError:
        return Frame(page_of(document))
    return made(data=script_json(document))


class Frame:
    """A page in a frame, which a notebook shows as HTML.

    >>> Frame("<p>")._repr_html_()[:30]
    '<iframe srcdoc="&lt;p&gt;" san'
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        # It may run its script and save a picture, and reaches nothing of the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'title="token attention" onload="{html.escape(_FIT)}" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Frame({len(self.page)} characters of HTML)"


@functools.cache
def _widget_class() -> Any:
    """The widget's class, which must be made from that of a package that may be missing."""
    anywidget: Any = importlib.import_module("anywidget")
    traitlets: Any = importlib.import_module("traitlets")

    class TokenAttentionView(anywidget.AnyWidget):
        """The page as a widget; `data` is the document as JSON text."""

        _esm = static_file("widget.js")
        data = traitlets.Unicode("{}").tag(sync=True)

    return TokenAttentionView
