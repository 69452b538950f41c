"""What is run together changes nothing, nor does padding."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import (
    FAMILIES,
    MASKED,
    METHODS,
    TEXTS,
    Linear,
    blank_out,
    input_gradient,
    model_of,
    predict,
    tokenizer,
)

import attnflow as af
from attnflow.importance import _batches, _example


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in MASKED])
def test_texts_together_are_texts_one_by_one(family: str, method: str):
    model, ask = model_of(family), METHODS[method]
    steps: dict[str, Any] = {"steps": 3} if method == "integrated_gradients" else {}
    together = ask(model, tokenizer(), TEXTS, **steps)
    assert isinstance(together, list)
    for text, found in zip(TEXTS, together, strict=True):
        alone = ask(model, tokenizer(), text, **steps)
        assert alone.tokens == found.tokens
        assert alone.origin == found.origin
        assert alone.settings["target"] == found.settings["target"]
        np.testing.assert_allclose(found.values, alone.values, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_the_size_of_a_batch_changes_nothing(method: str, size: int):
    ask, model = METHODS[method], model_of("bert")
    expected, found = (
        ask(model, tokenizer(), TEXTS, **more) for more in ({}, {"batch_size": size})
    )
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-9, atol=1e-13)


def test_passes_are_as_few_as_the_size_of_a_batch_allows():
    model, sizes = model_of("bert"), []
    handle = model.register_forward_hook(lambda *a: sizes.append(len(a[2].logits)))
    try:
        _ = blank_out(model, tokenizer(), "the key to the old man", batch_size=5)
    finally:
        handle.remove()
    assert sizes == [1, 5, 3]


@pytest.mark.parametrize("method", ["blank_out", "leave_span_out"])
def test_progress_counts_variants_and_may_end_the_work(method: str):
    model, ask, text = model_of("bert"), METHODS[method], "the key to the old man"
    told: list[tuple[int, int]] = []
    _ = ask(model, tokenizer(), text, batch_size=5, progress=lambda *n: told.append(n))
    assert told == [(0, 8), (5, 8), (8, 8)]

    def stop(done: int, _total: int) -> None:
        if done == 5:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = ask(model, tokenizer(), text, batch_size=5, progress=stop)


def test_by_default_a_pass_reads_as_many_tokens_as_suit_the_model(monkeypatch: pytest.MonkeyPatch):
    model, shapes = model_of("bert"), []
    handle = model.register_forward_pre_hook(
        lambda *a: shapes.append(tuple(a[2]["input_ids"].shape)), with_kwargs=True
    )
    try:
        monkeypatch.setattr(_batches, "_TOKENS_AT_MOST", 40)
        _ = blank_out(model, tokenizer(), ["the key to the old man", "a key"])
        weights = sum(parameter.numel() for parameter in model.parameters())
        monkeypatch.setattr(_batches, "_TOKENS_AT_LEAST", 10)
        monkeypatch.setattr(_batches, "_MULTIPLICATIONS", 20 * weights)
        _ = blank_out(model, tokenizer(), "a key")
        monkeypatch.setattr(_batches, "_MULTIPLICATIONS", 1)
        _ = blank_out(model, tokenizer(), "the key to the old man")
    finally:
        handle.remove()
    assert shapes[:5] == [(1, 8), (1, 4), (5, 8), (3, 8), (4, 4)]
    assert shapes[5:7] == [(1, 4), (4, 4)], "20 tokens hold five rows, and there are four"
    assert shapes[7:] == [(1, 8)] * 9, "a row that is longer than the limit is run by itself"


def test_a_pass_for_gradients_reads_a_quarter_of_the_tokens(monkeypatch: pytest.MonkeyPatch):
    model, sizes = model_of("bert"), []
    handle = model.register_forward_hook(lambda *a: sizes.append(len(a[2].logits)))
    try:
        monkeypatch.setattr(_batches, "_TOKENS_AT_MOST", 4 * 8)
        _ = input_gradient(model, tokenizer(), ["a key", "a man", "the key"])
        _ = predict(model, tokenizer(), ["a key", "a man", "the key"])
    finally:
        handle.remove()
    assert sizes == [2, 1, 3]


@pytest.mark.parametrize("family", ["bert", "gpt2-lm", "t5-lm"])
def test_texts_that_were_made_tensors_together_are_not_filled_up(
    family: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_example, "_TEXTS_AT_ONCE", 3)
    found, single = _example.examples_of(
        model_of(family), tokenizer(), TEXTS, position=None, truncate=False
    )
    assert single is False
    for text, example in zip(TEXTS, found, strict=True):
        (alone,), _ = _example.examples_of(
            model_of(family), tokenizer(), text, position=None, truncate=False
        )
        assert set(example.fields) == set(alone.fields)
        for name, value in alone.fields.items():
            same = torch.equal if isinstance(value, torch.Tensor) else lambda a, b: a == b
            assert same(example.fields[name], value), name
        assert (example.kept, example.tokens, example.origin, example.place) == (
            alone.kept,
            alone.tokens,
            alone.origin,
            alone.place,
        )


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_a_batch_holds_at_least_one(size: Any):
    with pytest.raises(af.InputError, match="batch_size is"):
        _ = blank_out(model_of("bert"), tokenizer(), TEXTS, batch_size=size)


@pytest.mark.parametrize(("side", "family"), [("left", "gpt2"), ("right", "bert")])
@pytest.mark.parametrize("method", ["blank_out", "input_gradient", "integrated_gradients"])
def test_padding_of_ready_inputs_is_not_a_token(method: str, side: str, family: str):
    texts = [TEXTS[0], TEXTS[2]]
    encoded: Any = [tokenizer()(text)["input_ids"] for text in texts]
    longest = len(encoded[0])
    more = longest - len(encoded[1])
    ids = torch.tensor([encoded[0], encoded[1] + [0] * more])
    mask, positions = (ids != 0).long(), torch.arange(longest).repeat(2, 1)
    if side == "left":
        ids[1], mask[1] = ids[1].roll(more), mask[1].roll(more)
        positions[1] = (positions[1] - more).clamp(min=0)
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    ask, model = METHODS[method], model_of(family)
    found = ask(model, tokenizer(), inputs)
    expected = ask(model, tokenizer(), texts)
    for one, other in zip(found, expected, strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(one.values, other.values, rtol=1e-6, atol=1e-10)


def test_plain_modules_take_texts_of_different_lengths():
    found = input_gradient(Linear(), None, torch.tensor([[1, 2, 3]]))
    assert found.values.shape == (3,)
    words = Small()
    each = blank_out(words, tokenizer(), TEXTS)
    assert [len(one.values) for one in each] == [9, 7, 4, 8]


class Small(torch.nn.Module):
    """Takes ids and nothing else, no mask of padding in particular."""

    def __init__(self) -> None:
        super().__init__()
        _ = torch.manual_seed(0)
        self.table, self.head = torch.nn.Embedding(18, 4), torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.head(self.table(x).mean(dim=1)),)
