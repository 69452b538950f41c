"""The sum of a gradient over dimensions: zero behind LayerNorm, and only there."""

from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
)

from attnflow import InputError, paper
from attnflow.importance import input_gradient
from attnflow.paper import generate

TEXTS = [prefix.text for prefix in generate(12)]
SMALL: dict[str, Any] = {"vocab_size": 9650, "pad_token_id": 0}
MODELS = {
    "gpt2": lambda: GPT2ForSequenceClassification(
        GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=64, **SMALL)
    ),
    "bert": lambda: BertForSequenceClassification(
        BertConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            **SMALL,
        )
    ),
    "distilbert": lambda: DistilBertForSequenceClassification(
        DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, **SMALL)
    ),
}


class WithoutNorm(nn.Module):
    """A classifier that reads its embeddings as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9650, 16)
        self.classifier = nn.Linear(16, 2)

    def forward(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        return self.classifier(torch.tanh(self.words(input_ids)).sum(1))


@pytest.mark.parametrize("family", MODELS)
def test_the_sum_is_zero_in_float64_in_models_with_layer_norm(family: str) -> None:
    _ = torch.manual_seed(0)
    found = paper.gradient_sums(MODELS[family]().eval(), paper.load().tokenizer, TEXTS)
    assert found.float64 < 1e-12
    assert found.is_rounding
    assert 0 < found.float32 < 1e-4


def test_the_norm_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reduced: list[str] = []

    def counted(*arguments: Any, reduce: Any) -> Any:
        reduced.append(reduce)
        return input_gradient(*arguments, reduce=reduce)

    monkeypatch.setattr("attnflow.paper.results._gradient_sum.input_gradient", counted)
    shipped = paper.load()
    _ = paper.gradient_sums(shipped.model, shipped.tokenizer, TEXTS[:1])
    assert reduced == ["raw_sum", "raw_sum", "norm"]


def test_the_sum_is_not_zero_without_layer_norm() -> None:
    _ = torch.manual_seed(0)
    found = paper.gradient_sums(WithoutNorm(), paper.load().tokenizer, TEXTS)
    assert found.float64 > 0.1
    assert not found.is_rounding


def test_on_the_shipped_model_rounding_follows_the_norm() -> None:
    shipped = paper.load()
    texts = [prefix.text for prefix in generate(100)]
    found = paper.gradient_sums(shipped.model, shipped.tokenizer, texts)
    assert found.texts == 100
    assert found.tokens == sum(len(shipped.tokenizer(text).input_ids) for text in texts)
    assert found.is_rounding
    # Rounding differs from machine to machine; its size does not.
    assert 0.15 < found.correlation < 1


def test_the_raw_sum_keeps_rounding_and_the_model_stays_in_float32() -> None:
    shipped = paper.load()
    [raw] = input_gradient(shipped.model, shipped.tokenizer, [TEXTS[0]], reduce="raw_sum")
    assert raw.settings["reduce"] == "raw_sum"
    assert raw.values.any()
    _ = paper.gradient_sums(shipped.model, shipped.tokenizer, TEXTS[:1])
    assert {p.dtype for p in shipped.model.parameters()} == {torch.float32}


def test_no_text_is_an_error() -> None:
    shipped = paper.load()
    with pytest.raises(InputError, match="expected at least one text, got none"):
        _ = paper.gradient_sums(shipped.model, shipped.tokenizer, [])
