"""Export: SVG, PNG, CSV, a link that contains the state."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow._internal.display import token_names
from attnflow.importance import Importance
from attnflow.types import random_attention

HOSTILE = "</script><img src=x onerror=alert(1)>"


def _read(seen: Any, svg: bytes) -> dict[str, Any]:
    """An SVG file as a strict parser of XML reads it: names of elements, and texts."""
    return seen.page.evaluate(
        """(text) => {
            const file = new DOMParser().parseFromString(text, "image/svg+xml");
            return {
                names: [...file.querySelectorAll("*")].map((each) => each.localName),
                texts: [...file.querySelectorAll("text")].map((each) => each.textContent),
            };
        }""",
        svg.decode(),
    )


def _saved(seen: Any, name: str) -> tuple[str, bytes]:
    with seen.page.expect_download() as waiting:
        seen.page.get_by_role("button", name=name, exact=True).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.mark.parametrize("shown", ["graph", "heatmap", "text"])
def test_svg_is_a_complete_picture_with_the_tokens(view: Any, attention: Any, shown: str) -> None:
    seen = view(attention, state=f"view={shown}&layer=2")
    name, content = _saved(seen, "SVG")
    assert name == f"attnflow-{shown}-layer-2.svg"
    svg = _read(seen, content)
    assert {"svg", "text"} <= set(svg["names"]) <= {"svg", "g", "line", "circle", "rect", "text"}
    texts = svg["texts"]
    assert {"Raw attention", "Attention rollout", "Attention flow"} <= set(texts)
    assert "edges: attention · mean of 3 heads · residual 0.5 · no sinks" in " ".join(texts)
    assert texts.count("table") == 3  # the last token, once a panel


@pytest.mark.parametrize("shown", ["graph", "heatmap", "text"])
def test_svg_carries_the_notes_under_the_panels(view: Any, shown: str) -> None:
    seen = view(random_attention(6, 8, 6), state=f"view={shown}")
    said = seen.notes("flow").splitlines()
    assert any(note.startswith("Flow is saturated at layer 6: it is the same") for note in said)
    svg = _read(seen, _saved(seen, "SVG")[1])
    together = " ".join(svg["texts"])
    assert [note for note in said if note not in together] == []
    # Wrapped: a note has more lines than one, and none is wider than a panel.
    notes = [text for text in svg["texts"] if not text.startswith("Layer 6, position 0")]
    assert not any(len(text) > 100 for text in notes)


def test_a_figure_is_as_high_as_its_notes(view: Any) -> None:
    heights: list[int] = []
    for layer in (1, 6):
        seen = view(random_attention(6, 8, 6), state=f"view=heatmap&layer={layer}&methods=flow")
        content = _saved(seen, "PNG")[1]
        heights.append(int.from_bytes(content[20:24], "big"))
    assert heights[1] > heights[0]


def test_svg_holds_tokens_that_look_like_markup_as_text(view: Any) -> None:
    tokens = [HOSTILE, "a\x00b", "]]>", "&amp;"]
    weights = np.full((1, 1, 4, 4), 0.25)
    seen = view(af.Attention(weights, tokens), state="view=heatmap")
    svg = _read(seen, _saved(seen, "SVG")[1])
    assert {"svg", "text"} <= set(svg["names"]) <= {"svg", "g", "line", "circle", "rect", "text"}
    assert any(text.startswith("</script>") for text in svg["texts"])
    assert "&amp;" in svg["texts"]


def test_png_is_a_picture_of_twice_the_size(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=heatmap")
    _, content = _saved(seen, "PNG")
    assert content.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert 1800 < width < 2800
    assert 300 < height < 1200
    assert len(content) > 10_000


def test_csv_has_the_scores_of_the_position_at_all_layers(
    view: Any, attention: Any, close: Any
) -> None:
    seen = view(attention, state="query=4")
    rows = list(csv.DictReader(io.StringIO(_saved(seen, "CSV")[1].decode())))
    assert len(rows) == 4 * 9
    rollout = np.array([float(row["rollout"]) for row in rows]).reshape(4, 9)
    assert close(rollout, af.rollout(attention).scores[:, 4])
    flow = np.array([float(row["flow"]) for row in rows]).reshape(4, 9)
    assert close(flow, af.flow(attention).scores[:, 4])
    assert [row["token_name"] for row in rows[:9]] == list(token_names(attention.tokens))


def test_csv_has_no_more_digits_than_weights_of_16_bits_mean(view: Any) -> None:
    tokens = ["a", "b", "c", "d"]
    given = np.array([1 / 3, -2 / 3, 1.23456789e-7, 0.0])
    importance = Importance(given, tokens, "blank_out")
    seen = view(random_attention(4, 2, 4, tokens=tokens), importance=importance)
    rows = list(csv.DictReader(io.StringIO(_saved(seen, "CSV")[1].decode())))
    written = [row["blank_out"] for row in rows[:4]]
    assert written == ["0.33333", "-0.66667", "1.2346e-7", "0"]
    for number in (row[method] for row in rows for method in ("raw", "rollout", "flow")):
        digits = number.lstrip("0.") if float(number) < 0.1 else number.partition(".")[2]
        assert len(digits.partition("e")[0].replace(".", "")) <= 5, number


def test_csv_quotes_what_would_end_a_field(view: Any) -> None:
    tokens = ['say "hi", you', "two\nlines"]
    seen = view(af.Attention(np.full((1, 1, 2, 2), 0.5), tokens))
    rows = list(csv.reader(io.StringIO(_saved(seen, "CSV")[1].decode(), newline="")))
    assert [row[4] for row in rows[1:]] == list(token_names(tokens))


def test_a_copied_link_opens_the_same_view(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.page.get_by_text("Heat map").click()
    seen.page.locator("label[data-method=raw]").click()
    seen.page.get_by_label("Words").check()
    _ = seen.page.get_by_label("Heads").select_option("head 1")
    seen.page.get_by_role("slider", name="Layer").fill("1")
    seen.page.get_by_role("button", name="Copy link").click()
    seen.page.get_by_role("button", name="Copied").wait_for()
    link = seen.page.evaluate("navigator.clipboard.readText()")
    assert link == f"{seen.address}#view=heatmap&methods=rollout.flow&layer=2&head=1&words=1"
    before = (seen.caption(), seen.column("Attention rollout"))
    _ = seen.page.goto("about:blank")
    seen.errors.clear()  # of leaving the page
    _ = seen.page.goto(link)
    seen.drawn()
    assert (seen.caption(), seen.column("Attention rollout")) == before
    assert seen.page.get_by_label("Words").is_checked()
    assert not seen.panel("raw").is_visible()
    assert seen.state() == link.split("#")[1]


@pytest.mark.parametrize(
    "state",
    [
        "layer=99&query=-4&head=1e9&residual=NaN&zoom=3&pin=9.9&sink=70",
        "layer=__proto__&methods=constructor.toString&view=%00&pin=..&words=yes",
        "<img src=x onerror=alert(1)>&view=<script>alert(1)</script>",
        "%E0%A4%A&=&&&" + "x" * 5000,
        "pin=0.3&sink=2&residual=1&head=3",
    ],
)
def test_a_link_that_fits_nothing_breaks_nothing(view: Any, attention: Any, state: str) -> None:
    seen = view(attention, state=state)
    assert seen.caption().startswith("Layer 4, position 0 [CLS] · raw, rollout, flow")
    assert seen.panel("flow").is_visible()


def test_another_state_in_the_address_is_shown_at_once(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.page.evaluate("location.hash = 'layer=3&query=5'")
    seen.settled()
    assert seen.caption().startswith("Layer 3, position 5 on")


def test_a_name_is_never_a_formula(view: Any) -> None:
    tokens = ["=1+1", "+a", "-b", "@c", "\td", "e=f"]
    importance = Importance(np.linspace(-1, 1, 6), tokens, "blank_out")
    seen = view(af.Attention(np.full((1, 1, 6, 6), 1 / 6), tokens), importance=importance)
    rows = list(csv.DictReader(io.StringIO(_saved(seen, "CSV")[1].decode(), newline="")))
    assert [row["token_name"] for row in rows] == ["'=1+1", "'+a", "'-b", "'@c", "⇥d", "e=f"]
    assert float(rows[0]["blank_out"]) == -1


def test_a_large_picture_is_a_png_of_sixteen_million_pixels(view: Any) -> None:
    seen = view(random_attention(4, 1, 400), state="zoom=8&view=heatmap&methods=raw.rollout")
    _, content = _saved(seen, "PNG")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert 10_000 < width <= 16_000
    assert width * height <= 16.1e6


def test_a_picture_that_no_browser_can_make_is_said_to_be_too_large(
    view: Any, attention: Any
) -> None:
    seen = view(attention)
    seen.page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = (done) => done(null) }")
    seen.page.get_by_role("button", name="PNG", exact=True).click()
    seen.page.get_by_role("button", name="Too large").wait_for()
    assert "save it as SVG" in seen.page.locator("[role=status]").inner_text()


def test_an_address_that_may_not_change_keeps_nothing_back(view: Any, attention: Any) -> None:
    """Firefox and Safari throw after a hundred changes in half a minute."""
    seen = view(attention)
    refusing = "() => { history.replaceState = () => { throw new DOMException('too many') } }"
    seen.page.evaluate(refusing)
    seen.page.locator(".panels").focus()
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("ArrowRight")
    seen.settled()
    assert seen.page.locator("[role=status]").inner_text().startswith("layer 3, the. raw: ")
    seen.page.get_by_role("button", name="Copy link").click()
    seen.page.get_by_role("button", name="Copied").wait_for()
    link = seen.page.evaluate("navigator.clipboard.readText()")
    assert link == f"{seen.address}#layer=3&query=1"
