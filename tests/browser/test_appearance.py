"""Appearance: dark theme, narrow windows, all views, tokens that look like markup."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow import paper
from attnflow.importance import Importance, Prediction
from attnflow.types import random_attention
from attnflow.view import page_data, to_html

HOSTILE = "</script><img src=x onerror=alert(1)>"
VIEWS = ["graph", "heatmap", "text", "table"]


def _contrast(seen: Any, selector: str) -> float:
    """Contrast of an element's text with the first ground below it that is not transparent."""
    return seen.page.locator(selector).first.evaluate(
        """(element) => {
            const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3)
                .map((c) => linear(Number(c) / 255))
                .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
            const ground = (each) => getComputedStyle(each).backgroundColor;
            let below = element;
            while (/, 0\\)$/.test(ground(below))) below = below.parentElement;
            const [a, b] = [getComputedStyle(element).color, ground(below)].map(light);
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(view: Any, attention: Any, scheme: str) -> None:
    seen = view(attention, context={"color_scheme": scheme})
    ground = seen.page.locator(".panel").first.evaluate(
        "(e) => getComputedStyle(e).backgroundColor"
    )
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}[scheme]
    for selector in (
        "h1",
        "h2",
        ".input-text",
        ".description",
        ".caption",
        "legend",
        ".segments span",
    ):
        assert _contrast(seen, selector) >= 4.5, selector


def test_the_theme_follows_the_system_while_the_page_is_open(view: Any, attention: Any) -> None:
    seen = view(attention, context={"color_scheme": "light"})
    label = seen.panel("raw").locator("svg text").first
    assert label.get_attribute("fill") == "#59626d"
    seen.page.emulate_media(color_scheme="dark")
    seen.settled()
    assert seen.panel("raw").locator("svg text").first.get_attribute("fill") == "#a3acb8"


@pytest.mark.parametrize("shown", VIEWS)
@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(
    view: Any, attention: Any, shown: str, width: int
) -> None:
    context = {"viewport": {"width": width, "height": 740}, "has_touch": True}
    seen = view(attention, state=f"view={shown}", context=context)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    outside = seen.page.locator(".attnflow").evaluate(
        """(root, width) => [...root.querySelectorAll("*")]
        .filter((each) => !each.closest(".scroller, .table, .visually-hidden, .segments input"))
        .filter((each) => !each.closest(".tooltip"))
        .filter((each) => each.getBoundingClientRect().right > width + 0.5)
        .map((each) => each.outerHTML.slice(0, 80))""",
        width,
    )
    assert outside == []


@pytest.mark.parametrize("shown", VIEWS)
def test_help_is_that_of_the_view(view: Any, attention: Any, shown: str) -> None:
    seen = view(attention)
    seen.page.locator(f"input[value={shown}]").check(force=True)
    seen.settled()
    starts = {
        "graph": "Hover over a node",
        "heatmap": "Hover over a cell",
        "text": "Hover over a token",
        "table": "Select layer and position",
    }
    help_text = seen.page.locator(".help").inner_text()
    assert help_text.startswith(starts[shown])
    if shown != "table":
        assert seen.page.locator(".panels").get_attribute("aria-label").endswith(help_text)


def test_the_table_is_separated_from_the_controls(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=table")
    above, below = (seen.page.locator(each).bounding_box() for each in (".toolbar", ".table"))
    assert below["y"] - above["y"] - above["height"] == 16


def test_names_of_importance_stand_on_one_line(view: Any, attention: Any) -> None:
    importance = [
        Importance(np.linspace(0, 1, 9), attention.tokens, method)
        for method in ("blank_out", "input_gradient")
    ]
    seen = view(attention, importance=importance)
    names = seen.panel("raw").locator(".legend div > span")
    assert names.all_inner_texts() == ["blank-out", "input gradient"]
    assert names.nth(0).bounding_box()["y"] == names.nth(1).bounding_box()["y"]


@pytest.mark.parametrize("width", [360, 1280])
def test_the_bottom_row_is_called_input(view: Any, attention: Any, width: int) -> None:
    seen = view(attention, context={"viewport": {"width": width, "height": 900}})
    name = seen.panel("rollout").locator(".inner svg text", has_text="input")
    frame = seen.panel("rollout").locator(".inner svg").bounding_box()
    assert name.bounding_box()["x"] >= frame["x"]


def test_a_phone_opens_on_rollout_and_shows_one_method_at_a_time(view: Any, attention: Any) -> None:
    context = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    seen = view(attention, context=context)
    shown = [seen.panel(method).is_visible() for method in ("raw", "rollout", "flow")]
    assert shown == [False, True, False]
    seen.page.locator("label[data-method=flow]").tap()
    seen.settled()
    assert seen.panel("flow").is_visible()
    assert not seen.panel("rollout").is_visible()
    seen.page.touchscreen.tap(*seen.node("flow", 2, 3, 9))
    seen.settled()
    assert "pin=2.3" in seen.state()
    assert len(seen.lines("flow")) == 9
    assert seen.page.locator(".tooltip").is_visible()


@pytest.mark.parametrize("shown", VIEWS)
def test_a_token_is_never_markup(view: Any, shown: str) -> None:
    tokens = ["[CLS]", HOSTILE, "<b>bold</b>", "${alert(1)}", "'\"><svg onload=alert(1)>"]
    prediction = Prediction(HOSTILE, {HOSTILE: 0.9, "b": 0.1})
    weights = np.full((2, 2, 5, 5), 0.2)
    origin = af.Origin(text=" ".join(tokens))
    seen = view(
        af.Attention(weights, tokens, origin=origin),
        title=HOSTILE, prediction=prediction, state=f"view={shown}",
    )  # fmt: skip
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("h1").inner_text() == HOSTILE
    assert seen.page.locator(".prediction strong").inner_text() == HOSTILE
    assert [row[1] for row in seen.table()[1]] == tokens
    if shown == "graph":
        seen.hover("raw", 2, 1, 5)
        assert HOSTILE in seen.page.locator(".tooltip").inner_text()
        texts = seen.panel("raw").locator("svg text").all_text_contents()
        assert any(text.startswith("</script>") for text in texts)
    if shown == "text":
        assert HOSTILE in seen.panel("raw").locator(".text").inner_text()


def test_the_heat_map_has_a_row_for_each_layer(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=heatmap&query=2")
    texts = seen.panel("rollout").locator("svg text").all_text_contents()
    expected = af.rollout(attention).scores[:, 2]
    numbers = [text for text in texts if text[:2] == "0."]
    assert numbers[:9] == [f"{score:.2f}" for score in expected[0]]
    assert len(numbers) == 4 * 9
    seen.page.get_by_role("slider", name="Layer").fill("0")
    seen.settled()
    assert seen.caption().startswith("Layer 1, position 2")


def test_the_text_view_colours_the_text_itself(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=text&layer=1&query=4")
    text = seen.panel("raw").locator(".text")
    assert text.inner_text() == "[CLS]The keys are on the old table"
    row = af.raw(attention).row(1, 4)
    other = np.where(np.arange(9) == 4, 0.0, row)  # but for the position's own
    strongest = seen.panel("raw").locator(f".token[data-node='{int(other.argmax())}']")
    assert strongest.evaluate("(e) => e.style.getPropertyValue('--share')") == "100%"
    assert strongest.get_attribute("title") == f"{other.max():.3f}"
    seen.panel("raw").locator(".token", has_text="table").click()
    seen.settled()
    assert seen.caption().startswith("Layer 1, position 8 table")
    seen.page.locator(".panels").focus()
    seen.page.keyboard.press("ArrowUp")
    seen.settled()
    assert seen.caption().startswith("Layer 2, position 8 table")


def test_words_take_the_place_of_their_pieces(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.page.get_by_label("Words").check()
    seen.settled()
    texts = seen.panel("raw").locator("svg text").all_text_contents()
    assert "keys" in texts
    assert "##s" not in texts
    seen.click("flow", 3, 2, 8)
    seen.click("flow", 0, 1, 8)
    assert "switch off Words" in seen.notes("flow")


def test_the_prediction_is_shown_with_its_probabilities(view: Any, attention: Any) -> None:
    prediction = Prediction("plural", {"singular": 0.125, "plural": 0.875})
    seen = view(attention, prediction=prediction)
    rows = seen.page.locator(".prediction li").all_inner_texts()
    assert [row.split() for row in rows] == [["plural", "88", "%"], ["singular", "13", "%"]]


@pytest.mark.parametrize("width", [360, 1280])
def test_a_small_probability_stands_on_one_line(view: Any, attention: Any, width: int) -> None:
    names = ["a rather long name of a class", "b", "c"]
    prediction = Prediction(names[0], dict(zip(names, (0.992, 0.005, 0.003), strict=True)))
    context = {"viewport": {"width": width, "height": 740}}
    seen = view(attention, prediction=prediction, context=context)
    cells = seen.page.locator(".prediction .percent")
    assert cells.all_inner_texts() == ["99\u00a0%", "under 1\u00a0%", "under 1\u00a0%"]
    boxes = [cells.nth(at).bounding_box() for at in range(3)]
    assert len({box["height"] for box in boxes}) == 1
    spilled = cells.evaluate_all("(all) => all.filter((e) => e.scrollWidth > e.clientWidth).length")
    assert spilled == 0


def test_the_table_has_headers_for_screen_readers(view: Any, attention: Any) -> None:
    seen = view(attention, state="layer=2")
    head, rows = seen.table()
    assert head == ["#", "Token", "Raw attention", "Attention rollout", "Attention flow"]
    assert len(rows) == 9
    table = seen.page.get_by_role("table", name="Layer 2, position 0 [CLS]")
    assert table.get_by_role("rowheader").count() == 9
    assert table.get_by_role("columnheader").count() == 5


def test_a_document_of_another_version_is_refused_in_words(
    browser: Any, attention: Any, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    _ = file.write_text(to_html(attention).replace('"version":1', '"version":2', 1))
    page = browser.new_page()
    page.goto(file.as_uri())
    message = page.get_by_role("alert").inner_text()
    assert message.startswith("Expected a document of version 1, got version 2.")
    page.close()


def test_methods_chosen_on_a_phone_are_those_of_a_phone(view: Any, attention: Any) -> None:
    seen = view(attention, context={"viewport": {"width": 360, "height": 740}})
    boxes = seen.page.locator("label[data-method] input")
    assert boxes.evaluate_all("(all) => all.map((each) => each.type)") == ["radio"] * 3
    seen.page.locator("label[data-method=flow]").click()
    seen.settled()
    assert seen.state() == "alone=flow"
    assert boxes.evaluate_all("(all) => all.map((each) => each.checked)") == [False, False, True]
    seen.page.set_viewport_size({"width": 1280, "height": 900})
    seen.panel("raw").wait_for()
    assert seen.panel("rollout").is_visible()
    assert boxes.evaluate_all("(all) => all.map((each) => each.type)") == ["checkbox"] * 3
    assert boxes.evaluate_all("(all) => all.map((each) => each.checked)") == [True] * 3
    again = view(attention, state="alone=flow", context={"viewport": {"width": 360, "height": 740}})
    assert again.panel("flow").is_visible()


def _ratio(one: str, other: str) -> float:
    """Contrast of two colours such as #59626d."""

    def light(colour: str) -> float:
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    return max(light(one), light(other)) / min(light(one), light(other))


@pytest.mark.parametrize("theme", ["LIGHT", "DARK"])
def test_bars_and_borders_of_controls_stand_out(
    view: Any, attention: Any, modules: Any, theme: str
) -> None:
    seen = view(attention, state="methods=raw", context={"color_scheme": theme.lower()})
    imported = "async (name) => (await import('/draw/theme.js'))[name]"
    palette = modules.evaluate(imported, theme)
    for colour in ("muted", "raw", "rollout", "flow", "importance0", "importance1"):
        assert _ratio(palette[colour], palette["paper"]) >= 3, colour
    muted = [int(palette["muted"][at : at + 2], 16) for at in (1, 3, 5)]
    border = "(e) => getComputedStyle(e).borderTopColor"
    for selector in (
        "select",
        "button",
        "input[type=number]",
        ".segments input:not(:checked) + span",
    ):
        colour = seen.page.locator(selector).last.evaluate(border)
        assert colour == f"rgb({', '.join(map(str, muted))})", selector


def test_headings_go_below_those_of_the_page_around(
    view: Any, attention: Any, modules: Any
) -> None:
    seen = view(attention)
    assert seen.page.locator("h1").count() == 1
    assert seen.page.locator("h2").count() == 3
    levels = modules.evaluate(
        """async (data) => {
            const { mount } = await import("/static/widget.js");
            const place = document.body.appendChild(document.createElement("div"));
            mount(place, data);
            const headings = place.firstChild.shadowRoot.querySelectorAll("h1, h2, h3");
            return [...headings].map((each) => each.tagName);
        }""",
        page_data(attention),
    )
    assert levels == ["H2", "H3", "H3", "H3"]


def test_pieces_of_bytes_are_shown_as_the_text_they_stand_for(view: Any) -> None:
    text = "The man said\nHe was late."
    tokens = ["The", "Ġman", "Ġsaid", "Ċ", "He", "Ġwas", "Ġlate", "."]
    attention = random_attention(2, 1, 8, tokens=tokens)
    shown = af.Attention(attention.weights, tokens, origin=af.Origin(text=text))
    seen = view(shown, state="query=1", prediction=Prediction("x", {"x": 1.0}, position=7))
    labels = seen.panel("raw").locator(".inner svg text").all_text_contents()
    names = ["The", "man", "said", "⏎", "He", "was", "late", "."]
    assert labels[-8:] == names
    assert seen.caption().startswith("Layer 2, position 1 man ·")
    assert [row[1] for row in seen.table()[1]] == names
    assert seen.page.locator(".prediction p").inner_text() == "Prediction at position 7: x"


def test_the_settings_above_a_table_that_scrolls_are_seen_in_full(view: Any) -> None:
    shipped = paper.load()
    explanation = af.explain(shipped.model, shipped.tokenizer, "the key to the cabinets")
    seen = view(
        explanation, state="view=table", context={"viewport": {"width": 390, "height": 800}}
    )
    table = seen.page.locator(".table")
    assert table.evaluate("(e) => e.scrollWidth > e.clientWidth")
    box = table.locator("caption").bounding_box()
    assert box["x"] + box["width"] < 390


@pytest.mark.parametrize("count", [6, 24])
def test_cells_are_lighter_only_where_numbers_are_on_them(view: Any, count: int) -> None:
    """The dark colors of cells are hard to tell apart."""
    seen = view(
        random_attention(3, 2, count),
        state="view=heatmap&methods=rollout",
        context={"color_scheme": "dark", "viewport": {"width": 700, "height": 900}},
    )
    numbered = count == 6
    text = seen.panel("rollout").locator(".inner svg text", has_text="0.")
    assert (text.count() > 0) is numbered
    for svg in (".inner svg", ".legend svg"):
        opacity = (
            seen.panel("rollout")
            .locator(f"{svg} rect:not([fill=none])")
            .evaluate_all("(all) => all.map((e) => Number(e.getAttribute('fill-opacity') ?? 1))")
        )
        assert max(opacity) == pytest.approx(0.5 if numbered else 1)
