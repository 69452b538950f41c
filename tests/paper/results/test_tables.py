"""The paper's tables, on few sentences, against the library called sentence by sentence."""

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import spearmanr

import attnflow as af
from attnflow import paper
from attnflow.errors import InputError
from attnflow.evaluate import LayerTable, dense_spearman
from attnflow.importance import blank_out, input_gradient
from attnflow.models import Loaded, attend
from attnflow.paper import Prefix, Splits


@pytest.fixture(scope="module")
def shipped() -> Loaded:
    return paper.load()


@pytest.fixture(scope="module")
def prefixes() -> list[Prefix]:
    found = paper.sample(None, 6, seed=3)
    assert len(found) == 6
    return found


@pytest.fixture(scope="module")
def exact(shipped: Loaded) -> Loaded:
    """The model in double precision, in which batches change no rank."""
    return dataclasses.replace(shipped, model=copy.deepcopy(shipped.model).double())


def test_tables_hold_scipys_correlation_of_every_sentence_method_and_layer(
    exact: Loaded, prefixes: list[Prefix]
) -> None:
    both = exact.model, exact.tokenizer
    tables = paper.agreement_tables(*both, prefixes, {"blank_out": {}, "input_gradient": {}})
    assert [table.values.shape for table in tables.values()] == [(6, 3, 6)] * 2
    for number, prefix in enumerate(prefixes):
        text = " ".join(prefix.words)
        attention = attend(*both, text)
        # The paper's: for the correct answer, whatever the model says.
        importance = {
            "blank_out": blank_out(*both, text, target=prefix.number),
            "input_gradient": input_gradient(*both, text, target=prefix.number, reduce="norm"),
        }
        for measure, table in tables.items():
            assert table.texts[number] == text
            for row, method in enumerate((af.raw, af.rollout, af.flow)):
                scores = method(attention, queries=[0]).scores[:, 0]
                for layer in range(6):
                    rho = spearmanr(scores[layer], importance[measure].values)[0]
                    assert table.values[number, row, layer] == pytest.approx(rho, abs=1e-6)


def test_the_second_table_is_another_measure(shipped: Loaded, prefixes: list[Prefix]) -> None:
    first = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, "blank_out")
    second = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, "input_gradient")
    assert first.settings["replaced_by"] == "[PAD]"  # the blank of this model
    assert first.settings["correlation"] == second.settings["correlation"] == "spearman"
    # The sum over dimensions is zero in a model that reads embeddings through LayerNorm.
    assert second.settings["reduce"] == "norm"
    assert not np.allclose(first.values, second.values)


@pytest.mark.parametrize("measure", ["blank_out", "input_gradient"])
def test_as_published_is_what_the_papers_code_computed(
    shipped: Loaded, prefixes: list[Prefix], measure: Any
) -> None:
    both = shipped.model, shipped.tokenizer
    table = paper.agreement_table(*both, prefixes, measure, as_published=True)
    assert table.settings["correlation"] == "dense_spearman"
    if measure == "input_gradient":
        assert table.settings["reduce"] == "raw_sum"
        # Rounding has other values on other machines, so its size alone is compared.
        texts = [prefix.text for prefix in prefixes]
        sums = input_gradient(*both, texts, reduce="raw_sum")
        norms = input_gradient(*both, texts, reduce="norm")
        assert len(sums) == 6
        for own, norm in zip(sums, norms, strict=True):
            assert 0 < own.values.max() < 1e-4 * norm.values.max()
        return
    assert table.settings["replaced_by"] == "[PAD]"
    for number, prefix in enumerate(prefixes):
        importance = blank_out(*both, prefix.text, target=prefix.number, replace="pad")
        scores = af.rollout(attend(*both, prefix.text), layers=6, queries=0).scores[0, 0]
        rho = float(dense_spearman(scores, importance.values))
        assert table.values[number, 1, 5] == pytest.approx(rho, abs=0.1)


