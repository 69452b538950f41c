"""What the page computes is what Python computes."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow import paper
from attnflow.importance import Importance
from attnflow.types import random_attention
from attnflow.view import page_data

METHODS = {
    "Raw attention": af.raw, "Attention rollout": af.rollout, "Attention flow": af.flow,
}  # fmt: skip


@pytest.mark.parametrize("title", METHODS)
@pytest.mark.parametrize(("layer", "query"), [(4, 0), (2, 7), (1, 3)])
def test_scores_of_a_position_are_those_of_python(
    view: Any, attention: Any, close: Any, title: str, layer: int, query: int
) -> None:
    seen = view(attention, state=f"layer={layer}&query={query}")
    expected = METHODS[title](attention).row(layer, query)
    assert close(seen.column(title), expected)


@pytest.mark.parametrize("title", METHODS)
def test_a_head_alone_stands_at_the_layer_that_attends(
    view: Any, attention: Any, close: Any, title: str
) -> None:
    seen = view(attention, state="layer=3&query=2&head=1")
    expected = METHODS[title](attention, head=1).row(3, 2)
    assert close(seen.column(title), expected)


@pytest.mark.parametrize("title", ["Attention rollout", "Attention flow"])
def test_another_residual_gives_another_graph(
    view: Any, attention: Any, close: Any, title: str
) -> None:
    seen = view(attention, state="layer=4&query=1&residual=0.25")
    expected = METHODS[title](attention.graph(residual=0.25)).row(4, 1)
    assert close(seen.column(title), expected)


@pytest.mark.parametrize("title", METHODS)
def test_words_are_merged_as_python_merges_them(
    view: Any, attention: Any, close: Any, title: str
) -> None:
    seen = view(attention, state="layer=4&query=3&words=1")
    expected = METHODS[title](attention).to_words()
    word = expected.tokens.index("keys")
    assert [row[1] for row in seen.table()[1]] == list(expected.tokens)
    assert close(seen.column(title), expected.row(4, word))


def test_rows_can_be_made_to_sum_to_one(view: Any, attention: Any, close: Any) -> None:
    seen = view(attention, state="layer=4&query=0&normal=1")
    assert close(seen.column("Attention flow"), af.flow(attention).normalized().row(4, 0))


def test_importance_is_shown_next_to_the_scores(view: Any, attention: Any, close: Any) -> None:
    values = np.linspace(-0.5, 0.5, attention.n_tokens)
    seen = view(attention, importance=Importance(values, attention.tokens, "blank_out"))
    assert close(seen.column("blank-out"), values)
    assert "blank-out" not in seen.caption()  # what took the place of tokens is not known


def test_the_settings_say_what_blank_out_puts_in(view: Any) -> None:
    shipped = paper.load()
    text = "the key to the cabinets"
    seen = view(af.explain(shipped.model, shipped.tokenizer, text))
    assert seen.caption().endswith(" · blank-out with [PAD]")
    mean = view(af.explain(shipped.model, shipped.tokenizer, text, replace="mean"))
    assert mean.caption().endswith(" · blank-out with the mean embedding")


def test_the_settings_name_the_answers_that_importance_is_of(view: Any) -> None:
    shipped = paper.load()
    text = "the key to the cabinets"
    asked: Any = {"target": "plural", "against": "singular"}
    seen = view(af.explain(shipped.model, shipped.tokenizer, text, **asked))
    assert "· importance: plural against singular · blank-out with" in seen.caption()
    plain = view(af.explain(shipped.model, shipped.tokenizer, text))
    assert "· input gradient: singular against plural · blank-out with" in plain.caption()
    other = view(af.explain(shipped.model, shipped.tokenizer, text, target="plural"))
    assert "· blank-out: plural · input gradient: plural against singular ·" in other.caption()


def test_maximum_flows_have_their_certificates(modules: Any, family: Any, certify: Any) -> None:
    """Random graphs of all kinds; a flow of the page is checked by itself, and against Python's."""
    rng = np.random.default_rng(11)
    for _ in range(3):
        graph = af.AttentionGraph(family(rng))
        source = int(rng.integers(graph.sizes[-1]))
        sink = int(rng.integers(graph.sizes[0]))
        # JSON has no infinity, so it travels as a number that no weight is.
        sent = [np.where(np.isinf(w), -1.0, w).ravel().tolist() for w in graph.layers]
        found = modules.evaluate(
            """async ([layers, sizes, source, sink]) => {
                const { maxFlow, flowLimit, flowRow } = await import("/compute/maxflow.js");
                const { networkSteps } = await import("/compute/network.js");
                const finish = (steps) => {
                    for (;;) {
                        const { done, value } = steps.next();
                        if (done) return value;
                    }
                };
                const bound = (weight) => (weight < 0 ? Infinity : weight);
                const capacities = layers.map((layer) => Float64Array.from(layer, bound));
                const pair = maxFlow(capacities, sizes, source, sink);
                const lists = (arrays) => arrays.map((each) => [...each]);
                const limit = flowLimit(capacities, sizes, source);
                const network = finish(networkSteps(capacities, sizes, limit));
                const row = [...finish(flowRow(network, capacities, source))];
                return { ...pair, flows: lists(pair.flows), cut: lists(pair.cut), row };
            }""",
            [sent, list(graph.sizes), source, sink],
        )
        expected = af.max_flow(graph, source=(graph.n_layers, source), sink=sink)
        together = af.flow(graph, layers=graph.n_layers, queries=source).scores[0, 0]
        row = np.array(found["row"])
        bound = np.isinf(together)
        assert np.array_equal(np.isinf(row), bound)
        # All sinks share one unit of capacity, which the most that leaves the source limits.
        assert np.allclose(row[~bound], together[~bound], rtol=1e-9, atol=1e-9)
        if expected.value == np.inf:
            assert found["value"] == np.inf
            continue
        flows = zip(found["flows"], graph.layers, strict=True)
        solved = af.MaxFlow(
            value=found["value"],
            flows=tuple(np.reshape(flow, weights.shape) for flow, weights in flows),
            cut=tuple(np.array(side, dtype=bool) for side in found["cut"]),
            cut_value=found["cutValue"],
        )  # fmt: skip
        certify(graph.layers, solved, (graph.n_layers, source), sink)
        assert np.isclose(solved.value, expected.value, rtol=1e-9, atol=1e-12)


