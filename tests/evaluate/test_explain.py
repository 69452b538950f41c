"""`explain`: one text, everything side by side."""

import copy
import dataclasses
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as hf

import attnflow as af
from attnflow import edges, paper
from attnflow.evaluate import explain
from attnflow.importance import blank_out
from attnflow.models import Loaded
from close_results import assert_close

TEXT = "the key to the cabinets"
SMALL: dict[str, Any] = {"vocab_size": 10_000, "pad_token_id": 0}


@pytest.fixture(scope="module")
def shipped() -> Loaded:
    return paper.load()


def test_all_columns_are_of_the_same_tokens(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT)
    assert found.tokens == ("[CLS]", "the", "key", "to", "the", "cabinets", "<?>")
    assert list(found.columns()) == ["raw", "rollout", "flow", "blank_out", "input_gradient"]
    assert {len(column) for column in found.columns().values()} == {7}
    assert (found.layer, found.query) == (6, 0)


def test_a_single_method_may_be_named_alone(shipped: Loaded) -> None:
    named: Any = "rollout"
    found = explain(shipped.model, shipped.tokenizer, TEXT, methods=named)
    assert list(found.scores) == ["rollout"]
    assert not found.saturated


def test_without_importance_or_scores_there_are_no_correlations(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, methods=["raw"])
    assert dataclasses.replace(found, importance={}).correlations() == {}
    without_scores = dataclasses.replace(found, scores={})
    assert without_scores.correlations() == {"blank_out": {}, "input_gradient": {}}


@pytest.mark.parametrize("weights", ["attention", "gradient"])
def test_in_inference_mode_all_is_the_same(shipped: Loaded, weights: edges.Edges) -> None:
    expected = explain(shipped.model, shipped.tokenizer, TEXT, edges=weights)
    # A copy has no earlier results.
    for model in (shipped.model, copy.deepcopy(shipped.model)):
        with torch.inference_mode():
            found = explain(model, shipped.tokenizer, TEXT, edges=weights)
        for name, values in expected.columns().items():
            np.testing.assert_allclose(found.columns()[name], values, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("layer", "expected"), [(6, True), (2, False)])
def test_flow_at_its_upper_bound_is_marked(shipped: Loaded, layer: int, expected: bool) -> None:
    assert explain(shipped.model, shipped.tokenizer, TEXT, layer=layer).saturated is expected


def test_flat_flow_is_marked_and_said(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3)
    assert not found.flat
    assert "flow" not in found._repr_html_().partition("</caption>")[0]
    flat = dataclasses.replace(found.scores["flow"], flat=np.array([[True]]))
    marked = dataclasses.replace(found, scores={**found.scores, "flow": flat})
    assert marked.flat is True
    assert ", flow flat</caption>" in marked._repr_html_()
    assert dataclasses.replace(found, scores={"raw": found.scores["raw"]}).flat is False


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ", blank-out by [PAD]"),
        ({"target": "singular"}, ", blank-out by [PAD]"),
        ({"target": "plural", "replace": "unk"}, ", importance for plural, blank-out by [UNK]"),
        ({"against": "plural"}, ", importance for singular against plural, blank-out by [PAD]"),
        ({"replace": "mean"}, ", blank-out by the mean embedding"),
    ],
)
def test_the_caption_says_what_importance_is_for_and_what_replaces_tokens(
    shipped: Loaded, settings: dict[str, Any], expected: str
) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3, methods=["raw"], **settings)
    caption = found._repr_html_().partition("</caption>")[0]
    assert caption.startswith("<table><caption>singular 0.9")
    assert caption.endswith(f", layer 3, from position 0 [CLS]{expected}")


@pytest.mark.parametrize("name", ["attention", "norms", "gradient"])
def test_the_caption_has_the_share_of_negative_weights(shipped: Loaded, name: edges.Edges) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, methods=["raw"], edges=name)
    graph: Any = found.graphs[name]
    negative = f"({100 * graph.settings['clipped']:.1f} % of" if name == "gradient" else None
    caption = found._repr_html_().partition("</caption>")[0]
    assert ("negative and set to zero" in caption) is (negative is not None)
    assert (negative or "") in caption


