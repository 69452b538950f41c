"""`explain` and attention sinks: taken out by default, kept on request, and said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import attnflow as af
from attnflow import models, paper
from attnflow.evaluate import explain, explanation_document
from close_results import assert_close
from sink_models import put_in_sinks

TEXT = "The author talked to Sara about"
METHODS: dict[str, Any] = {"raw": af.raw, "rollout": af.rollout, "flow": af.flow}


@pytest.fixture
def sunk(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 0)


@pytest.mark.usefixtures("sunk")
def test_sinks_are_taken_out_and_said(small_gpt: models.Loaded) -> None:
    found = explain(small_gpt.model, small_gpt.tokenizer, TEXT, receptive_field=False)
    assert {sink.position for sink in found.attention.sinks} == {0}
    assert found.without == (0,)
    rows: Any = {"layers": [found.layer], "queries": [found.query]}
    for name, method in METHODS.items():
        expected = method(found.attention, without=[0], **rows)
        assert_close(found.scores[name].scores, expected.scores)  # pyright: ignore[reportArgumentType]
        assert found.scores[name].scores[0, 0, 0] == 0  # pyright: ignore[reportArgumentType]
    caption = found._repr_html_().partition("</caption>")[0]
    assert "without the attention sink at position 0 the" in caption.lower()
    assert explanation_document(found, "gpt", small_gpt.tokenizer)["without"] == [0]


def test_several_sinks_are_plural(
    small_gpt: models.Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = explain(small_gpt.model, small_gpt.tokenizer, TEXT, methods=["raw"])
    monkeypatch.setattr(type(found), "without", (0, 1))
    caption = found._repr_html_().partition("</caption>")[0]
    assert "without the attention sinks at positions 0 the" in caption.lower()
    assert "keeps them)" in caption


@pytest.mark.usefixtures("sunk")
def test_sinks_that_are_kept_give_the_papers_scores(small_gpt: models.Loaded) -> None:
    papers: Any = {"sinks": "keep", "receptive_field": False}
    found = explain(small_gpt.model, small_gpt.tokenizer, TEXT, **papers)
    assert found.without == ()
    rows: Any = {"layers": [found.layer], "queries": [found.query]}
    for name, method in METHODS.items():
        assert_close(found.scores[name].scores, method(found.attention, **rows).scores)  # pyright: ignore[reportArgumentType]
    assert "without" not in found._repr_html_()


@pytest.mark.usefixtures("sunk")
def test_other_edges_are_not_changed(small_bert: models.Loaded) -> None:
    found = explain(
        small_bert.model, small_bert.tokenizer, "Mary saw John", position=1, edges="norms"
    )
    assert found.attention.sinks
    assert found.without == ()


def test_attention_without_sinks_is_the_papers(small_gpt: models.Loaded) -> None:
    found = explain(small_gpt.model, small_gpt.tokenizer, TEXT)
    assert found.attention.sinks == ()
    assert found.without == ()


def test_a_decoder_is_corrected_for_its_receptive_field(
    small_gpt: models.Loaded, small_bert: models.Loaded
) -> None:
    found = explain(small_gpt.model, small_gpt.tokenizer, TEXT)
    assert found.receptive_field
    assert ", corrected for the receptive field</caption>" in found._repr_html_()
    encoder = explain(small_bert.model, small_bert.tokenizer, "Mary saw John", position=1)
    assert not encoder.receptive_field
    rows: Any = {"layers": [found.layer], "queries": [found.query]}
    for name in ("rollout", "flow"):
        expected = METHODS[name](found.attention, receptive_field=True, **rows)
        assert_close(found.scores[name].scores, expected.scores)
    assert_close(found.scores["raw"].scores, af.raw(found.attention, **rows).scores)


def test_settings_that_do_not_exist_are_refused(
    small_gpt: models.Loaded, small_bert: models.Loaded
) -> None:
    wrong: Any = {"sinks": "hide"}
    with pytest.raises(af.InputError, match='sinks must be "remove" or "keep", got \'hide\''):
        _ = explain(small_gpt.model, small_gpt.tokenizer, TEXT, **wrong)
    with pytest.raises(af.InputError, match="receptive_field=True is only for causal attention"):
        _ = explain(
            small_bert.model, small_bert.tokenizer, "Mary saw", position=1, receptive_field=True
        )


@pytest.mark.usefixtures("sunk")
def test_sinks_taken_out_do_not_count_in_correlations(
    small_gpt: models.Loaded, tmp_path: Path
) -> None:
    found: Any = explain(small_gpt.model, small_gpt.tokenizer, TEXT)
    kept = [place for place in range(len(found.tokens)) if place != 0]
    assert [*found.correlations()] == ["blank_out", "input_gradient"]
    for importance, row in found.correlations().items():
        assert [*row] == [*METHODS]
        values = found.importance[importance].values[kept]
        for method, rho in row.items():
            scores = found.scores[method].scores[0, 0][kept]
            expected: Any = spearmanr(scores, values)
            assert rho == pytest.approx(expected.statistic, abs=1e-12)
    assert all(np.isnan(found.columns()[method][0]) for method in found.scores)
    assert not np.isnan(found.columns()["blank_out"]).any()
    assert "<td>-</td>" in found._repr_html_()
    frame = found.to_frame()
    assert frame["score"].isna().sum() == len(found.scores)
    found.to_csv(tmp_path / "e.csv")
    assert "nan" not in (tmp_path / "e.csv").read_text(encoding="utf-8")


@pytest.mark.usefixtures("sunk")
@pytest.mark.parametrize(("text", "compared"), [("Mary saw John", 2), ("The author talked", 3)])
def test_fewer_than_three_tokens_have_no_rank_correlation(
    small_gpt: models.Loaded, text: str, compared: int
) -> None:
    found = explain(small_gpt.model, small_gpt.tokenizer, text)
    assert (found.without, len(found.tokens) - 1) == ((0,), compared)
    assert found.uncompared == (() if compared == 3 else tuple(METHODS))
    for row in found.correlations().values():
        assert [*row] == [*METHODS]
        assert np.isnan([*row.values()]).all() == (compared < 3)
    document = explanation_document(found, "gpt", small_gpt.tokenizer)
    assert (document["correlations"]["blank_out"]["flow"] is None) == (compared < 3)


@pytest.mark.parametrize("causal", [False, True])
def test_a_query_that_is_taken_out_has_its_residual_connection_but_no_raw_attention(
    small_bert: models.Loaded,
    small_gpt: models.Loaded,
    monkeypatch: pytest.MonkeyPatch,
    *,
    causal: bool,
) -> None:
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 1)
    loaded = small_gpt if causal else small_bert
    settings: Any = {"position": 2, "query": 1, "receptive_field": False}
    found = explain(loaded.model, loaded.tokenizer, TEXT, **settings)
    assert found.without == (1,) == (found.query,)
    columns, correlations = found.columns(), found.correlations()
    others = np.arange(len(found.tokens)) != 1
    np.testing.assert_array_equal(np.isfinite(columns["raw"]), others)
    assert all(columns[method][1] > 0 for method in ("rollout", "flow"))
    assert found._repr_html_().count("<td>-</td>") == 1
    blanked = found.importance["blank_out"].values
    assert [*correlations["blank_out"]] == [*METHODS]
    for method, rho in correlations["blank_out"].items():
        kept = others if method == "raw" else slice(None)
        expected: Any = spearmanr(columns[method][kept], blanked[kept])
        assert rho == pytest.approx(expected.statistic, abs=1e-12)


def test_the_shipped_model_keeps_its_words() -> None:
    shipped = paper.load()
    found = explain(shipped.model, shipped.tokenizer, "the cats", methods=["raw"])
    shares = found.attention.weights.mean(axis=(1, 2))
    assert (shares[:2] > 0.5).any()
    assert not (shares[2:] > 0.5).any()
    assert found.without == ()