def test_several_models_give_the_mean_and_deviation_of_their_means(
    shipped: Loaded, prefixes: list[Prefix]
) -> None:
    both = shipped.model, shipped.tokenizer
    a = paper.agreement_table(*both, prefixes, "input_gradient")
    b = dataclasses.replace(a, values=a.values / 2)
    table = paper.over_models({"a": a, "b": b})
    assert table.texts == ("a", "b")
    np.testing.assert_allclose(table.mean, (a.mean + b.mean) / 2)
    np.testing.assert_allclose(table.std, np.abs(a.mean - b.mean) / 2, atol=1e-12)
    assert table.settings["sentences"] == len(prefixes)
    seconds: Any = table.settings["seconds"]
    assert seconds["flow"] == pytest.approx(2 * cast("Any", a.settings["seconds"])["flow"])


def test_tables_with_other_settings_are_not_averaged(
    shipped: Loaded, prefixes: list[Prefix]
) -> None:
    both = shipped.model, shipped.tokenizer
    tables = {
        reduce: paper.agreement_table(*both, prefixes[:2], "input_gradient", reduce=reduce)
        for reduce in ("norm", "input")
    }
    with pytest.raises(InputError, match="reduce is 'norm' for norm, 'input' for input"):
        _ = paper.over_models(tables)


@pytest.mark.parametrize(
    ("measure", "settings", "message"),
    [
        (
            "blank_out",
            {"reduce": "norm"},
            "reduce must be left out with measure 'blank_out', got 'norm'",
        ),
        ("input_gradient", {"replace": "pad"}, "replace must be left out with measure"),
        ("blank_out", {"replace": "unk", "as_published": True}, "left out with as_published=True"),
    ],
)
def test_settings_without_effect_are_errors(
    shipped: Loaded, prefixes: list[Prefix], measure: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, measure, **settings)


def test_models_of_different_depth_are_not_averaged() -> None:
    tables = {
        str(depth): LayerTable(np.zeros((1, 1, depth)), ["raw"], range(1, depth + 1), ["a"])
        for depth in (6, 4)
    }
    with pytest.raises(InputError, match="the same layers: 6 has 6, 4 has 4"):
        _ = paper.over_models(tables)
    with pytest.raises(InputError, match="at least one model"):
        _ = paper.over_models({})


def test_the_order_of_sentences_is_kept(shipped: Loaded, prefixes: list[Prefix]) -> None:
    there = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, "blank_out")
    back = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes[::-1], "blank_out")
    assert there.texts == back.texts[::-1]
    assert np.allclose(there.values, back.values[::-1], atol=0.05, equal_nan=True)


def test_an_error_in_a_comparison_ends_the_table(
    shipped: Loaded, prefixes: list[Prefix], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise InputError("no flow here")

    monkeypatch.setattr("attnflow.methods._of_position.flow_values", fail)
    with pytest.raises(InputError, match="no flow here"):
        _ = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, "input_gradient")


def test_progress_counts_sentences(shipped: Loaded, prefixes: list[Prefix]) -> None:
    reports: list[tuple[int, int]] = []
    _ = paper.agreement_table(
        shipped.model,
        shipped.tokenizer,
        prefixes,
        "input_gradient",
        progress=lambda done, total: reports.append((done, total)),
    )
    assert reports == [(0, 6), (6, 6)]


def test_subjects_are_looked_for_among_words(exact: Loaded, prefixes: list[Prefix]) -> None:
    both = exact.model, exact.tokenizer
    table = paper.subject_table(*both, prefixes)
    assert len(table.texts) == 6
    for number, prefix in enumerate(prefixes):
        assert prefix.subject is not None
        text, target = " ".join(prefix.words), prefix.number
        importance = {
            "blank_out": blank_out(*both, text, target=target),
            "input_gradient": input_gradient(*both, text, target=target, reduce="norm"),
        }
        for name, item in importance.items():
            found = item.values[1:-1].argmax() == prefix.subject
            assert table.per_text[name][number] == found
        attention = attend(*both, text)
        for row, method in enumerate((af.raw, af.rollout, af.flow)):
            words = method(attention, queries=[0]).scores[:, 0, 1:-1]
            highest = words == words.max(axis=1, keepdims=True)
            hits = highest[:, prefix.subject] / highest.sum(axis=1)
            np.testing.assert_allclose(table.values[number, row], hits, rtol=0, atol=1e-12)
        assert table.per_text["chance"][number] == 1 / len(prefix.words)


