"""The page in notebooks: a widget, or a frame where anywidget is missing."""

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


@pytest.fixture
def attention() -> af.Attention:
    return random_attention(2, 2, 3, tokens=["[CLS]", "</script>", '"the"'])


@pytest.fixture
def without_anywidget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_class.cache_clear()
    yield
    _widget_class.cache_clear()


def test_the_widget_has_the_document_and_the_script(attention: af.Attention) -> None:
    widget: Any = show(attention, layer=1)
    assert json.loads(widget.data) == page_data(attention, layer=1)
    assert widget._esm == static_file("widget.js")
    assert "data" in widget.get_state()
    bundle = widget._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in bundle


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
    assert before == "<iframe "
    assert html.unescape(inside) == to_html(attention)
    assert "<" not in inside
    assert after.endswith("></iframe>")
    (rights,) = [part for part in after.split('" ') if "sandbox" in part]
    assert rights.strip().split('"')[1].split() == ["allow-scripts", "allow-downloads"]
    assert "allow=" not in after
    (listens,) = re.findall('onload="([^"]*)"', after)
    assert "source===this.contentWindow" in html.unescape(listens)


@pytest.mark.usefixtures("without_anywidget")
def test_a_frame_does_not_print_its_page(attention: af.Attention) -> None:
    assert len(repr(show(attention))) < 60


def test_what_cannot_be_shown_is_an_error_here_too() -> None:
    with pytest.raises(af.InputError, match="got int"):
        _ = show(3)  # type: ignore[arg-type]
