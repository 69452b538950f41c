"""The document of a page: for everything that can be shown, the numbers of the library."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow import edges, paper
from attnflow.evaluate import Explanation, explain
from attnflow.importance import Importance, Prediction
from attnflow.models import Loaded
from attnflow.types import random_attention
from attnflow.view import page_data, to_html
from attnflow.view._data import VERSION
from attnflow.view._picture import draw
from sink_models import put_in_sinks, with_sink

Decoded = Callable[[dict[str, Any]], NDArray[np.float64]]
TOKENS = ["[CLS]", "the", "key", "##s"]
ORIGIN = af.Origin(spans=(None, (0, 3), (4, 7), (7, 8)), text="the keys")
FIELDS = [
    "version", "title", "text", "spans", "words", "texts", "tokens", "sizes", "names",
    "layer_names", "causal", "generated", "grid", "keep_sinks", "receptive_field", "edges", "sinks",
    "sinks_note", "attention",
    "graph", "graph_residual", "scores", "other_edges", "importance", "prediction", "layer",
    "query",
]  # fmt: skip


@pytest.fixture(scope="module")
def attention() -> af.Attention:
    weights = random_attention(3, 2, 4, seed=1).weights
    return af.Attention(weights, TOKENS, origin=ORIGIN)


@pytest.fixture(scope="module")
def encoder_decoder() -> af.EncoderDecoderAttention:
    both = random_attention(2, 2, 5, seed=2)
    decoder = random_attention(2, 2, 3, seed=3, causal=True)
    cross = both.weights[:, :, :3]
    source, target = ["a", "b", "c", "d", "e"], ["<s>", "x", "y"]
    return af.EncoderDecoderAttention(both.weights, decoder.weights, cross, source, target)


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    shipped = paper.load()
    return explain(shipped.model, shipped.tokenizer, "the key to the cabinets", layer=4)


def test_attention_is_there_within_a_step_of_16_bits(
    attention: af.Attention, decoded: Decoded
) -> None:
    document = page_data(attention)
    assert list(document) == FIELDS
    mean = np.stack(attention.graph(residual=0).layers)
    assert np.abs(decoded(document["attention"]["mean"]) - mean).max() <= 1 / 65535
    heads = decoded(document["attention"]["heads"])
    assert heads.shape == attention.weights.shape
    assert np.abs(heads - attention.weights).max() <= 1 / 65535
    assert document["attention"]["residual"] == 0.5
    assert document["tokens"] == ["[CLS]", "the", "key", "s"]
    assert document["sizes"] == [4, 4, 4, 4]
    assert (document["layer"], document["query"]) == (3, 0)
    assert document["graph"] is document["names"] is document["prediction"] is None


def test_flow_is_that_of_the_library(attention: af.Attention, decoded: Decoded) -> None:
    (scores,) = page_data(attention)["scores"]
    expected = af.flow(attention)
    assert (scores["method"], scores["layers"], scores["queries"]) == (
        "flow",
        [1, 2, 3],
        [*range(4)],
    )
    assert np.array_equal(decoded(scores["values"]), expected.scores.astype(np.float32))
    assert scores["saturated"] == list(expected.saturated)
    assert scores["flat"] == expected.flat.tolist()
    assert scores["settings"] == dict(expected.settings)


def test_flow_is_without_sinks_unless_they_are_kept(decoded: Decoded) -> None:
    weights = random_attention(3, 2, 4, seed=1).weights / 4
    weights[..., 0] += 0.75
    sunk = af.Attention(weights, TOKENS)
    document = page_data(sunk)
    assert (document["sinks"], document["keep_sinks"]) == ([0], False)
    assert document["sinks_note"].startswith("position 0 [CLS] receives")
    for kept, without in ((document, (0,)), (page_data(sunk, sinks="keep"), ())):
        expected = af.flow(sunk, without=without).scores
        assert np.array_equal(decoded(kept["scores"][0]["values"]), expected.astype(np.float32))
    assert page_data(sunk, sinks="keep")["keep_sinks"] is True
    mean = np.stack(sunk.graph(residual=0).layers)  # the page can put them back
    assert np.abs(decoded(document["attention"]["mean"]) - mean).max() <= 1 / 65535


def test_a_decoder_opens_corrected_unless_it_is_said_not_to(decoded: Decoded) -> None:
    decoder = random_attention(3, 2, 5, seed=1, causal=True)
    document = page_data(decoder, sinks="keep")
    assert document["receptive_field"] is True
    (flows,) = document["scores"]
    shares = decoded(flows["values"]) / np.where(
        decoded(flows["uniform"]) > 0, decoded(flows["uniform"]), 1.0
    )
    expected = af.flow(decoder, receptive_field=True).scores
    assert np.allclose(shares / shares.sum(axis=2, keepdims=True), expected, atol=1e-6)
    assert page_data(decoder, receptive_field=False)["receptive_field"] is False
    assert page_data({"mine": decoder.graph(), "attention": decoder})["receptive_field"] is True


def test_uniform_flow_is_without_the_sinks_that_are_taken_out(decoded: Decoded) -> None:
    decoder = with_sink(random_attention(3, 2, 6, seed=2, causal=True), 0)
    document = page_data(decoder)
    assert document["sinks"] == [0]
    (flows,) = document["scores"]
    uniform = af.Attention(np.tril(np.ones((3, 1, 6, 6))) / np.arange(1, 7)[:, None], causal=True)
    expected = af.flow(uniform, without=0).scores
    assert np.allclose(decoded(flows["uniform"]), expected, atol=1e-6)


def test_only_attention_of_a_decoder_can_be_corrected(attention: af.Attention) -> None:
    document = page_data(attention)
    assert (document["receptive_field"], document["scores"][0]["uniform"]) == (False, None)
    for shown in (attention, random_attention(3, 2, 5, causal=True).graph()):
        with pytest.raises(af.InputError, match="receptive_field=True is only for causal"):
            _ = page_data(shown, receptive_field=True)
    with pytest.raises(af.InputError, match="receptive_field must be a bool"):
        _ = page_data(attention, receptive_field=1)  # pyright: ignore[reportArgumentType]


def test_nothing_is_taken_out_where_nothing_would_remain() -> None:
    weights = [[[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 0.0], [1.0, 0.0]]]]
    attention = af.Attention(weights)
    assert {sink.position for sink in attention.sinks} == {0, 1}
    assert page_data(attention)["sinks"] == []


def test_generated_text_opens_where_its_first_token_was_written() -> None:
    weights = random_attention(2, 1, 6, causal=True).weights
    tokens, origin = [*"abcdef"], af.Origin(generated=2)
    attention = af.Attention(weights, tokens, causal=True, origin=origin)
    shown: Any
    for shown in (attention, attention.graph(), af.rollout(attention)):
        document = page_data(shown)
        assert (document["generated"], document["query"]) == (2, 3)
    assert page_data(af.Attention(weights, tokens, causal=True))["query"] == 5


def test_layers_of_an_encoder_decoder_are_named(
    encoder_decoder: af.EncoderDecoderAttention,
) -> None:
    names = [
        "input", "encoder 1", "encoder 2", "decoder 1 self", "decoder 1 cross", "decoder 2 self",
        "decoder 2 cross",
    ]  # fmt: skip
    assert page_data(encoder_decoder)["layer_names"] == names
    assert page_data(af.rollout(encoder_decoder))["layer_names"] == names


def test_texts_of_encoder_and_decoder_are_told_apart(
    encoder_decoder: af.EncoderDecoderAttention,
) -> None:
    assert page_data(encoder_decoder)["texts"] is None
    source, target = [(0, 1), (2, 3), (4, 5), (6, 7), None], [None, (8, 9), (10, 11)]
    origin = af.Origin(spans=(*source, *target), text="a b c d\nx y")
    weights = (encoder_decoder.encoder, encoder_decoder.decoder, encoder_decoder.cross)
    both = af.EncoderDecoderAttention(*weights, origin=origin)
    assert page_data(both)["texts"] == ["a b c d", "x y"]
    assert "a b c d → x y</title>" in to_html(both)


def test_patches_of_an_image_are_a_grid() -> None:
    origin = af.Origin(grid=af.Grid(rows=2, columns=3, prefix=1))
    weights = random_attention(2, 1, 7).weights
    grid = page_data(af.Attention(weights, origin=origin))["grid"]
    assert grid == {"rows": 2, "columns": 3, "prefix": 1}


def test_words_of_the_page_give_the_scores_of_words(
    attention: af.Attention, decoded: Decoded
) -> None:
    document = page_data(attention)
    values = decoded(document["scores"][0]["values"])
    pieces = document["words"]["pieces"]
    expected = af.flow(attention).to_words()
    assert tuple(document["words"]["names"]) == expected.tokens
    summed = np.stack([values[:, :, each].sum(axis=2) for each in pieces], axis=2)
    merged = np.stack([summed[:, each].mean(axis=1) for each in pieces], axis=1)
    assert np.allclose(merged, expected.scores, atol=1e-6)


def test_tokens_have_the_names_that_people_write() -> None:
    weights = [[[[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]]]
    assert page_data(af.Attention(weights, ["<s>", "ĠParis", "Ġ"]))["tokens"] == [
        "<s>", "Paris", "␣",
    ]  # fmt: skip


def test_a_predicted_token_has_the_name_that_people_write() -> None:
    prediction = Prediction("Ġhis", {"Ġhis": 0.5, "Ġher": 0.25}, position=0)
    found = page_data(af.Attention([[[[1.0]]]], ["a"]), prediction=prediction)["prediction"]
    assert found == {"label": "his", "probabilities": {"his": 0.5, "her": 0.25}, "position": 0}
    assert "<th>his</th>" in prediction._repr_html_()
    both = Prediction("Ġhis", {"Ġhis": 0.5, "his": 0.25})  # two spellings stay two
    found = page_data(af.Attention([[[[1.0]]]], ["a"]), prediction=both)["prediction"]
    assert found["probabilities"] == {"␣his": 0.5, "his": 0.25}


def test_every_document_is_json_that_a_browser_reads(
    attention: af.Attention,
    encoder_decoder: af.EncoderDecoderAttention,
    explanation: Explanation,
) -> None:
    scores = [af.raw(attention), af.rollout(attention)]
    several = {"attention": attention, "mine": attention.graph(heads="max")}
    shown: Any
    for shown in (
        attention, encoder_decoder, attention.graph(), scores, scores[0], explanation, several,
    ):  # fmt: skip
        document = page_data(shown)
        assert list(document) == FIELDS
        assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_causal_attention_begins_at_its_last_position() -> None:
    document = page_data(random_attention(2, 1, 5, causal=True))
    assert (document["causal"], document["query"]) == (True, 4)


def test_an_encoder_decoder_is_a_graph_with_unbounded_edges(
    encoder_decoder: af.EncoderDecoderAttention, decoded: Decoded
) -> None:
    document = page_data(encoder_decoder)
    graph = encoder_decoder.graph()
    for encoded, layer in zip(document["graph"], graph.layers, strict=True):
        assert np.array_equal(decoded(encoded), layer.astype(np.float32))
    assert np.isinf(decoded(document["graph"][0])).any()
    assert document["tokens"] == [*encoder_decoder.tokens]
    assert document["query"] == 7  # the last of the target
    assert document["graph_residual"] == graph.settings["residual"]
    (scores,) = document["scores"]
    expected = af.flow(encoder_decoder, without=document["sinks"]).scores
    assert np.array_equal(decoded(scores["values"]), expected.astype(np.float32))


def test_a_graph_of_layers_of_different_sizes_names_its_nodes(decoded: Decoded) -> None:
    rng = np.random.default_rng(0)
    matrices = [rng.random(shape) for shape in ((4, 3), (2, 4), (3, 2))]
    graph = af.AttentionGraph(matrices, ["a", "b", "c"])
    document = page_data(graph, layer=2, query=1)
    assert document["sizes"] == [3, 4, 2, 3]
    assert document["names"] == [["a", "b", "c"], [*"0123"], ["0", "1"], ["a", "b", "c"]]
    for encoded, matrix in zip(document["graph"], matrices, strict=True):
        assert np.abs(decoded(encoded) - matrix).max() <= 1 / 65535
    (scores,) = document["scores"]
    assert scores["queries"] == [0, 1]  # those that every layer has
    expected = af.flow(graph, queries=[0, 1])
    assert np.allclose(decoded(scores["values"]), expected.scores, atol=1e-6)
    (beyond,) = page_data(graph, flow_queries=[2])["scores"]
    assert beyond["layers"] == [1, 3]


def test_heavy_edges_are_kept_as_they_are(decoded: Decoded) -> None:
    graph = af.AttentionGraph([[[3.0, 1e-6], [0.0, 2.5]]])
    (encoded,) = page_data(graph)["graph"]
    assert encoded["type"] == "f4"
    assert np.allclose(decoded(encoded), graph.layers[0], rtol=1e-7)


def test_a_graph_with_a_single_head_at_the_top_comes_as_scores(
    attention: af.Attention, decoded: Decoded
) -> None:
    document = page_data(attention.graph(head=1))
    assert document["graph"] is document["attention"] is None
    graph = attention.graph(head=1)
    for scores, method in zip(document["scores"], (af.raw, af.rollout, af.flow), strict=True):
        assert scores["method"] == method.__name__
        assert np.allclose(decoded(scores["values"]), method(graph).scores, atol=1e-6)


def test_scores_are_shown_unchanged(attention: af.Attention, decoded: Decoded) -> None:
    given = [af.rollout(attention, layers=[2, 3], queries=[1, 2]), af.flow(attention, queries=2)]
    document = page_data(given)
    assert document["attention"] is document["graph"] is None
    assert [each["method"] for each in document["scores"]] == ["rollout", "flow"]
    for scores, expected in zip(document["scores"], given, strict=True):
        assert scores["layers"] == list(expected.layers)
        assert scores["queries"] == list(expected.queries)
        assert np.allclose(decoded(scores["values"]), expected.scores, atol=1e-6)
    assert (document["layer"], document["query"]) == (3, 2)  # which both have
    assert document["words"]["names"] == ["[CLS]", "the", "keys"]


def test_scores_to_a_hidden_layer_or_to_words_have_no_text(attention: af.Attention) -> None:
    assert page_data(af.rollout(attention, onto=1))["text"] is None
    words = page_data(af.rollout(attention).to_words())
    assert (words["tokens"], words["words"]) == (["[CLS]", "the", "keys"], None)


def test_scores_to_segments_number_the_positions_that_attend() -> None:
    settings = {"segments": "words"}
    scores = af.TokenAttention(np.ones((1, 5, 2)), ["a", "b"], [3], range(5), "rollout", settings)
    document = page_data(scores)
    assert document["sizes"] == [2, 5, 5, 5]
    assert document["names"] == [["a", "b"], *[[*"01234"]] * 3]


def test_an_explanation_brings_everything(explanation: Explanation, decoded: Decoded) -> None:
    document = page_data(explanation)
    assert document["text"] == "the key to the cabinets"
    assert document["tokens"] == [*explanation.tokens]
    assert (document["layer"], document["query"]) == (4, 0)
    assert document["prediction"] == {
        "label": "singular",
        "probabilities": dict(explanation.prediction.probabilities),
        "position": None,
    }
    assert [each["method"] for each in document["importance"]] == ["blank_out", "input_gradient"]
    for each in document["importance"]:
        assert each["values"] == explanation.importance[each["method"]].values.tolist()
    flows = decoded(document["scores"][0]["values"])
    assert np.allclose(flows[3, 0], explanation.scores["flow"].scores[0, 0], atol=1e-6)


@pytest.mark.parametrize("sinks", ["remove", "keep"])
@pytest.mark.parametrize("receptive_field", [True, False])
def test_a_page_opens_as_its_explanation_was_made(
    decoded: Decoded,
    small_gpt: Loaded,
    monkeypatch: pytest.MonkeyPatch,
    sinks: Any,
    receptive_field: bool,
) -> None:
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 0)
    made: dict[str, Any] = {"sinks": sinks, "receptive_field": receptive_field}
    e = explain(small_gpt.model, small_gpt.tokenizer, "The author talked to Sara about", **made)
    document = page_data(e)
    assert (document["keep_sinks"], document["receptive_field"]) == (
        sinks == "keep",
        receptive_field,
    )
    (flows,) = document["scores"]
    place = (flows["layers"].index(e.layer), flows["queries"].index(e.query))
    row = decoded(flows["values"])[place]
    if receptive_field:
        seen = decoded(flows["uniform"])[place]
        row = np.divide(row, seen, out=np.zeros_like(row), where=seen > 0)
        row /= row.sum()
    assert np.allclose(row, e.scores["flow"].scores[0, 0], atol=1e-5)
    caption = " ".join(" ".join(ax.get_title() for ax in draw(e, {}).axes).split())
    assert ("sinks removed" in caption) is (sinks == "remove")
    assert ("receptive field" in caption) is receptive_field
    other = page_data(e, sinks="remove", receptive_field=not receptive_field)  # said explicitly
    assert (other["keep_sinks"], other["receptive_field"]) == (False, not receptive_field)


def test_scores_without_paths_do_not_say_whether_the_page_corrects(small_gpt: Loaded) -> None:
    e = explain(small_gpt.model, small_gpt.tokenizer, "The author talked", methods=["raw"])
    assert not e.receptive_field
    assert page_data(e)["receptive_field"] is True


def test_the_answers_that_importance_is_of_are_named() -> None:
    shipped = paper.load()
    text = "the key to the cabinets"
    e = explain(shipped.model, shipped.tokenizer, text, target="plural", against="singular")
    found = page_data(e)["importance"]
    assert [(each["target"], each["against"]) for each in found] == [("plural", "singular")] * 2
    alone = page_data(explain(shipped.model, shipped.tokenizer, text))["importance"]
    assert (alone[0]["target"], alone[0]["against"]) == ("singular", None)


def test_the_answers_of_contributions_to_a_logit_are_named_too() -> None:
    shipped, answers = paper.load(), {"target": "plural", "against": "singular"}
    given: Any = shipped.model, shipped.tokenizer, "the key to the cabinets"
    importance = edges.logit_contributions(*given, **answers)
    [found] = page_data(af.attend(*given), importance=importance)["importance"]
    assert (found["target"], found["against"]) == ("plural", "singular")


def test_answers_have_one_name_in_prediction_and_importance() -> None:
    settings = {"target_name": "\u0120his", "other_name": "\u0120her"}
    importance = Importance([0.5], ["a"], "blank_out", settings)
    attention = af.Attention([[[[1.0]]]], ["a"])
    prediction = Prediction("\u0120his", {"\u0120his": 0.5, "his": 0.25})
    document = page_data(attention, importance=importance, prediction=prediction)
    (found,) = document["importance"]
    assert found["target"] == document["prediction"]["label"] == "␣his"
    assert found["against"] == "her"


def test_what_is_at_its_ceiling_is_told_of_every_kind_of_graph(
    attention: af.Attention, encoder_decoder: af.EncoderDecoderAttention
) -> None:
    single = attention.graph(head=1)
    joined = encoder_decoder.graph(without=page_data(encoder_decoder)["sinks"])
    for shown, graph in ((single, single), (encoder_decoder, joined)):
        *others, flows = page_data(shown)["scores"]
        assert [each["at_ceiling"] for each in others] == [None] * len(others)
        for row, layer in zip(flows["at_ceiling"], flows["layers"], strict=True):
            alone = [af.flow(graph, layers=layer, queries=q).saturated[0] for q in flows["queries"]]
            assert row == list(map(int, alone))


def _other(attention: af.Attention) -> af.AttentionGraph:
    """A graph of the same tokens with other weights, rows that sum to more than one."""
    layers = 2 * random_attention(3, 1, 4, seed=7).weights[:, 0]
    return af.AttentionGraph(layers, attention.tokens, settings={"edges": "norms"})


def test_several_edge_weights_are_in_one_document(
    attention: af.Attention, decoded: Decoded
) -> None:
    graph = _other(attention)
    document = page_data({"attention": attention, "mine": graph}, query=2)
    assert document["edges"] == "attention"
    assert document["attention"]["heads"] is not None
    (other,) = document["other_edges"]
    assert (other["edges"], other["attention"]) == ("mine", None)
    for encoded, layer in zip(other["graph"], graph.layers, strict=True):
        assert np.abs(decoded(encoded) - layer).max() <= 1 / 65535
    for scores, source in ((document["scores"], attention), (other["scores"], graph)):
        (flows,) = scores
        assert np.allclose(decoded(flows["values"]), af.flow(source).scores, atol=1e-6)
    assert document["query"] == 2
    alone = page_data(attention, query=2)
    assert {**document, "other_edges": []} == alone


def test_attention_may_come_after_other_edges(attention: af.Attention) -> None:
    document = page_data({"mine": _other(attention), "attention": attention}, heads="all")
    assert document["attention"] is None
    (other,) = document["other_edges"]
    assert other["attention"]["heads"] is not None
    assert other["graph"] is None


def test_only_the_flow_of_the_queries_asked_for_is_computed_for_all_edges(
    attention: af.Attention,
) -> None:
    given = {"attention": attention, "mine": _other(attention)}
    document = page_data(given, flow_queries=[1])
    found = [document["scores"], *(other["scores"] for other in document["other_edges"])]
    assert [scores[0]["queries"] for scores in found] == [[1], [1]]


def test_edges_are_named_by_how_a_graph_was_made(attention: af.Attention) -> None:
    graph = _other(attention)
    shown = [
        attention,
        attention.graph(),
        graph,
        af.rollout(graph),
        [af.raw(graph), af.flow(graph)],
    ]
    names = [page_data(each)["edges"] for each in shown]
    assert names == ["attention", None, "norms", "norms", "norms"]
    assert page_data([af.raw(attention), af.flow(graph)])["edges"] is None


def test_an_explanation_shows_the_edges_that_it_was_made_with(decoded: Decoded) -> None:
    shipped = paper.load()
    made = explain(shipped.model, shipped.tokenizer, "the key", edges=("norms", "attention"))
    document = page_data(made)
    assert (document["edges"], document["attention"]) == ("norms", None)
    assert [other["edges"] for other in document["other_edges"]] == ["attention"]
    flows = decoded(document["scores"][0]["values"])
    assert np.allclose(flows[5, 0], made.scores["flow"].scores[0, 0], atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_progress_counts_the_flow_of_all_edges(causal: bool) -> None:
    steps: list[tuple[int, int]] = []
    attention = random_attention(3, 2, 4, seed=1, causal=causal)
    given = {"attention": attention, "mine": _other(attention)}
    _ = page_data(given, progress=lambda done, total: steps.append((done, total)))
    assert len({total for _, total in steps}) == 1
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert steps[-1][0] == steps[-1][1]


def test_importance_and_prediction_may_be_shown_with_attention(attention: af.Attention) -> None:
    importance = Importance([0.0, 0.1, 0.5, -0.2], TOKENS, "gradient_x_input")
    prediction = Prediction("yes", {"yes": 0.8, "no": 0.2}, 3)
    for given in (importance, [importance]):
        document = page_data(attention, importance=given, prediction=prediction)
        assert document["importance"] == [
            {
                "method": "gradient_x_input", "values": [0.0, 0.1, 0.5, -0.2],
                "replaced_by": None, "target": None, "against": None,
            }
        ]  # fmt: skip
    assert document["prediction"]["position"] == 3


@pytest.mark.parametrize(("heads", "there"), [(None, False), ("mean", False), ("all", True)])
def test_heads_beyond_8_mb_are_left_out_by_default(heads: Any, there: bool) -> None:
    weights = np.full((12, 16, 126, 126), 1 / 126, dtype=np.float32)
    document = page_data(af.Attention(weights), heads=heads, flow_queries=())
    assert (document["attention"]["heads"] is not None) == there


def test_flow_of_a_long_input_is_of_the_shown_query_alone() -> None:
    long = random_attention(2, 1, 65)
    (scores,) = page_data(long, query=7)["scores"]
    assert scores["queries"] == [7]
    (scores,) = page_data(long, flow_queries=[2, 1])["scores"]
    assert scores["queries"] == [2, 1]
    assert page_data(long, flow_queries=())["scores"] == []
    deep = random_attention(60, 1, 30)  # more pairs than 12 layers of 64 tokens
    assert page_data(deep)["scores"][0]["queries"] == [0]


def test_progress_that_cannot_be_called_is_an_error(attention: af.Attention) -> None:
    progress: Any = 5
    with pytest.raises(af.InputError, match="progress: expected a function"):
        _ = page_data(attention, progress=progress)


def test_flow_reports_progress_and_can_be_stopped(attention: af.Attention) -> None:
    reports: list[tuple[int, int]] = []
    _ = page_data(attention, progress=lambda *count: reports.append(count))
    assert reports[-1] == (16, 16)

    def stop(_done: int, _total: int) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = page_data(attention, progress=stop)


def test_the_flow_that_the_correction_divides_by_can_be_stopped_too() -> None:
    decoder = random_attention(3, 1, 5, causal=True)
    reports: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        reports.append((done, total))
        if 2 * done > total:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = page_data(decoder, progress=stop)
    pairs = 5 * 5
    assert {total for _, total in reports} == {2 * pairs}
    assert (pairs, 2 * pairs) in reports


def _scores(attention: af.Attention) -> af.TokenAttention:
    return af.rollout(attention, queries=[1, 2], layers=[2, 3])


@pytest.mark.parametrize(
    ("shown", "settings", "message"),
    [
        (lambda _: [[1.0]], {}, "one for each method, got list at index 0"),
        (lambda a: a.weights, {}, "expected an Attention.* got ndarray"),
        (lambda _: "text", {}, "got str"),
        (lambda _: [], {}, "got an empty list"),
        (lambda a: [a, a], {}, "got Attention at index 0"),
        (lambda a: [_scores(a), _scores(a)], {}, "once, got scores of rollout, rollout"),
        (lambda a: [_scores(a), af.raw(random_attention(3, 2, 4))], {}, "of different tokens"),
        (lambda a: [_scores(a), af.flow(a, onto=1)], {}, "of different tokens"),
        (lambda _: {}, {}, "got an empty dict"),
        (lambda a: {1: a}, {}, "names of edge weights as keys, got 1"),
        (lambda a: {" ": a}, {}, "names of edge weights as keys, got ' '"),
        (lambda a: {"a": _scores(a)}, {}, "for each edge weight, got TokenAttention for 'a'"),
        (lambda a: {"a": a, "b": random_attention(3, 2, 4)}, {}, "'a' and 'b' are of different"),
        (
            lambda a: {"a": a, "b": af.AttentionGraph(a.graph().layers[:2], TOKENS)},
            {},
            "different tokens or layers",
        ),
        (lambda a: {"a": a, "b": a.graph(head=1)}, {}, "no graph of a single head"),
        (lambda a: {"a": a.graph(), "b": a.graph()}, {"heads": "all"}, "heads are fused"),
        (lambda a: a, {"layer": 4}, "layer must be 1 to 3, got 4"),
        (lambda a: a, {"layer": 0}, "layer must be .* got 0"),
        (lambda a: a, {"query": 4}, "query must be 0 to 3, got 4"),
        (lambda a: a, {"query": -1}, "query must be .* got -1"),
        (lambda a: a, {"query": "CLS"}, "query must be an integer, got 'CLS'"),
        (_scores, {"query": 0}, "query must be 1 to 2, got 0"),
        (_scores, {"layer": 1}, "layer must be 2 to 3, got 1"),
        (_scores, {"flow_queries": [1]}, "flow_queries needs an attention or a graph"),
        (lambda a: a, {"flow_queries": [4]}, "flow_queries must be from 0 to 3.* got 4"),
        (lambda a: a, {"flow_queries": [-1]}, "got -1"),
        (lambda a: a, {"flow_queries": [1, 1]}, "1, 1"),
        (lambda a: a, {"heads": True}, "heads: expected 'all', 'mean' or None, got True"),
        (lambda a: a, {"sinks": "hide"}, "sinks must be \"remove\" or \"keep\", got 'hide'"),
        (lambda a: a.graph(), {"heads": "all"}, "a graph, scores or a mean"),
        (_scores, {"heads": "all"}, "a graph, scores or a mean"),
        (lambda a: a, {"title": " "}, "title must be a non-empty str.* got ' '"),
        (lambda a: a, {"title": 3}, "title must be a non-empty str.* got 3"),
        (lambda a: a, {"threads": 0}, "threads must be 1 or more, got 0"),
        (lambda a: a, {"prediction": "yes"}, "prediction must be a Prediction, got str"),
        (lambda a: a, {"importance": 3}, "importance must be one or more Importance, got int"),
        (lambda a: a, {"importance": [3]}, "importance must be one or more Importance, got int"),
        (lambda a: a, {"importance": Importance([0.0], ["a"], "x")}, "is of 1 tokens, a"),
        (
            lambda a: a,
            {"importance": [Importance([0.0] * 4, TOKENS, "x")] * 2},
            "importance method once, got x, x",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(
    attention: af.Attention, shown: Callable[[af.Attention], Any], settings: Any, message: str
) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = page_data(shown(attention), **settings)


def test_heads_of_a_mean_are_refused() -> None:
    mean = af.Attention(random_attention(2, 1, 3).weights, averaged=True)
    assert page_data(mean)["attention"]["heads"] is None
    with pytest.raises(af.InputError, match="mean of the heads"):
        _ = page_data(mean, heads="all")


def test_an_explanation_has_its_own_prediction(explanation: Explanation) -> None:
    with pytest.raises(af.InputError, match="includes its prediction"):
        _ = page_data(explanation, prediction=explanation.prediction)
    with pytest.raises(af.InputError, match="got blank_out, input_gradient, blank_out"):
        _ = page_data(explanation, importance=explanation.importance["blank_out"])


def test_the_residual_is_that_of_graphs(attention: af.Attention) -> None:
    settings = attention.graph().settings
    assert page_data(attention)["attention"]["residual"] == settings["residual"]


def test_the_pages_script_reads_documents_of_this_version() -> None:
    source = Path(__file__).parents[2] / "page/src/widget.js"
    (version,) = re.findall(r"const VERSION = (\d+);", source.read_text(encoding="utf-8"))
    assert int(version) == VERSION