def test_the_strongest_edges_are_the_strongest(modules: Any) -> None:
    values = np.random.default_rng(2).random(40_000).astype(np.float32)
    found = modules.evaluate(
        """async (values) => {
            const { topEdges } = await import("/compute/top-edges.js");
            const block = { from: 1, to: 0, columns: 200, values: Float32Array.from(values) };
            const { edges, omitted, omittedShare } = topEdges([block], 500);
            const places = edges.map(({ above, below }) => 200 * above + below);
            return { places, omitted, omittedShare };
        }""",
        values.tolist(),
    )
    chosen = found["places"]
    assert 300 < len(chosen) <= 500
    assert set(chosen) == set(np.argsort(values)[-len(chosen) :].tolist())
    assert found["omitted"] == 40_000 - len(chosen)
    assert found["omittedShare"] == pytest.approx(1 - values[chosen].sum() / values.sum(), abs=1e-6)


def test_of_equal_edges_some_of_every_layer_are_drawn(modules: Any) -> None:
    layers = modules.evaluate(
        """async () => {
            const { topEdges } = await import("/compute/top-edges.js");
            const values = new Float32Array(10000).fill(0.01);
            const blocks = [1, 2, 3].map((from) => ({ from, to: from - 1, columns: 100, values }));
            return topEdges(blocks, 600).edges.map((edge) => edge.block.from);
        }"""
    )
    assert 300 < len(layers) <= 600
    assert min(layers.count(layer) for layer in (1, 2, 3)) > 90


def test_an_encoder_decoder_is_one_graph(view: Any, close: Any) -> None:
    rng = np.random.default_rng(0)
    encoder, decoder, cross = (rng.random((2, 2, *size)) for size in ((5, 5), (4, 4), (4, 5)))
    decoder = np.tril(decoder + 0.01)
    whole = [part / part.sum(axis=-1, keepdims=True) for part in (encoder, decoder, cross)]
    both = af.EncoderDecoderAttention(whole[0], whole[1], whole[2], [*"abcde"], [*"vwxy"])
    seen = view(both)
    assert "position 8 y" in seen.caption()
    assert close(seen.column("Attention rollout"), af.rollout(both).row(6, 8))
    assert close(seen.column("Attention flow"), af.flow(both).row(6, 8))


