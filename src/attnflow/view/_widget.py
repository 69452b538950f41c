"""`show`: the page as the output of a notebook cell, with a picture where it cannot run."""

import base64
import functools
import html
import importlib
from typing import Any, Unpack

from attnflow.view._content import PageInput
from attnflow.view._data import PageSettings, page_data
from attnflow.view._encoding import script_json
from attnflow.view._page import page_of
from attnflow.view._picture import picture
from attnflow.view._static import static_file

# Pixels until the page reports its height; chosen: six layers with toolbar and importance. In
# notebooks that run no scripts of outputs the height stays, and the page scrolls.
_HEIGHT = 1100
# Hides the picture before the frame, because the page runs.
_HIDE = "this.previousElementSibling.style.display='none';"
# Accepts messages of the page in this frame only, and only a number; then asks for it.
_FIT = (
    "window.addEventListener('message',({source,data})=>{if(source===this.contentWindow)"
    "this.style.height=`${Number(data)}px`});this.contentWindow.postMessage('','*')"
)


def show(x: PageInput, **settings: Unpack[PageSettings]) -> Any:
    """Return the page of `to_html` as the output of a notebook cell.

    A widget if anywidget is installed (extra `view`), else the page in an iframe. The output also
    has a picture of what the page shows first, if matplotlib is installed (extra `plot`): viewers
    that run no scripts, such as GitHub and nbconvert, show that.

    Parameters
    ----------
    x, **settings
        As for `to_html`.

    Notes
    -----
    A saved notebook has the picture, tens of kilobytes. It has the page if Jupyter saves the state
    of widgets, or if the page is in an iframe; `to_html` tells its size.

    Examples
    --------
    >>> import attnflow as af
    >>> seen = show(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> seen.data[:39]
    '{"version":1,"title":"Token attention",'
    """
    document = page_data(x, **settings)
    drawn = picture(x, settings)
    try:
        widget = _widget_class()
    except ImportError:
        return Frame(page_of(document), drawn)
    shown = widget(data=script_json(document))
    shown.picture = drawn
    shown.title = document["title"]
    return shown


class Frame:
    """A page in an iframe, which a notebook shows as HTML, and a picture of it, a PNG image.

    >>> Frame("<p>")._repr_html_()[:30]
    '<iframe srcdoc="&lt;p&gt;" san'
    """

    def __init__(self, page: str, picture: bytes | None = None) -> None:
        self.page = page
        self.picture = picture

    def _repr_html_(self) -> str:
        # Viewers that remove iframes, as GitHub does, leave the image; PNG output is not shown
        # where there is HTML. The page may run its script and save files, and cannot access the
        # notebook.
        image, hide = "", ""
        if self.picture is not None:
            source = f"data:image/png;base64,{_base64(self.picture)}"
            image, hide = f'<img alt="token attention" src="{source}">', _HIDE
        return (
            f'{image}<iframe srcdoc="{html.escape(self.page)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'title="token attention" onload="{html.escape(hide + _FIT)}" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def _repr_png_(self) -> bytes | None:
        return self.picture

    def __repr__(self) -> str:
        return f"Frame({len(self.page)} characters of HTML)"


@functools.cache
def _widget_class() -> Any:
    """Return the class of the widget, whose base class is in an optional package."""
    anywidget: Any = importlib.import_module("anywidget")
    traitlets: Any = importlib.import_module("traitlets")

    class TokenAttentionView(anywidget.AnyWidget):
        """The page as a widget; `data` is the document as JSON text, `picture` a PNG image."""

        _esm = static_file("widget.js")
        data = traitlets.Unicode("{}").tag(sync=True)
        picture: bytes | None = None
        title = ""

        def _repr_mimebundle_(self, **settings: Any) -> Any:
            shown: Any = anywidget.AnyWidget._repr_mimebundle_(self, **settings)
            if shown is None or self.picture is None:
                return shown
            data, metadata = shown
            return {**data, "image/png": _base64(self.picture)}, metadata

        def __repr__(self) -> str:
            return f"TokenAttentionView({self.title!r})"

    return TokenAttentionView


def _base64(picture: bytes) -> str:
    return base64.b64encode(picture).decode()
