"""The graph under a pointer and under keys."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention
from attnflow.view import page_data

N = 9  # tokens of the attention that is shown


def test_at_rest_every_position_is_joined_to_what_lies_below(view: Any, attention: Any) -> None:
    seen = view(attention)
    for method in ("raw", "rollout", "flow"):
        assert len(seen.lines(method)) == 4 * N * N
        assert len({line["from"] for line in seen.lines(method)}) == 4


def test_a_hover_lights_up_where_a_node_draws_from(view: Any, attention: Any) -> None:
    seen = view(attention)
    before = seen.cells("rollout")
    seen.hover("raw", 2, 4, N)
    assert len(seen.lines("raw")) == 2 * N  # one layer down, one up
    assert len({line["from"] for line in seen.lines("rollout")}) == 4  # all layers
    assert len(seen.lines("flow")) == N  # straight to the tokens
    assert len({(line["from"], line["to"]) for line in seen.lines("flow")}) == 1
    assert seen.cells("rollout") != before
    assert seen.caption().startswith("Layer 2, position 4 are")
    tip = seen.page.locator(".tooltip")
    assert tip.is_visible()
    assert "layer 2, are" in tip.inner_text()
    seen.page.mouse.move(5, 5)
    seen.settled()
    assert len(seen.lines("raw")) == 4 * N * N
    assert not tip.is_visible()


def test_what_runs_down_the_edges_of_rollout_adds_up(attention: Any, modules: Any) -> None:
    """One leaves the node, and one arrives at each layer below: nothing is lost on the way."""
    sums = modules.evaluate(
        """async (data) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const { Level } = await import("/compute/level.js");
            const { nodeEdges } = await import("/compute/highlight.js");
            const scores = new Scores(data, new Scheduler(() => {}));
            const at = { layer: 3, node: 2 };
            const level = new Level(data, false);
            const blocks = nodeEdges(scores, "rollout", level, at, 4, scores.defaults, 0);
            return blocks.map(({ from, values }) => [from, values.reduce((a, b) => a + b, 0)]);
        }""",
        page_data(attention),
    )
    below = {layer: total for layer, total in sums if layer <= 3}
    assert below == {layer: pytest.approx(1, abs=1e-4) for layer in (1, 2, 3)}
    above = attention.graph().layers[3][:, 2].sum()
    assert dict(sums)[4] == pytest.approx(above, abs=1e-4)


def test_a_click_pins_a_node_and_escape_lets_go(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.click("rollout", 3, 5, N)
    seen.page.mouse.move(5, 5)
    seen.settled()
    assert len(seen.lines("raw")) == 2 * N
    assert "pin=3.5" in seen.state()
    assert seen.caption().startswith("Layer 3, position 5 on")
    seen.page.locator(".panels").focus()
    seen.page.keyboard.press("Escape")
    seen.settled()
    assert "pin" not in seen.state()


def test_a_click_counts_when_the_picture_is_drawn_anew_under_it(view: Any, attention: Any) -> None:
    seen = view(attention)
    mouse = seen.page.mouse
    mouse.move(*seen.node("rollout", 3, 5, N))
    mouse.down()
    seen.hover("rollout", 3, 4, N)  # draws, and so does the way back
    seen.hover("rollout", 3, 5, N)
    mouse.up()
    seen.settled()
    assert "pin=3.5" in seen.state()


def test_a_pinned_pair_shows_its_flow_and_its_cut(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.click("flow", 3, 5, N)
    seen.click("flow", 0, 2, N)
    expected = af.max_flow(attention, source=(3, 5), sink=2)
    assert f"Flow {expected.value:.3f} = cut {expected.cut_value:.3f}." in seen.notes("flow")
    lines = seen.lines("flow")
    crossing = sum(
        int((weights[above][:, ~below] > 0).sum())
        for weights, above, below in zip(
            attention.graph().layers, expected.cut[1:], expected.cut[:-1], strict=True
        )
    )
    # There may be several minimum cuts, and each is a proof; most graphs have one.
    assert sum(line["dashed"] for line in lines) == crossing
    assert any(not line["dashed"] for line in lines)
    seen.click("flow", 0, 2, N)
    assert "cut" not in seen.notes("flow")


def test_keys_move_over_layers_and_tokens(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.page.locator(".panels").focus()
    press = seen.page.keyboard.press
    press("ArrowDown")
    press("ArrowRight")
    press("ArrowRight")
    seen.settled()
    assert seen.caption().startswith("Layer 3, position 2 key")
    assert seen.state() == "layer=3&query=2"
    spoken = seen.page.locator("[role=status]").inner_text()
    assert spoken.startswith("layer 3, key. raw: ")
    assert "rollout: " in spoken
    assert len(seen.lines("raw")) == 2 * N
    press("Enter")
    for _ in range(3):
        press("ArrowDown")
    press("End")
    press("Enter")
    seen.settled()
    assert "pin=3.2&sink=8" in seen.state()
    assert "= cut" in seen.notes("flow")
    press("Escape")
    press("Escape")
    seen.settled()
    assert "pin" not in seen.state()


def test_the_graph_is_one_stop_of_the_tab_key(view: Any, attention: Any) -> None:
    seen = view(attention)
    inside = "document.querySelector('#attnflow > div').shadowRoot.activeElement"
    seen.page.get_by_role("button", name="Copy link").focus()
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate(f"{inside}.className") == "panels"
    assert seen.page.evaluate(f"getComputedStyle({inside}).outlineStyle") == "solid"
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate(f"{inside} === null")


def test_the_slider_chooses_the_layer(view: Any, attention: Any) -> None:
    seen = view(attention)
    slider = seen.page.get_by_role("slider", name="Layer")
    slider.focus()
    seen.page.keyboard.press("ArrowLeft")
    seen.page.keyboard.press("ArrowLeft")
    seen.settled()
    assert slider.get_attribute("aria-valuetext") == "layer 2 of 4"
    assert seen.caption().startswith("Layer 2, position 0")
    assert seen.state() == "layer=2"


def test_methods_can_be_left_out_but_not_all(view: Any, attention: Any) -> None:
    seen = view(attention)
    seen.page.locator("label[data-method=raw]").click()
    seen.settled()
    assert not seen.panel("raw").is_visible()
    assert seen.panel("flow").is_visible()
    seen.page.locator("label[data-method=flow]").click()
    seen.page.locator("label[data-method=rollout]").click()
    seen.settled()
    assert seen.panel("rollout").is_visible()
    assert seen.state() == "methods=rollout"


def test_head_residual_and_position_are_chosen_in_the_toolbar(view: Any, attention: Any) -> None:
    seen = view(attention)
    before = seen.lines("raw")
    _ = seen.page.get_by_label("Heads").select_option("head 2")
    seen.settled()
    assert seen.lines("raw") != before
    residual = seen.page.get_by_label("Residual")
    residual.fill("0.25")
    residual.press("Enter")
    _ = seen.page.get_by_label("Position").select_option("4 are")
    seen.settled()
    assert seen.state() == "query=4&head=2&residual=0.25"
    residual.fill("7")
    residual.press("Enter")
    assert residual.input_value() == "0.25"


def test_saturated_flow_is_said_to_be(view: Any, attention: Any) -> None:
    deep = af.Attention([*attention.weights] * 4, attention.tokens)
    flows = af.flow(deep)
    assert flows.saturated[-1]
    assert not flows.saturated[0]
    seen = view(deep)
    assert "saturated at layer 16" in seen.notes("flow")
    seen = view(deep, state="layer=1")
    assert "saturated" not in seen.notes("flow")


def _strongest_other(attention: Any) -> float:
    """The largest share of flow to another token than the position's own.

    Edges of the lowest layer to [CLS] are a fan, as to an attention sink.
    """
    shares = np.where(np.eye(N, dtype=bool), 0.0, af.flow(attention).normalized().scores)
    shares[0, :, 0] = 0.0
    return float(shares.max())


def test_flow_of_all_positions_is_drawn_as_shares(view: Any, attention: Any) -> None:
    assert (
        f"{_strongest_other(attention):.3f}"
        in view(attention).panel("flow").locator(".legend").inner_text()
    )
    assert "shares of the sum of each position" in view(attention).notes("flow")
    assert "shares of" not in view(attention, state="pin=3.0").notes("flow")


def test_the_legend_of_a_pair_is_that_of_its_flow(view: Any, attention: Any) -> None:
    flows = af.max_flow(attention, source=(3, 0), sink=4).flows
    seen = view(attention, state="layer=3&pin=3.0&sink=4")
    strongest = max(float(layer.max()) for layer in flows)
    assert f"{strongest:.3f}" in seen.panel("flow").locator(".legend").inner_text()


@pytest.mark.parametrize("causal", [False, True])
def test_flow_of_another_position_of_a_long_text_is_solved(view: Any, causal: bool) -> None:
    long = random_attention(5, 1, 130, causal=causal)
    query = 129 - page_data(long)["query"]  # not the one that Python computes
    seen = view(long, state=f"query={query}&methods=flow")
    seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
    # Weights are rounded to 16 bits, which adds up over the many edges of a cut.
    expected = af.flow(long, queries=query).row(5, query)
    assert np.allclose(seen.column("Attention flow"), expected, rtol=0, atol=1e-3)


def test_what_was_left_half_made_is_made_when_it_is_seen_again(view: Any) -> None:
    seen = view(random_attention(6, 1, 300), state="methods=rollout")
    note = seen.page.get_by_label("Residual").evaluate(
        """async (input) => {
            const choose = (residual) => {
                input.value = residual;
                input.dispatchEvent(new Event("change"));
            };
            const frame = () => new Promise((done) => requestAnimationFrame(done));
            choose(0.3);
            await frame();
            await frame();
            const panel = input.getRootNode().querySelector("[data-method=rollout].panel");
            const note = panel.querySelector(".notes").textContent;
            choose(0.5);
            choose(0.3);
            return note;
        }"""
    )
    assert "Computing layer" in note
    seen.panel("rollout").locator(".notes", has_not_text="Computing").wait_for()


def test_flow_of_some_positions_is_said_to_be_of_some(view: Any) -> None:
    """66 tokens: a position can be solved here, all of them would take too long."""
    seen = view(random_attention(6, 1, 66))
    assert "Only solved positions are drawn" in seen.notes("flow")
    drawn = "Only solved positions"
    assert drawn not in view(random_attention(2, 1, 20), flow_queries=[0]).notes("flow")


def test_flow_that_the_document_lacks_is_solved_for_all_positions(
    view: Any, attention: Any
) -> None:
    seen = view(attention, flow_queries=[0])
    seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
    seen.settled()
    assert len(seen.lines("flow")) == 4 * N * N
    assert (
        f"{_strongest_other(attention):.3f}" in seen.panel("flow").locator(".legend").inner_text()
    )


@pytest.mark.parametrize(
    ("state", "unit"),
    [
        ("", "share of the row sum"),
        ("layer=3&pin=3.0", "flow to the token"),
        ("layer=3&pin=3.0&normal=1", "share of the row sum"),
        ("layer=3&pin=3.0&sink=4", "flow on the edge"),
    ],
)
def test_the_legend_says_what_its_numbers_are(
    view: Any, attention: Any, state: str, unit: str
) -> None:
    assert unit in view(attention, state=state).panel("flow").locator(".legend").inner_text()


def test_a_pinned_pair_is_read_out_with_its_flow(view: Any, attention: Any) -> None:
    seen = view(attention, state="layer=3&pin=3.5")
    seen.click("flow", 0, 2, N)
    value = f"{af.max_flow(attention, source=(3, 5), sink=2).value:.3f}"
    spoken = seen.page.locator("[role=status]").inner_text()
    assert spoken.startswith(f"Pair with token key. Flow {value} = cut {value}.")


def test_notes_are_read_out_outside_the_picture(view: Any, attention: Any) -> None:
    seen = view(attention)
    outside = seen.page.get_by_role("region", name="Notes")
    outside.get_by_text("Attention flow: Edges are drawn as shares").wait_for()
    assert outside.evaluate("(e) => e.closest('[role=application]') === null")


SIZES = [[8, 6, 3, 5], [5, 3, 6, 8], [4, 9, 4, 9]]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("state", ["", "pin=3.2", "pin=1.2", "pin=0.3", "pin=3.1&sink=3"])
def test_layers_of_other_sizes_stay_inside_the_picture(
    view: Any, sizes: list[int], state: str
) -> None:
    rng = np.random.default_rng(0)
    pairs = zip(sizes[1:], sizes[:-1], strict=True)
    graph = af.AttentionGraph([rng.random(pair) for pair in pairs])
    seen = view(graph, state=state)
    outside = seen.page.locator(".inner svg").evaluate_all(
        """(all) => all.flatMap((svg) => [...svg.querySelectorAll("line")]
            .flatMap((line) => [line.getAttribute("x1"), line.getAttribute("x2")].map(Number))
            .filter((x) => !(x >= 0 && x <= svg.width.baseVal.value)))"""
    )
    assert outside == []


def test_raw_attention_to_nodes_that_are_no_tokens_colours_none(view: Any) -> None:
    rng = np.random.default_rng(0)
    graph = af.AttentionGraph([rng.random((3, 5)), rng.random((4, 3))])
    seen = view(graph)
    assert "nodes of layer 1, which are not the tokens" in seen.notes("raw")
    assert seen.panel("raw").locator("svg rect[height='14']").count() == 0
    assert "not the tokens" not in view(graph, state="layer=1").notes("raw")
    assert seen.caption() == "Layer 2, position 0 · raw, rollout, flow · edges: as given"