def test_scores_alone_are_shown_as_they_are(view: Any, attention: Any, close: Any) -> None:
    some: Any = {"layers": [2, 4], "queries": [1, 6]}
    seen = view(
        [af.rollout(attention, **some), af.flow(attention, **some)], state="layer=2&query=6"
    )
    assert seen.panel("raw").count() == 0
    assert close(seen.column("Attention rollout"), af.rollout(attention).row(2, 6))
    assert "positions 1, 6 only" in seen.notes("flow")
    assert len(seen.lines("flow")) > 10


def test_a_graph_of_layers_of_other_sizes_is_drawn_to_its_tokens(view: Any, close: Any) -> None:
    rng = np.random.default_rng(3)
    graph = af.AttentionGraph([rng.random((3, 5)), rng.random((4, 3))], [*"abcde"])
    seen = view(graph, state="query=2")
    assert close(seen.column("Attention rollout"), af.rollout(graph, layers=2).row(2, 2))
    assert seen.table()[1][0][2] == "not computed"  # raw attention of layer 2 is not to tokens
    assert len(seen.lines("rollout")) == 7 * 5


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(("layer", "node"), [(3, 20), (1, 5), (0, 2)])
def test_edges_that_are_left_out_are_counted_as_numpy_counts_them(
    modules: Any, words: bool, layer: int, node: int
) -> None:
    """Causal attention, half of whose edges have no weight: those are not left out."""
    size = 40
    tokens = [f"##t{at}" if at % 4 == 1 else f"t{at}" for at in range(size)]
    text = "".join(token[2:] if token[:2] == "##" else f" {token}" for token in tokens).strip()
    weights = random_attention(4, 1, size, causal=True, tokens=tokens).weights
    data = page_data(af.Attention(weights, tokens, origin=af.Origin(text=text)), sinks="keep")
    found = modules.evaluate(
        """async ([data, words, layer, position]) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const { Level } = await import("/compute/level.js");
            const { nodeEdges } = await import("/compute/highlight.js");
            const { topEdges } = await import("/compute/top-edges.js");
            const scores = new Scores(data, new Scheduler(() => {}));
            const level = new Level(data, words);
            const at = { layer, node: level.nodeOf(position) };
            const blocks = nodeEdges(scores, "rollout", level, at, 4, scores.defaults, 0.2);
            const { edges, omitted, omittedShare } = topEdges(blocks, 400, 0.2);
            const sum = edges.reduce((sum, { value }) => sum + value, 0);
            return { shown: edges.length, omitted, omittedShare, sum, words: data.words.pieces };
        }""",
        [data, words, layer, node],
    )
    pieces = found["words"] if words else [[at] for at in range(size)]
    assert len(pieces) == (30 if words else size)
    taking = np.array([[float(at in each) for at in range(size)] for each in pieces])
    mean = taking / taking.sum(axis=1, keepdims=True)
    start = mean[[node in each for each in pieces]][0]
    graph = attention_layers(weights)
    masses: list[Any] = []
    down = start
    for matrix in reversed(graph[:layer]):
        masses.append(taking @ (down[:, None] * matrix) @ taking.T)
        down = down @ matrix
    up = (start > 0).astype(float)
    for matrix in graph[layer:]:
        masses.append(mean @ (matrix * up) @ taking.T)
        up = matrix @ up
    assert found["shown"] + found["omitted"] == sum(int((mass > 0).sum()) for mass in masses)
    total = sum(mass.sum() for mass in masses)
    assert found["omittedShare"] == pytest.approx(1 - found["sum"] / total, abs=1e-3)
    assert found["omitted"] > 100


def attention_layers(weights: Any) -> list[Any]:
    """0.5 W + 0.5 I, heads averaged."""
    return [0.5 * each.mean(axis=0) + 0.5 * np.eye(each.shape[-1]) for each in np.asarray(weights)]


def test_what_was_solved_is_kept_for_a_while_and_not_for_ever(attention: Any, modules: Any) -> None:
    kept = modules.evaluate(
        """async (data) => {
            const { Scores } = await import("/compute/scores.js");
            const { Scheduler } = await import("/compute/scheduler.js");
            const scheduler = new Scheduler(() => {});
            scheduler.started = true;
            const { solver } = new Scores(data, scheduler);
            for (let step = 1; step < 30; step++) {
                const settings = { head: -1, residual: step / 100 };
                for (const _ of solver.solveRow(1, 0, settings));
                solver.pair(2, 0, step % 9, settings);
            }
            const last = solver.cachedRow(1, 0, { head: -1, residual: 0.29 });
            return [solver.rows.size, solver.pairs.size, last.length];
        }""",
        page_data(attention),
    )
    assert kept == [8, 4, 9]
