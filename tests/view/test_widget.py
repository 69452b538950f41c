"""The page in notebooks: a widget, or a frame where anywidget is missing."""

import base64
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import attnflow as af
from attnflow.types import random_attention
from attnflow.view import page_data, show, to_html
from attnflow.view._static import static_file
from attnflow.view._widget import Frame, _widget_class

PNG = b"\x89PNG\r\n"


@pytest.fixture
def attention() -> af.Attention:
    return random_attention(2, 2, 3, tokens=["[CLS]", "</script>", '"the"'])


@pytest.fixture
def without_anywidget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_class.cache_clear()
    yield
    _widget_class.cache_clear()


@pytest.fixture
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_the_widget_has_the_document_and_the_script(attention: af.Attention) -> None:
    widget: Any = show(attention, layer=1)
    assert json.loads(widget.data) == page_data(attention, layer=1)
    assert widget._esm == static_file("widget.js")
    assert "data" in widget.get_state()
    bundle = widget._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_the_widget_comes_with_a_picture_that_is_not_sent_to_it(attention: af.Attention) -> None:
    widget: Any = show(attention)
    bundle = widget._repr_mimebundle_()[0]
    assert base64.b64decode(bundle["image/png"]) == widget.picture
    assert widget.picture.startswith(PNG)
    assert "picture" not in widget.get_state()
    assert "text/html" not in bundle  # viewers would show it before the picture
    assert "0x" not in bundle["text/plain"]


def test_the_picture_has_the_settings_of_the_page(attention: af.Attention) -> None:
    pictures = {show(attention, query=query).picture for query in (0, 1)}
    assert len(pictures) == 2


@pytest.mark.usefixtures("without_matplotlib")
def test_without_matplotlib_there_is_no_picture(attention: af.Attention) -> None:
    bundle = show(attention)._repr_mimebundle_()[0]
    assert "image/png" not in bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.usefixtures("without_anywidget", "without_matplotlib")
def test_without_both_there_is_a_frame_alone(attention: af.Attention) -> None:
    frame = show(attention)
    assert frame._repr_html_().startswith("<iframe ")
    assert frame._repr_png_() is None


@pytest.mark.usefixtures("without_anywidget")
def test_where_iframes_are_removed_the_picture_stays(attention: af.Attention) -> None:
    frame = show(attention)
    left = re.sub("<iframe.*</iframe>", "", frame._repr_html_(), flags=re.DOTALL)
    (drawn,) = re.findall('src="data:image/png;base64,([^"]*)"', left)
    assert base64.b64decode(drawn) == frame._repr_png_()
    assert frame._repr_png_().startswith(PNG)


def test_what_the_script_asks_of_the_widget_is_there(attention: af.Attention) -> None:
    source = (Path(__file__).parents[2] / "page/src/widget.js").read_text(encoding="utf-8")
    names = set(re.findall(r'model\.get\("(\w+)"\)', source))
    assert "data" in names
    assert names <= set(show(attention).get_state())


def test_no_trait_goes_by_a_name_that_jupyter_reads_itself(attention: af.Attention) -> None:
    # Views of Jupyter take what these hold for other widgets.
    assert not {"style", "children"} & set(show(attention).get_state())


@pytest.mark.usefixtures("without_anywidget")
def test_without_anywidget_the_page_is_shown_in_a_frame(attention: af.Attention) -> None:
    frame = show(attention, title="Mine")
    assert isinstance(frame, Frame)
    assert frame.page == to_html(attention, title="Mine")


@pytest.mark.usefixtures("without_anywidget")
def test_the_frame_holds_the_page_escaped_and_locked_in(attention: af.Attention) -> None:
    shown: str = show(attention)._repr_html_()
    before, _, rest = shown.partition('srcdoc="')
    inside, _, after = rest.partition('"')
    assert re.fullmatch('<img alt="token attention" src="data:[^"]*"><iframe ', before)
    assert html.unescape(inside) == to_html(attention)
    assert "<" not in inside
    assert after.endswith("></iframe>")
    (rights,) = [part for part in after.split('" ') if "sandbox" in part]
    assert rights.strip().split('"')[1].split() == ["allow-scripts", "allow-downloads"]
    assert "allow=" not in after
    (runs,) = re.findall('onload="([^"]*)"', after)
    assert "source===this.contentWindow" in html.unescape(runs)


@pytest.mark.usefixtures("without_anywidget")
def test_a_frame_does_not_print_its_page(attention: af.Attention) -> None:
    assert len(repr(show(attention))) < 60


def test_what_cannot_be_shown_is_an_error_here_too() -> None:
    with pytest.raises(af.InputError, match="got int"):
        _ = show(3)  # type: ignore[arg-type]
