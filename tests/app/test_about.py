"""The line about a model."""

from typing import Any

import pytest
import transformers

from attnflow.view.app._about import about_model

hf: Any = transformers  # its configurations say little about what they take
SMALL: dict[str, Any] = {
    "vocab_size": 8,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


@pytest.mark.parametrize("settings", [{"num_labels": 1}, {"problem_type": "regression"}])
def test_a_regression_model_predicts_a_number(settings: dict[str, Any]) -> None:
    model = hf.BertForSequenceClassification(hf.BertConfig(**SMALL, **settings))
    assert about_model(model).endswith("; predicts a number")


def test_a_model_without_a_head_predicts_nothing() -> None:
    about = about_model(hf.BertModel(hf.BertConfig(**SMALL)))
    assert about.startswith("BertModel, 1 layers, 2 heads, ")
    assert about.endswith(" million parameters")


def test_models_with_a_head_say_what_they_predict() -> None:
    config = hf.BertConfig(**SMALL, id2label={0: "singular", 1: "plural"})
    assert about_model(hf.BertForSequenceClassification(config)).endswith("singular or plural")
    assert about_model(hf.BertForMaskedLM(config)).endswith("; predicts the token at the mask")
