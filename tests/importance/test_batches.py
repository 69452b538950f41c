"""The other inputs of a batch, its size and padding do not change a result."""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from answering_models import (
    CLASSIFIERS,
    FAMILIES,
    MASKED,
    METHODS,
    TEXTS,
    Linear,
    blank_out,
    input_gradient,
    integrated_gradients,
    model_of,
    predict,
    predict_among,
    tokenizer,
)

import attnflow as af
from attnflow.importance import Prediction
from attnflow.models.scoring import _batches, _single

FUNCTIONS: dict[str, Any] = METHODS | {
    "input_gradient by default": input_gradient,
    "integrated_gradients": functools.partial(integrated_gradients, steps=3),
    "predict": predict,
    "predict_among": functools.partial(predict_among, answers=["a"]),
}
KEYS = ["the keys to the cabinet", "the key is old.", "a key", "keys are on the man"]
# Other texts, another order, and the same text twice.
BATCHES = [[3, 1, 0, 2], [2, 2, 0], [1]]


def same(found: Any, alone: Any) -> None:
    """Equal but for rounding."""
    if isinstance(found, Prediction):
        assert (found.label, found.position) == (alone.label, alone.position)
        assert found.probabilities == pytest.approx(dict(alone.probabilities), rel=1e-7, abs=1e-12)
        return
    assert (found.tokens, found.origin) == (alone.tokens, alone.origin)
    np.testing.assert_allclose(found.values, alone.values, rtol=1e-6, atol=1e-12)
    assert set(found.settings) == set(alone.settings)
    for name, value in alone.settings.items():
        close = pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value
        assert found.settings[name] == close, name


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_has_the_same_result_alone_and_among_any_others(family: str, function: str):
    ask = functools.partial(FUNCTIONS[function], model_of(family), tokenizer())
    if function == "predict_among" and family in CLASSIFIERS:
        ask = functools.partial(ask, answers=[model_of(family).config.id2label[0]])
    texts = [text.replace("key", "[MASK]") if family in MASKED else text for text in KEYS]
    alone = [ask(text) for text in texts]
    assert not any(isinstance(found, list) for found in alone)
    for order in BATCHES:
        together = ask([texts[number] for number in order])
        assert len(together) == len(order), "a list gives a list, even of one"
        for number, found in zip(order, together, strict=True):
            same(found, alone[number])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "leave_span_out"])
@pytest.mark.parametrize("family", FAMILIES)
def test_tensors_have_the_same_result_alone_and_padded(family: str, function: str, side: str):
    ask = functools.partial(FUNCTIONS[function], model_of(family), tokenizer())
    if function == "predict_among" and family in CLASSIFIERS:
        ask = functools.partial(ask, answers=[model_of(family).config.id2label[0]])
    texts = [text.replace("key", "[MASK]") if family in MASKED else text for text in KEYS]
    found = ask(tokenizer()(texts, padding=True, padding_side=side, return_tensors="pt"))
    for text, item in zip(texts, found, strict=True):
        [alone] = ask(tokenizer()([text], return_tensors="pt"))
        same(item, alone)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_the_size_of_a_batch_changes_nothing(method: str, size: int):
    ask, model = METHODS[method], model_of("bert")
    expected, found = (
        ask(model, tokenizer(), TEXTS, **more) for more in ({}, {"batch_size": size})
    )
    assert len(found) == len(TEXTS)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-9, atol=1e-13)


def test_passes_are_as_few_as_the_size_of_a_batch_allows():
    model, sizes = model_of("bert"), []
    handle = model.register_forward_hook(lambda *a: sizes.append(len(a[2].logits)))
    try:
        _ = blank_out(model, tokenizer(), "the key to the old man", batch_size=5)
    finally:
        handle.remove()
    assert sizes == [5, 4], "eight variants and the text itself"


@pytest.mark.parametrize("method", ["blank_out", "leave_span_out"])
def test_progress_counts_variants_and_may_end_the_work(method: str):
    model, ask, text = model_of("bert"), METHODS[method], "the key to the old man"
    calls: list[tuple[int, int]] = []
    _ = ask(model, tokenizer(), text, batch_size=5, progress=lambda *n: calls.append(n))
    assert calls == [(0, 8), (4, 8), (8, 8)]

    def stop(done: int, _total: int) -> None:
        if done == 4:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = ask(model, tokenizer(), text, batch_size=5, progress=stop)
    with pytest.raises(af.InputError, match=r"progress: expected a function .* got 5"):
        _ = ask(model, tokenizer(), text, progress=5)