def test_without_blank_out_the_caption_names_no_blank(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3, methods=["raw"])
    kept = {"input_gradient": found.importance["input_gradient"]}
    assert "blank" not in dataclasses.replace(found, importance=kept)._repr_html_()


def test_a_frame_has_a_row_for_each_method_and_token(shipped: Loaded, tmp_path: Path) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3, edges="norms")
    frame = found.to_frame()
    assert list(frame) == ["method", "edges", "layer", "query", "position", "token", "score"]
    for method, values in found.columns().items():
        rows = frame[frame["method"] == method]
        assert rows["score"].tolist() == values.tolist()
        assert rows["token"].tolist() == list(found.tokens)
        assert rows["position"].tolist() == list(range(7))
        if method in found.scores:
            assert set(zip(rows["edges"], rows["layer"], rows["query"], strict=True)) == {
                ("norms", 3, 0)
            }
        else:
            assert rows[["edges", "layer", "query"]].isna().all(axis=None)
    found.to_csv(tmp_path / "e.csv")
    read = pd.read_csv(tmp_path / "e.csv")
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)


@pytest.mark.parametrize("methods", [[], ["best"], ["raw", "best"]])
def test_methods_that_are_none_are_an_error(shipped: Loaded, methods: Any) -> None:
    with pytest.raises(af.InputError, match="raw, rollout, flow"):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, methods=methods)


def test_scores_are_of_the_first_of_several_edges(shipped: Loaded) -> None:
    both = explain(shipped.model, shipped.tokenizer, TEXT, edges=["norms", "attention", "norms"])
    assert both.edges == "norms"
    assert list(both.graphs) == ["norms", "attention"]
    assert both.graphs["attention"] is both.attention
    graph = edges.norms(shipped.model, shipped.tokenizer, TEXT)
    for method, function in {"raw": af.raw, "rollout": af.rollout, "flow": af.flow}.items():
        expected = function(graph, layers=[6], queries=[0]).scores
        assert_close(both.scores[method].scores, expected)  # pyright: ignore[reportArgumentType]
    assert both.settings()["edges"] == "norms"


@pytest.mark.parametrize("names", ["best", [], ["attention", "best"], [3], 3, None])
def test_edges_that_are_none_are_an_error(shipped: Loaded, names: Any) -> None:
    with pytest.raises(af.InputError, match="attention, effective, gradient, norms, alti"):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, edges=names)


def test_a_causal_classifier_is_read_at_its_last_token(shipped: Loaded) -> None:
    _ = torch.manual_seed(0)
    config = hf.GPT2Config(n_embd=16, n_layer=2, n_head=2, **SMALL)
    model = hf.GPT2ForSequenceClassification(config).eval()
    found = explain(model, shipped.tokenizer, TEXT)
    assert found.query == 6
    assert found.layer == 2


def test_two_answers_are_compared(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, target="plural", against="singular")
    for importance in found.importance.values():
        assert importance.settings["score"] == "logit_difference"
        assert importance.settings["target_name"] == "plural"
        assert importance.settings["other_name"] == "singular"
    settings: Any = {"score": "logit", "signed": True}
    plural, singular = (
        blank_out(shipped.model, shipped.tokenizer, TEXT, target=name, **settings).values
        for name in ("plural", "singular")
    )
    assert_close(found.importance["blank_out"].values, np.abs(plural - singular), atol=1e-5)


def test_edges_of_the_gradient_compare_two_answers(shipped: Loaded) -> None:
    answers: Any = {"target": "singular", "against": "plural"}
    found = explain(
        shipped.model, shipped.tokenizer, TEXT, edges="gradient", methods=["raw"], **answers
    ).graphs["gradient"]
    expected = edges.gradient(shipped.model, shipped.tokenizer, TEXT, **answers)
    alone = edges.gradient(shipped.model, shipped.tokenizer, TEXT, target="singular")
    assert isinstance(found, af.AttentionGraph)
    assert found.settings["other_name"] == "plural"
    assert_close(np.stack(found.layers), np.stack(expected.layers), atol=1e-5)
    assert not np.allclose(np.stack(found.layers), np.stack(alone.layers), atol=1e-3)


