"""512 tokens of 12 layers: drawn on a canvas, in part; benchmarks/page_speed.py times it."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention
from attnflow.view import to_html


@pytest.fixture(scope="module")
def long() -> af.Attention:
    tokens = [f"token{position}" for position in range(512)]
    return random_attention(12, 2, 512, tokens=tokens)


@pytest.fixture(scope="module")
def html(long: af.Attention) -> str:
    # Without heads, as the page has it that holds the mean alone.
    return to_html(long, heads="mean", sinks="keep")


def test_a_hover_highlights_the_edges_of_a_node(view: Any, html: str) -> None:
    seen = view(html, state="view=graph")
    before = seen.notes("raw")
    seen.panel("raw").locator(".inner").hover(position={"x": 500, "y": 120})
    seen.settled()
    assert seen.page.locator(".tooltip").is_visible()
    assert seen.notes("raw") != before
    assert not seen.caption().startswith("Layer 12, position 0 ")


def test_a_long_text_opens_as_text_and_draws_no_graph(view: Any, html: str) -> None:
    seen = view(html)
    assert seen.panel("rollout").locator(".token").count() == 512
    assert not seen.panel("rollout").locator("canvas").is_visible()
    assert seen.state() == ""


def test_weak_edges_are_left_out_and_counted(view: Any, html: str) -> None:
    seen = view(html, state="view=graph")
    assert seen.panel("raw").locator("canvas").count() == 1
    note = seen.notes("raw")
    assert "weakest edges are not drawn; they carry" in note
    assert int(note.split("The ")[1].split(" weakest")[0].replace("\u202f", "")) > 3_000_000


def test_panels_out_of_sight_are_drawn_when_they_come_into_sight(view: Any, html: str) -> None:
    seen = view(html, state="view=graph")
    seen.panel("flow").scroll_into_view_if_needed()
    seen.panel("flow").locator("canvas").wait_for()
    drawn = """(canvas) => canvas.getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0)"""
    seen.settled()
    assert seen.panel("flow").locator("canvas").evaluate(drawn)
    assert "Only solved positions are drawn" in seen.notes("flow")


def test_zoom_makes_space_for_labels_and_scrolls(view: Any, html: str) -> None:
    seen = view(html, state="view=graph")
    scroller = seen.panel("raw").locator(".scroller")
    assert scroller.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    for _ in range(3):
        seen.page.get_by_role("button", name="Zoom in").click()
        seen.settled()
    assert scroller.evaluate("(e) => e.scrollWidth > 4 * e.clientWidth")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 1280
    seen.page.locator(".panels").focus()
    seen.page.keyboard.press("End")
    seen.settled()
    assert seen.caption().startswith("Layer 12, position 511 token511")
    assert scroller.evaluate("(e) => e.scrollLeft") > 1000


def test_numbers_of_a_long_text_are_those_of_python(
    view: Any, html: str, long: af.Attention
) -> None:
    seen = view(html, state="layer=9")
    expected = af.rollout(long, layers=9, queries=0).scores[0, 0]
    assert np.allclose(seen.column("Attention rollout"), expected, rtol=0, atol=1e-4)


def test_the_file_is_not_much_more_than_its_weights(html: str) -> None:
    weights = 12 * 512 * 512 * 2 * 4 / 3
    assert len(html.encode()) < weights + 200_000


def test_a_text_of_120_tokens_opens_as_text(view: Any) -> None:
    tokens = [f"word{position}" for position in range(120)]
    seen = view(random_attention(2, 2, 120, tokens=tokens))
    assert seen.panel("rollout").locator(".token").count() == 120
    assert seen.page.get_by_role("radio", name="Text").is_checked()
    short = view(random_attention(2, 2, 64, tokens=tokens[:64]))
    assert short.page.get_by_role("radio", name="Graph").is_checked()


def test_flow_of_another_position_of_a_long_text_is_solved_by_the_page(view: Any) -> None:
    long = random_attention(3, 1, 512, seed=2)
    seen = view(long, state="query=300&layer=3&view=table", flow_queries=0)
    seen.page.wait_for_function(
        """() => !document.querySelector("#attnflow > div").shadowRoot
            .querySelector(".table").textContent.includes("solving")""",
        timeout=120_000,
    )
    expected = af.flow(long, layers=3, queries=300).scores[0, 0]
    # Columns of 512 weights, which the page has in steps of 1/65535, add up to a flow.
    assert np.allclose(seen.column("Attention flow"), expected, rtol=0, atol=5e-4)


def test_a_text_that_was_cut_off_ends_where_the_model_stopped_reading(view: Any) -> None:
    origin = af.Origin(text="the key to the cabinets. ", spans=(None, (0, 3), (4, 7), None))
    weights = random_attention(2, 1, 4).weights
    cut = af.Attention(weights, ["[CLS]", "the", "key", "[SEP]"], origin=origin)
    shown = view(cut, state="view=text").panel("rollout").locator(".text").inner_text()
    assert shown.endswith("[SEP] … (16 characters not read)")
    spans = (None, (0, 3), (4, 7), (8, 24))
    complete = af.Attention(weights, cut.tokens, origin=af.Origin(text=origin.text, spans=spans))
    shown = view(complete, state="view=text").panel("rollout").locator(".text").inner_text()
    assert "not read" not in shown


@pytest.mark.parametrize(("layers", "solved"), [(48, True), (60, False)])
def test_flow_of_512_tokens_is_solved_for_up_to_48_layers(
    modules: Any, layers: int, solved: bool
) -> None:
    can_solve = modules.evaluate(
        """async (layers) => {
            const { FlowSolver } = await import("/compute/flow-solver.js");
            const { countEdges } = await import("/compute/edges.js");
            const sizes = Array(layers + 1).fill(512);
            return new FlowSolver({ sizes, count: countEdges(sizes) }, null).canSolve;
        }""",
        layers,
    )
    assert can_solve is solved
