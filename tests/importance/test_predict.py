"""Predictions, and the record that holds them."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from answering_models import (
    FAMILIES,
    MASKED,
    TEXT,
    TEXTS,
    VOCABULARY,
    WRITERS,
    Linear,
    blank_out,
    model_of,
    new_model,
    predict,
    text_for,
    tokenizer,
)

import attnflow as af
from attnflow.importance import Prediction

IDS = torch.tensor([[1, 2, 3]])


def test_probabilities_are_the_softmax_of_the_logits():
    [found] = predict(Linear(), None, IDS)  # logits (0, 1.4), see test_linear
    assert list(found.probabilities) == ["0", "1"]
    np.testing.assert_allclose(
        [*found.probabilities.values()], np.array([1, np.exp(1.4)]) / (1 + np.exp(1.4)), rtol=1e-12
    )
    assert (found.label, found.position) == ("1", None)


def test_classes_come_in_the_order_that_the_model_has_them():
    for text in TEXTS:
        found = predict(model_of("bert"), tokenizer(), text)
        assert list(found.probabilities) == ["singular", "plural"]
        assert sum(found.probabilities.values()) == pytest.approx(1)
        assert found.label == max(found.probabilities, key=lambda name: found.probabilities[name])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_the_one_that_importance_is_about(family: str):
    model, text = model_of(family), text_for(family)
    found, settings = (
        predict(model, tokenizer(), text),
        blank_out(model, tokenizer(), text).settings,
    )
    assert found.label == settings["target_name"]
    assert found.probabilities[found.label] == pytest.approx(settings["input_score"])
    assert found.position == settings.get("position", settings.get("decoder_position"))


@pytest.mark.parametrize("family", [*WRITERS, *MASKED])
def test_a_language_model_shows_its_ten_best_tokens(family: str):
    found = predict(model_of(family), tokenizer(), text_for(family))
    each = list(found.probabilities.values())
    assert len(each) == 10 < VOCABULARY
    assert each == sorted(each, reverse=True)
    assert found.label == next(iter(found.probabilities))
    assert set(found.probabilities) <= set(tokenizer().get_vocab())


def test_any_position_can_be_selected():
    model = model_of("gpt2-lm")
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        p = model(ids).logits[0, 3].softmax(-1)
    found = predict(model, tokenizer(), TEXT, position=3)
    assert found.position == 3
    assert found.label == tokenizer().convert_ids_to_tokens(int(p.argmax()))
    with pytest.raises(af.InputError, match="position must be 0 to 8, got 9"):
        _ = predict(model, tokenizer(), TEXT, position=9)


def test_classes_that_do_not_exclude_one_another_have_probabilities_of_their_own():
    model = new_model("bert-of-three")
    model.config.problem_type = "multi_label_classification"
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        p = model(ids).logits.sigmoid()[0]
    found = predict(model, tokenizer(), TEXT)
    np.testing.assert_allclose([*found.probabilities.values()], p)
    assert found.label == f"LABEL_{int(p.argmax())}"


class One(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids.double().sum(dim=1, keepdim=True)


def test_a_model_that_answers_with_a_number_has_no_probabilities():
    with pytest.raises(
        af.InputError, match="One is a regression model with 1 outputs, which have no probabilities"
    ):
        _ = predict(One(), None, IDS)


def test_two_classes_of_one_name_are_distinguished_by_their_number():
    model = new_model("bert-of-three")
    model.config.id2label = {0: "yes", 1: "no", 2: "no"}
    assert list(predict(model, tokenizer(), TEXT).probabilities) == ["yes (0)", "no (1)", "no (2)"]


def test_of_equal_tokens_the_first_is_the_answer():
    class Even(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*ids.shape, 30)

    [found] = predict(Even(), None, IDS, position=0)
    assert found.label == next(iter(found.probabilities)) == "0"
    assert len(found.probabilities) == 10


# ---- the record --------------------------------------------------------------------------------


def test_a_prediction_is_read_only_and_can_be_copied():
    given = {"singular": 0.25, "plural": 0.75}
    found = Prediction("plural", given)
    given["plural"] = 0.0
    assert found.probabilities["plural"] == 0.75
    change: Any = found.probabilities
    with pytest.raises(TypeError, match="does not support item assignment"):
        change["plural"] = 0.0
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301 (our own)
        assert other == found
        assert hash(other) == hash(found)
    assert found != Prediction("plural", {"singular": 0.2, "plural": 0.8})


def test_a_prediction_says_how_sure_it_is():
    assert (
        repr(Prediction("is", {"is": 0.31}, 4)) == "Prediction('is', probability=0.31, position=4)"
    )
    token = Prediction("Ġhis", {"Ġhis": 0.5, "Ġher": 0.25}, 7)  # of a byte-level tokenizer
    assert repr(token) == "Prediction('his', probability=0.5, position=7)"
    assert "<caption>his 0.5, position 7</caption>" in token._repr_html_()
    html = Prediction("<s>", {"<s>": 0.75, "b": 0.25})._repr_html_()
    assert "<th>&lt;s&gt;</th><td>0.75</td>" in html
    many = Prediction("0", {str(number): 0.02 for number in range(50)})._repr_html_()
    assert "the first 30 of 50" in many
    assert many.count("<tr>") == 31


@pytest.mark.parametrize(
    ("label", "probabilities", "message"),
    [
        ("a", {"a": 1.5}, r"probabilities\['a'\] must be from 0 to 1, got 1.5"),
        ("a", {"a": float("nan")}, r"probabilities\['a'\] must be from 0 to 1, got nan"),
        ("b", {"a": 1.0}, r"label: expected one with a probability \(a\), got 'b'"),
    ],
)
def test_what_is_no_prediction_is_refused(label: str, probabilities: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = Prediction(label, probabilities)