def test_an_encoder_decoder_is_refused(shipped: Loaded) -> None:
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    sizes |= {"decoder_start_token_id": 0, **SMALL}
    config = hf.T5Config(**sizes)
    model = hf.T5ForConditionalGeneration(config).eval()
    with pytest.raises(af.UnsupportedModelError, match="is an encoder-decoder"):
        _ = explain(model, shipped.tokenizer, TEXT)


def test_a_regression_model_is_an_error_that_says_what_explains_it(shipped: Loaded) -> None:
    small: Any = SMALL | {"num_labels": 1}
    config = hf.BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, **small)
    model = hf.BertForSequenceClassification(config).eval()
    with pytest.raises(af.InputError, match=r"no probabilities; attnflow\.importance\.blank_out"):
        _ = explain(model, shipped.tokenizer, TEXT)
    found = blank_out(model, shipped.tokenizer, TEXT, score="logit")
    assert len(found.values) == 7


def test_the_position_that_answers_can_be_named(shipped: Loaded) -> None:
    _ = torch.manual_seed(0)
    config = hf.BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, **SMALL)
    model = hf.BertForMaskedLM(config).eval()
    found = explain(model, shipped.tokenizer, TEXT, position=2)
    assert (found.prediction.position, found.query) == (2, 2)


def test_notebooks_show_every_token(shipped: Loaded) -> None:
    html = explain(shipped.model, shipped.tokenizer, TEXT)._repr_html_()
    assert html.count("<tr>") == 8
    assert "&lt;?&gt;" in html


def test_the_scores_are_rows_of_the_attention_that_is_kept(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3)
    again = af.rollout(found.attention, layers=3, queries=0)
    assert_close(again, found.scores["rollout"], atol=1e-12)


@pytest.mark.parametrize("methods", [("raw", "rollout", "flow"), ("raw",)])
def test_steps_are_counted_up_to_all(shipped: Loaded, methods: Any) -> None:
    calls: list[tuple[int, int]] = []
    _ = explain(
        shipped.model, shipped.tokenizer, TEXT, methods=methods, progress=lambda *n: calls.append(n)
    )
    before = 1 + 7 + 1  # attention, the tokens, replaced in one batch, and the gradient
    steps = before + len(methods)
    assert calls == [(done, steps) for done in [1, 1, before - 1, *range(before, steps + 1)]]


def test_what_progress_raises_ends_the_work(shipped: Loaded) -> None:
    calls: list[int] = []

    def stop(done: int, _total: int) -> None:
        calls.append(done)
        if done == 8:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, progress=stop)
    assert calls == [1, 1, 8]
    with pytest.raises(af.InputError, match=r"progress: expected a function .* got 5"):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, progress=cast("Any", 5))


def test_a_text_is_tokenised_once_and_no_pass_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = paper.load()
    kind: Any = type(loaded.tokenizer)
    call, texts, shapes = kind.__call__, [], []

    def count(self: Any, *given: Any, **named: Any) -> Any:
        texts.append((given, named))
        return call(self, *given, **named)

    def shape(_model: Any, _given: Any, named: dict[str, Any]) -> None:
        shapes.append(tuple(named["input_ids"].shape))

    monkeypatch.setattr(kind, "__call__", count)
    handle = loaded.model.register_forward_pre_hook(shape, with_kwargs=True)
    try:
        for _ in range(2):
            _ = explain(loaded.model, loaded.tokenizer, TEXT)
    finally:
        handle.remove()
    assert len(texts) == 2
    attention = (1, 7)  # and gradient
    blank_out = (1 + 7, 7)  # the text, which gives the prediction, and its variants
    probe = (1, 8)  # for the sum or the norm of the gradient, once for a model
    passes = [attention, blank_out]
    assert shapes == [*passes, probe, *passes]


def test_a_small_model_runs_in_one_thread_of_torch_and_the_number_is_restored(
    shipped: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr("attnflow.evaluate._threads._SMALL_MODEL", 10_000_000)
    handle = shipped.model.register_forward_pre_hook(
        lambda *_: seen.append(torch.get_num_threads())
    )
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        _ = explain(shipped.model, shipped.tokenizer, TEXT)
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
        seen.clear()
        monkeypatch.setattr("attnflow.evaluate._threads._SMALL_MODEL", 10)
        _ = explain(shipped.model, shipped.tokenizer, TEXT)
        assert set(seen) == {2}
    finally:
        torch.set_num_threads(before)
        handle.remove()
