"""`show`: the page as the output of a notebook cell."""

import functools
import html
import importlib
from typing import Any, Unpack

from attnflow.view._content import PageInput
from attnflow.view._data import PageSettings, page_data
from attnflow.view._encoding import script_json
from attnflow.view._page import page_of
from attnflow.view._static import static_file

# Pixels until the page reports its height; chosen: six layers with toolbar and importance. In
# notebooks that run no scripts of outputs the height stays, and the page scrolls.
_HEIGHT = 1100
# Accepts messages of the page in this frame only, and only a number; then asks for it.
_FIT = (
    "window.addEventListener('message',({source,data})=>{if(source===this.contentWindow)"
    "this.style.height=`${Number(data)}px`});this.contentWindow.postMessage('','*')"
)


def show(x: PageInput, **settings: Unpack[PageSettings]) -> Any:
    """Return the page of `to_html` as the output of a notebook cell.

    A widget if anywidget is installed (extra `view`), else the page in an iframe.

    Parameters
    ----------
    x, **settings
        As for `to_html`.

    Examples
    --------
    >>> import attnflow as af
    >>> seen = show(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> seen.data[:39]
    '{"version":1,"title":"Token attention",'
    """
    document = page_data(x, **settings)
    try:
        widget = _widget_class()
    except ImportError:
        return Frame(page_of(document))
    return widget(data=script_json(document))


class Frame:
    """A page in an iframe, which a notebook shows as HTML.

    >>> Frame("<p>")._repr_html_()[:30]
    '<iframe srcdoc="&lt;p&gt;" san'
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        # The page may run its script and save files, and cannot access the notebook.
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
    """Return the class of the widget, whose base class is in an optional package."""
    anywidget: Any = importlib.import_module("anywidget")
    traitlets: Any = importlib.import_module("traitlets")

    class TokenAttentionView(anywidget.AnyWidget):
        """The page as a widget; `data` is the document as JSON text."""

        _esm = static_file("widget.js")
        data = traitlets.Unicode("{}").tag(sync=True)

    return TokenAttentionView
