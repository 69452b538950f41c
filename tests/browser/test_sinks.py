"""Attention sinks, the receptive field, color scales and flat flow."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention
from attnflow.view import page_data

METHODS = {
    "Raw attention": af.raw, "Attention rollout": af.rollout, "Attention flow": af.flow,
}  # fmt: skip
TOKENS = ["[CLS]", "the", "key", "to", "it", "is"]


def _with_sink(weights: Any, position: int) -> Any:
    """Weights of which three quarters go to one position."""
    sunk = np.asarray(weights) / 4
    sunk[..., position] += 0.75
    return sunk


@pytest.fixture(scope="module")
def sunk() -> af.Attention:
    weights = _with_sink(random_attention(3, 2, len(TOKENS), seed=4).weights, 0)
    return af.Attention(weights, TOKENS)


@pytest.fixture(scope="module")
def decoder() -> af.Attention:
    weights = random_attention(3, 2, len(TOKENS), seed=4, causal=True).weights
    return af.Attention(weights, TOKENS, causal=True)


def _keep(seen: Any) -> Any:
    return seen.page.get_by_label("Keep sinks")


@pytest.mark.parametrize("state", ["query=2", "layer=2&query=4&head=1"])
def test_sinks_are_taken_out_and_can_be_put_back(
    view: Any, close: Any, sunk: af.Attention, state: str
) -> None:
    assert {sink.position for sink in sunk.sinks} == {0}
    seen = view(sunk, state=state)
    parts = dict(part.split("=") for part in state.split("&"))
    layer, query = int(parts.get("layer", 3)), int(parts["query"])
    head: Any = {"head": int(parts["head"])} if "head" in parts else {}
    line = seen.page.locator(".sinks").inner_text()
    assert "position 0 [CLS] receives" in line
    assert "it is taken out" in line
    assert "sinks removed: position 0 [CLS]" in seen.caption()
    for title, method in METHODS.items():
        assert close(seen.column(title), method(sunk, without=0, **head).row(layer, query)), title
    _keep(seen).check()
    seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
    assert seen.state() == f"{state}&sinks=keep"
    assert "sinks kept: position 0 [CLS]" in seen.caption()
    for title, method in METHODS.items():
        assert close(seen.column(title), method(sunk, **head).row(layer, query)), title
    _keep(seen).uncheck()
    seen.settled()
    assert seen.state() == state


def test_sinks_of_an_encoder_decoder_are_taken_out(view: Any, close: Any) -> None:
    encoder = _with_sink(random_attention(2, 2, 5, seed=1).weights, 4)
    decoder = random_attention(2, 2, 4, seed=2, causal=True).weights
    cross = random_attention(2, 2, 5, seed=3).weights[:, :, :4]
    both = af.EncoderDecoderAttention(encoder, decoder, cross, [*"abcde"], [*"vwxy"])
    assert {sink.position for sink in both.sinks} == {4}
    even = random_attention(2, 2, 5, seed=1).weights
    assert "· no sinks" in view(af.EncoderDecoderAttention(even, decoder, cross)).caption()
    seen = view(both)
    for title, method in METHODS.items():
        assert close(seen.column(title), method(both, without=4).row(6, 8)), title
    _keep(seen).check()
    seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
    for title, method in METHODS.items():
        assert close(seen.column(title), method(both).row(6, 8)), title


def test_without_sinks_there_is_no_line(view: Any, attention: Any) -> None:
    seen = view(attention)
    assert not seen.page.locator(".sinks").is_visible()
    assert "no sinks" in seen.caption()


@pytest.mark.parametrize("state", ["query=4", "query=4&head=1", "query=4&residual=0.25"])
def test_a_decoder_opens_corrected_for_its_receptive_field(
    view: Any, close: Any, decoder: af.Attention, state: str
) -> None:
    without = sorted({sink.position for sink in decoder.sinks})
    seen = view(decoder, state=state)
    seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
    assert seen.page.get_by_label("Receptive field").is_checked()
    assert "corrected for the receptive field" in seen.caption()
    residual = 0.25 if "residual" in state else 0.5
    graph: Any = decoder if "head" in state else decoder.graph(residual=residual, without=without)
    settings: Any = {"head": 1, "without": without} if "head" in state else {}
    composed = (("Attention rollout", af.rollout), ("Attention flow", af.flow))
    for title, method in composed:
        expected = method(graph, receptive_field=True, **settings).row(3, 4)
        assert close(seen.column(title), expected), title
    before = seen.column("Raw attention")
    seen.page.get_by_label("Receptive field").uncheck()
    seen.settled()
    assert seen.state() == f"{state}&field=0"
    assert "receptive field" not in seen.caption()
    assert seen.column("Raw attention") == before
    for title, method in composed:
        assert close(seen.column(title), method(graph, **settings).row(3, 4)), title


@pytest.mark.parametrize("opens", [True, False])
def test_a_link_keeps_whether_scores_are_corrected(
    view: Any, decoder: af.Attention, opens: bool
) -> None:
    box = view(decoder, receptive_field=opens).page.get_by_label("Receptive field")
    assert box.is_checked() is opens
    for number, chosen in enumerate((False, True)):
        seen = view(decoder, receptive_field=opens, state=f"field={number}")
        assert seen.page.get_by_label("Receptive field").is_checked() is chosen
        assert ("receptive field" in seen.caption()) is chosen
        assert seen.page.evaluate("location.hash") == f"#field={number}"


def test_other_edges_of_a_decoder_are_said_not_to_be_corrected(
    view: Any, close: Any, decoder: af.Attention
) -> None:
    other = decoder.graph(residual=0.25)
    seen = view({"attention": decoder, "mine": other}, state="edges=mine&query=4")
    assert "not corrected for the receptive field" in seen.caption()
    assert close(seen.column("Rollout"), af.rollout(other).row(3, 4))


def test_flow_of_a_decoder_is_corrected_without_solving_in_the_browser(
    modules: Any, decoder: af.Attention
) -> None:
    found = modules.evaluate(
        """async (data) => {
            const { ReceptiveField } = await import("/compute/receptive-field.js");
            const field = new ReceptiveField(data, { request: () => {} });
            const settings = { head: -1, residual: 0.5, keepSinks: data.keep_sinks };
            return [...field.flow(3, 4, settings)];
        }""",
        page_data(decoder),
    )
    assert len(found) == len(TOKENS)


@pytest.mark.parametrize("settings", [{}, {"head": 1}])
def test_edges_of_a_corrected_graph_are_the_corrected_scores(
    modules: Any, decoder: af.Attention, settings: Any
) -> None:
    """Those that plot.compare draws; what the edges below a node carry ends in its scores."""
    found = modules.evaluate(
        """async ([data, chosen]) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const { Level } = await import("/compute/level.js");
            const { nodeEdges } = await import("/compute/highlight.js");
            const scheduler = new Scheduler(() => {});
            scheduler.start();
            const scores = new Scores(data, scheduler);
            const settings = { ...scores.defaults, ...chosen };
            while (scores.overview("flow", settings, true).missing) {
                await new Promise((done) => setTimeout(done));
            }
            const all = (method) => scores.overview(method, settings, true).blocks
                .map(({ values }) => [...values]);
            const level = new Level(data, false);
            const at = { layer: 3, node: 4 };
            const edges = (method) => nodeEdges(scores, method, level, at, 3, settings, 0, true)
                .map(({ from, values }) => [from, [...values]]);
            return {
                rollout: all("rollout"), flow: all("flow"),
                edges: edges("rollout"), lines: edges("flow")[0][1],
            };
        }""",
        [page_data(decoder, sinks="keep"), settings],
    )
    n = len(TOKENS)
    for method in (af.rollout, af.flow):
        expected = method(decoder, receptive_field=True, **settings).scores
        drawn = np.reshape(found[method.__name__], expected.shape)
        np.testing.assert_allclose(drawn, expected, atol=1e-4)
    flows = af.flow(decoder, receptive_field=True, **settings).row(3, 4)
    np.testing.assert_allclose(found["lines"], flows, atol=1e-4)
    assert [layer for layer, _ in found["edges"]] == [3, 2, 1]
    for _, values in found["edges"]:
        assert sum(values) == pytest.approx(1, abs=1e-4)
    arriving = np.reshape(found["edges"][-1][1], (-1, n)).sum(axis=0)
    corrected = af.rollout(decoder, receptive_field=True, **settings).row(3, 4)
    np.testing.assert_allclose(arriving, corrected, atol=1e-4)


def test_a_pinned_word_of_a_decoder_has_the_edges_of_its_pieces(modules: Any) -> None:
    tokens, text = ["the", "key", "##s", "are"], "the keys are"
    weights = random_attention(2, 1, 4, seed=6, causal=True).weights
    attention = af.Attention(weights, tokens, causal=True, origin=af.Origin(text=text))
    found = modules.evaluate(
        """async (data) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const { Level } = await import("/compute/level.js");
            const { nodeEdges } = await import("/compute/highlight.js");
            const scores = new Scores(data, new Scheduler(() => {}));
            const at = { layer: 2, node: 1 };
            const level = new Level(data, true);
            const blocks = nodeEdges(scores, "rollout", level, at, 2, scores.defaults, 0, true);
            return [...blocks.find(({ from }) => from === 1).values];
        }""",
        page_data(attention, sinks="keep"),
    )
    expected = af.rollout(attention, receptive_field=True).to_words()
    arriving = np.reshape(found, (-1, 3)).sum(axis=0)
    np.testing.assert_allclose(arriving, expected.row(2, 1), atol=1e-4)


@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_a_corrected_graph_says_which_edges_are_not(
    view: Any, decoder: af.Attention, method: str
) -> None:
    seen = view(decoder)
    assert "receptive field" not in seen.notes(method)
    seen.hover(method, 2, 4, len(TOKENS))
    said = "Edges above the position are drawn without the correction" in seen.notes(method)
    assert said is (method == "rollout")
    pair = view(decoder, state="pin=2.4&sink=1")
    said = "Flow and cut of a pair are without the correction" in pair.notes(method)
    assert said is (method == "flow")


def test_an_encoder_has_no_such_correction(view: Any, attention: Any) -> None:
    seen = view(attention, state="field=1")
    assert seen.page.get_by_label("Receptive field").count() == 0
    assert "receptive" not in seen.caption()


@pytest.mark.parametrize("shown", ["text", "heatmap"])
def test_the_scale_ends_at_the_largest_other_score(view: Any, shown: str) -> None:
    """The position attends mostly to itself: its own share would wash out the rest."""
    weights = 0.9 * np.eye(5) + 0.1 * np.array([[0.1, 0.2, 0.4, 0.2, 0.1]] * 5)
    attention = af.Attention(weights[None, None], [*"abcde"])
    seen = view(attention, state=f"view={shown}&query=1")
    other = np.delete(af.rollout(attention).row(1, 1), 1).max()
    legend = seen.panel("rollout").locator(".legend").inner_text()
    assert f"▶ ≥ {other:.3f}" in legend
    if shown == "text":
        share = "(e) => e.style.getPropertyValue('--share')"
        shares = seen.panel("rollout").locator(".token").evaluate_all(f"(all) => all.map({share})")
        assert shares[2] == "100%"
        assert shares[0] not in ("0%", "100%")


def _with_near_sinks(n: int) -> af.Attention:
    """Two layers in which a fifth of the attention goes to two columns, too little for sinks."""
    weights = np.random.default_rng(0).random((2, 1, n, n)) + 0.5
    weights /= weights.sum(axis=3, keepdims=True)
    weights *= 0.8
    weights[..., 0] += 0.12
    weights[..., n - 1] += 0.08
    return af.Attention(weights, [f"t{at}" for at in range(n)])


@pytest.mark.parametrize("shown", ["text", "heatmap"])
def test_a_few_near_sinks_do_not_wash_out_the_rest(view: Any, shown: str) -> None:
    attention = _with_near_sinks(60)
    assert attention.sinks == ()
    seen = view(attention, state=f"view={shown}&query=7&layer=2")
    scores = af.rollout(attention).scores[:, 7]
    rows = scores if shown == "heatmap" else scores[1:]
    end = np.delete(rows, [0, 7, 59], axis=1).max()
    assert end < rows.max() / 5
    legend = seen.panel("rollout").locator(".legend").inner_text()
    assert f"▶ ≥ {end:.3f}" in legend


def test_a_fan_into_near_sinks_is_gray_and_does_not_set_the_scale(modules: Any, view: Any) -> None:
    attention = _with_near_sinks(60)
    found = modules.evaluate(
        """async (data) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const { topEdges } = await import("/compute/top-edges.js");
            const scores = new Scores(data, new Scheduler(() => {}));
            const { blocks } = scores.overview("rollout", scores.defaults);
            const skipped = { own: true, sinks: new Set() };
            const { max, exceeds, edges } = topEdges(blocks, 500, 0, skipped, true);
            const ends = (faint) => edges.filter((edge) => edge.faint === faint)
                .map(({ below }) => below);
            return { max, exceeds, gray: ends(true), colored: ends(false) };
        }""",
        page_data(attention),
    )
    scores = np.where(np.eye(60, dtype=bool), 0.0, af.rollout(attention).scores)
    assert found["max"] == pytest.approx(scores[..., 1:59].max(), rel=1e-3)
    assert found["exceeds"]
    assert set(found["gray"]) == {0, 59}
    assert len(found["colored"]) > 200
    assert not {0, 59} & set(found["colored"])
    note = "Gray: edges to positions 0 t0, 59 t59, which would cover others."
    assert note in view(attention).notes("rollout")


def test_gray_edges_name_the_nodes_of_their_layer(modules: Any) -> None:
    notes = modules.evaluate(
        """async () => {
            const { fanNotes } = await import("/draw/notes.js");
            const edges = [[1, 3], [0, 2], [0, 2], [0, 3]].map(([to, below]) =>
                ({ block: { to }, below, faint: true }));
            const level = { label: (layer, node) => `${"ab"[layer]}${node}` };
            const many = [...Array(10).keys()].map((below) => ({ ...edges[1], below }));
            return [[...edges, { block: { to: 0 }, below: 1 }], many].map((edges) =>
                fanNotes({ edges }, level));
        }"""
    )
    eight = ", ".join(f"{at} a{at}" for at in range(8))
    assert notes == [
        ["Gray: edges to positions 2 a2, 3 a3, 3 b3, which would cover others."],
        [f"Gray: edges to positions {eight} and 2 more, which would cover others."],
    ]


def test_edges_of_a_node_to_itself_or_to_a_near_sink_do_not_set_the_scale_of_a_graph(
    view: Any, attention: Any
) -> None:
    seen = view(attention)
    assert attention.sinks == ()
    scores = af.rollout(attention).scores
    other = np.where(np.eye(9, dtype=bool), 0.0, scores)[..., 1:].max()  # 0 is a near-sink
    assert f"≥ {other:.3f}" in seen.panel("rollout").locator(".legend").inner_text()


def test_saturation_is_that_of_the_shown_position_alone(view: Any) -> None:
    """As `flow(queries=q)` marks it; the layer is not saturated for all positions."""
    attention = random_attention(4, 2, 6, seed=24)
    alone = [af.flow(attention, queries=query).saturated[3] for query in range(6)]
    assert not af.flow(attention).saturated[3]
    assert set(alone) == {True, False}
    for query, saturated in enumerate(alone):
        # Flow of all positions, and of one that the page solves itself.
        for settings in ({}, {"flow_queries": (query + 1) % 6}):
            seen = view(attention, state=f"query={query}", sinks="keep", **settings)
            seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
            assert ("Flow is saturated at layer 4" in seen.notes("flow")) is saturated


def test_flat_flow_is_said_to_be(view: Any) -> None:
    flat = af.TokenAttention(
        [[[0.9, 0.6, 0.6, 0.6]]], [*"abcd"], [6], [0], "flow", flat=[[True]]
    )  # fmt: skip
    seen = view(flat)
    assert "Flow is flat at layer 6: all tokens but the position's own" in seen.notes("flow")
    uneven = af.TokenAttention([[[0.9, 0.1, 0.6, 0.6]]], [*"abcd"], [6], [0], "flow")
    assert "flat" not in view(uneven).notes("flow")


def _mostly_own(n: int) -> af.Attention:
    """Half of the positions attend mostly to themselves, so that their flow is flat."""
    rng = np.random.default_rng(0)
    weights = rng.random((4, 1, n, n)) + 0.5
    weights[:, :, : n // 2] *= 0.05
    weights[:, :, np.arange(n // 2), np.arange(n // 2)] += n
    return af.Attention(weights / weights.sum(axis=3, keepdims=True), [*"abcdefghij"[:n]])


@pytest.mark.parametrize("residual", [0.5, 0.25])
def test_flow_that_the_page_solves_itself_is_said_to_be_flat(view: Any, residual: float) -> None:
    attention = _mostly_own(8)
    state = "" if residual == 0.5 else f"&residual={residual}"
    flat = af.flow(attention.graph(residual=residual)).flat[3]
    assert set(flat) == {True, False}
    for query, expected in enumerate(flat):
        seen = view(attention, state=f"query={query}{state}", flow_queries=(query + 1) % 8)
        seen.panel("flow").locator(".notes", has_not_text="Solving").wait_for()
        assert ("Flow is flat at layer 4" in seen.notes("flow")) == expected


def test_flow_that_is_the_same_for_all_positions_needs_no_ceiling(view: Any) -> None:
    wide, narrow = np.full((2, 2), 0.5), 0.1 * np.eye(2)
    graph = af.AttentionGraph([wide, narrow, wide], ["a", "b"])
    assert af.flow(graph).saturated[2]
    assert not af.flow(graph, layers=3, queries=0).saturated[0]
    note = "Flow is saturated at layer 3: it is the same for every position"
    assert note in view(graph).notes("flow")
    # Of one position alone nothing says that it is the same as others.
    assert "saturated" not in view(graph, flow_queries=0).notes("flow")


def test_uniform_flow_of_the_document_is_not_solved_again(
    modules: Any, decoder: af.Attention
) -> None:
    solved = modules.evaluate(
        """async (data) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const scheduler = new Scheduler(() => {});
            scheduler.start();
            const scores = new Scores(data, scheduler);
            const settings = { ...scores.defaults, head: 1 };
            while (scores.overview("flow", settings, true).missing) {
                await new Promise((done) => setTimeout(done));
            }
            return [scores.solver.solved, scores.field.solver.solved];
        }""",
        page_data(decoder, sinks="keep"),
    )
    assert solved == [3 * len(TOKENS), 0]


def test_other_edges_say_what_only_attention_has(view: Any, decoder: af.Attention) -> None:
    """Switching the edges would otherwise change three things without a word."""
    sunk = af.Attention(_with_sink(decoder.weights, 0), TOKENS, causal=True)
    assert sunk.sinks
    seen = view({"attention": sunk, "mine": sunk.graph()})
    said = "no sinks removed · not corrected for the receptive field"
    assert said not in seen.caption()
    _ = seen.page.locator(".control:has(> span:text-is('Edges')) select").select_option("mine")
    seen.settled()
    assert said in seen.caption()
    alone = view(sunk.graph())
    assert "corrected" not in alone.caption()