def test_a_sentence_without_a_known_subject_is_an_error(shipped: Loaded) -> None:
    with pytest.raises(InputError, match="subject of 'the key' is unknown"):
        _ = paper.subject_table(shipped.model, shipped.tokenizer, [Prefix(("the", "key"), 0)])


def test_entropy_is_that_of_the_scores_of_cls(exact: Loaded, prefixes: list[Prefix]) -> None:
    both = exact.model, exact.tokenizer
    table = paper.entropy_table(*both, prefixes)
    assert table.settings["measure"] == "entropy"
    for number, prefix in enumerate(prefixes):
        attention = attend(*both, " ".join(prefix.words))
        for row, method in enumerate((af.raw, af.rollout, af.flow)):
            for layer, scores in enumerate(method(attention, queries=[0]).scores[:, 0]):
                shares = [score / scores.sum() for score in scores]
                entropy = -sum(share * math.log(share) for share in shares if share)
                expected = entropy / math.log(len(scores))
                assert table.values[number, row, layer] == pytest.approx(expected, abs=1e-9)


def test_no_sentences_make_no_table(shipped: Loaded) -> None:
    with pytest.raises(InputError, match="at least one sentence, got none"):
        _ = paper.agreement_table(shipped.model, shipped.tokenizer, [], "blank_out")


def test_generated_samples_are_distinct_and_seeded() -> None:
    one, same, other = (paper.sample(None, 200, seed=seed) for seed in (0, 0, 1))
    assert one == same != other
    assert len({prefix.words for prefix in one}) == 200


def test_natural_samples_were_not_trained_on(data_splits: Splits) -> None:
    found = paper.sample(data_splits, 2000)
    trained = {prefix.words for prefix in (*data_splits.train, *data_splits.attractor_train)}
    assert len({prefix.words for prefix in found}) == 2000
    assert not trained.intersection(prefix.words for prefix in found)
    known = paper.sample(data_splits, 100, subject=True)
    assert len(known) == 100
    assert all(prefix.subject is not None for prefix in known)


def test_rollout_and_flow_agree_with_importance_better_than_raw_attention_above_layer_2(
    shipped: Loaded, data_splits: Splits
) -> None:
    # The paper's finding, on a seeded sample. On 2,000 sentences the means differ by 0.08 and more;
    # their standard errors are 0.03 here.
    prefixes = paper.sample(data_splits, 200)
    for measure in ("blank_out", "input_gradient"):
        table = paper.agreement_table(shipped.model, shipped.tokenizer, prefixes, measure)
        raw, rollout, flow = table.mean[:, 2:]
        assert len(raw) == 4
        assert (rollout > raw).all()
        assert (flow > raw).all()


def test_the_published_numbers_are_the_papers(paper_text: str) -> None:
    for published, layers in ((paper.TABLE_1, 6), (paper.TABLE_2, 6), (paper.TABLE_3, 4)):
        assert [len(published[name]) for name in ("raw", "rollout", "flow")] == [layers] * 3
        for name, row in published.items():
            line = f"{name.capitalize()} " + " ".join(f"{m:.2f}±{s:.2f}" for m, s in row)
            assert line in paper_text.replace(" ± ", "±")


@pytest.fixture
def paper_text() -> str:
    path = Path(__file__).parents[4] / "shared" / "paper" / "paper.txt"
    if not path.exists():
        pytest.skip("the paper's text is not beside this repository (../shared/paper)")
    return path.read_text(encoding="utf-8")