def test_by_default_a_pass_reads_as_many_tokens_as_suit_the_model(monkeypatch: pytest.MonkeyPatch):
    model, shapes = model_of("bert"), []
    handle = model.register_forward_pre_hook(
        lambda *a: shapes.append(tuple(a[2]["input_ids"].shape)), with_kwargs=True
    )
    try:
        monkeypatch.setattr(_batches, "_MAX_TOKENS", 40)
        _ = blank_out(model, tokenizer(), ["the key to the old man", "a key"])
        weights = sum(parameter.numel() for parameter in model.parameters())
        monkeypatch.setattr(_batches, "_MIN_TOKENS", 10)
        monkeypatch.setattr(_batches, "_MULTIPLICATIONS", 20 * weights)
        _ = blank_out(model, tokenizer(), "a key")
        monkeypatch.setattr(_batches, "_MULTIPLICATIONS", 1)
        _ = blank_out(model, tokenizer(), "the key to the old man")
    finally:
        handle.remove()
    assert shapes[:3] == [(5, 8), (4, 8), (5, 4)]
    assert shapes[3:4] == [(5, 4)], "20 tokens hold the five rows"
    assert shapes[4:] == [(1, 8)] * 9, "a row that is longer than the limit is run by itself"


def test_a_pass_for_gradients_reads_a_quarter_of_the_tokens(monkeypatch: pytest.MonkeyPatch):
    model, sizes = model_of("bert"), []
    handle = model.register_forward_hook(lambda *a: sizes.append(len(a[2].logits)))
    try:
        monkeypatch.setattr(_batches, "_MAX_TOKENS", 4 * 8)
        _ = input_gradient(model, tokenizer(), ["a key", "a man", "the key"], reduce="norm")
        _ = predict(model, tokenizer(), ["a key", "a man", "the key"])
    finally:
        handle.remove()
    assert sizes == [2, 1, 3]


@pytest.mark.parametrize("family", ["bert", "gpt2-lm", "t5-lm"])
def test_texts_that_became_tensors_together_are_not_padded(
    family: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_single, "_TEXTS_AT_ONCE", 3)
    found, single = _single.single_inputs(model_of(family), tokenizer(), TEXTS)
    assert single is False
    for text, item in zip(TEXTS, found, strict=True):
        [alone], _ = _single.single_inputs(model_of(family), tokenizer(), text)
        assert set(item.fields) == set(alone.fields)
        for name, value in alone.fields.items():
            equal = torch.equal if isinstance(value, torch.Tensor) else lambda a, b: a == b
            assert equal(item.fields[name], value), name
        assert (item.kept, item.tokens, item.origin) == (alone.kept, alone.tokens, alone.origin)
        assert item.read_at == alone.read_at


def test_padding_between_tokens_stays_and_is_no_token():
    ids: Any = tokenizer()(TEXTS[2])["input_ids"]
    ids, mask = [*ids[:2], 0, *ids[2:]], [1, 1, 0, *[1] * (len(ids) - 2)]
    inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.tensor([mask])}
    [found] = blank_out(model_of("bert"), tokenizer(), inputs)
    assert found.tokens == ("[CLS]", "a", "key", "[SEP]")
    inputs["position_ids"] = torch.tensor([[0, 1, 0, 2, 3]])
    [found] = blank_out(model_of("bert"), tokenizer(), inputs)
    expected = blank_out(model_of("bert"), tokenizer(), TEXTS[2])
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_a_batch_holds_at_least_one(size: Any):
    with pytest.raises(af.InputError, match=r"batch_size (is|must be)"):
        _ = blank_out(model_of("bert"), tokenizer(), TEXTS, batch_size=size)


def test_plain_modules_take_texts_of_different_lengths():
    [found] = input_gradient(Linear(), None, torch.tensor([[1, 2, 3]]))
    assert found.values.shape == (3,)
    several = blank_out(Small(), tokenizer(), TEXTS)
    assert [len(one.values) for one in several] == [9, 7, 4, 8]


class Small(torch.nn.Module):
    """Takes ids and nothing else, no mask of padding in particular."""

    def __init__(self) -> None:
        super().__init__()
        _ = torch.manual_seed(0)
        self.table, self.head = torch.nn.Embedding(18, 4), torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.head(self.table(x).mean(dim=1)),)
