"""Inputs and models that importance takes, and the errors for others."""

import functools
from typing import Any

import numpy as np
import pytest
import tokenizers
import tokenizers.models
import torch
from answering_models import (
    METHODS,
    TEXT,
    Linear,
    blank_out,
    hf,
    input_gradient,
    integrated_gradients,
    model_of,
    predict,
    tokenizer,
)

import attnflow as af

IDS = torch.tensor([[1, 2, 3]])


@pytest.mark.parametrize("method", METHODS)
def test_a_text_gives_names_and_characters(method: str):
    found = METHODS[method](model_of("bert"), tokenizer(), TEXT)
    assert found.method == method
    assert found.tokens[0] == "[CLS]"
    assert found.origin.spans[:2] == (None, (0, 3))
    if method != "leave_span_out":
        assert found.tokens[2:4] == ("key", "##s")
        assert found.to_words(TEXT).tokens[2] == "keys"


@pytest.mark.parametrize("method", ["blank_out", "input_gradient", "integrated_gradients"])
def test_ready_inputs_are_the_text_they_were_made_from(method: str):
    ask, model = METHODS[method], model_of("bert")
    text = ask(model, tokenizer(), TEXT)
    [ready] = ask(model, tokenizer(), tokenizer()(TEXT, return_tensors="pt"))
    np.testing.assert_allclose(text.values, ready.values, rtol=0, atol=1e-9)
    assert text.tokens == ready.tokens


@pytest.mark.parametrize("ask", [METHODS["input_gradient"], integrated_gradients])
def test_embeddings_may_come_ready(ask: Any):
    model = model_of("bert")
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    embeddings = model.get_input_embeddings()(ids).detach()
    [found] = ask(model, None, {"inputs_embeds": embeddings})
    np.testing.assert_allclose(found.values, ask(model, tokenizer(), TEXT).values, rtol=1e-9)
    assert not embeddings.requires_grad


def test_a_plain_module_may_read_numbers():
    _ = torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 2))
    x = torch.randn(1, 3, 2)
    [found] = input_gradient(model, None, x, score="logit", target=1, signed=True)
    weight: Any = model[1].weight
    np.testing.assert_allclose(found.values, weight[1].detach().reshape(3, 2).sum(1), rtol=1e-6)
    with pytest.raises(af.InputError, match="holds embeddings, and only ids can be replaced"):
        _ = blank_out(model, None, x, replace=0)


@pytest.mark.parametrize("replace", ["unk", "mask", "pad", 1, 0])
def test_the_token_that_takes_the_place_is_named(replace: Any):
    names = {"unk": "[UNK]", "mask": "[MASK]", "pad": "[PAD]", 1: "[UNK]", 0: "[PAD]"}
    found = blank_out(model_of("bert"), tokenizer(), TEXT, replace=replace)
    assert found.settings["replaced_by"] == names[replace]
    assert found.settings["replace"] == replace


def test_an_unknown_word_changes_nothing_when_it_is_blanked():
    found = blank_out(model_of("bert"), tokenizer(), "the zebra is old")
    assert found.tokens[2] == "[UNK]"
    assert found.values[2] == pytest.approx(0, abs=1e-12)
    assert found.values[0] > 0, "[CLS] is blanked as well"


def bare() -> Any:
    """A tokenizer that has no token for what is unknown."""
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "a": 1, "b": 2, "c": 3}))
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]")  # noqa: S106 (none)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"replace": "nothing"},
            "replace: expected unk, mask, pad, mean, attention_mask or the id of a token, got 'no",
        ),
        ({"replace": 99}, "got 99"),
        ({"replace": 1.5}, r"replace must be an integer, got 1\.5"),
    ],
)
def test_what_cannot_take_the_place_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(af.InputError, match=message):
        _ = blank_out(model_of("bert"), tokenizer(), TEXT, **settings)


def test_a_tokenizer_without_such_a_token_says_what_it_has():
    with pytest.raises(af.InputError, match="has no unk token; use pad, or the id of a token"):
        _ = blank_out(Linear(), bare(), IDS)
    with pytest.raises(
        af.InputError, match="replace='unk' needs a tokenizer that has this token, got None"
    ):
        _ = blank_out(Linear(), None, IDS)
    with pytest.raises(af.InputError, match="baseline='mask' needs a tokenizer"):
        _ = integrated_gradients(Linear(), None, IDS, baseline="mask")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a text with at least one word"),
        ([], "expected at least one text"),
        (["the key", 3], "expected a text, a str, got int"),
        ({"input_ids": torch.tensor([1, 2])}, "int64 of shape .batch, position."),
        ("the " * 40, "at most 32 tokens, the limit of the model, got 42"),
    ],
)
def test_what_is_no_text_is_refused(text: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = blank_out(model_of("bert"), tokenizer(), text)


def test_a_text_that_is_too_long_may_be_cut():
    assert len(blank_out(model_of("bert"), tokenizer(), "the " * 40, truncate=True).values) == 32


@pytest.mark.parametrize("method", METHODS)
def test_a_list_with_a_text_that_is_empty_is_refused(method: str):
    with pytest.raises(af.InputError, match="expected a text with at least one word, got ' '"):
        _ = METHODS[method](model_of("bert"), tokenizer(), [TEXT, " "])


@pytest.mark.parametrize("ask", [*METHODS.values(), predict])
def test_what_is_no_model_is_refused(ask: Any):
    for text in (TEXT, [TEXT, TEXT]):
        with pytest.raises(af.InputError, match=r"model: expected a torch module, .* got str"):
            _ = ask("bert", tokenizer(), text)


def test_images_are_not_tokens():
    with pytest.raises(af.InputError, match="Importance is computed for tokens"):
        _ = input_gradient(torch.nn.Flatten(), None, torch.ones(1, 3, 4, 4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"reduce": "max"},
            "reduce: expected one of sum, norm, input, raw_sum, or None .*got 'max'",
        ),
        ({"reduce": "norm", "signed": True}, "signed=True needs a sign"),
    ],
)
def test_settings_of_the_gradient_are_checked(settings: dict[str, Any], message: str):
    with pytest.raises(af.InputError, match=message):
        _ = input_gradient(model_of("bert"), tokenizer(), TEXT, **settings)


@pytest.mark.parametrize("steps", [0, 1.5])
def test_steps_are_a_number(steps: Any):
    with pytest.raises(af.InputError, match=r"steps (is|must be)"):
        _ = integrated_gradients(model_of("bert"), tokenizer(), TEXT, steps=steps)


class WithoutTable(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(ids, 4).float().sum(dim=1)


class WithoutGradient(Linear):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return super().forward(ids).detach()


class NoNumbers(Linear):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return super().forward(ids) * torch.nan


class Flat(Linear):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return super().forward(ids)[0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WithoutTable(), "has no nn.Embedding that looks up"),
        (WithoutGradient(), "has no gradient with respect to its embeddings"),
        (NoNumbers(), "gave logits that are NaN or infinite"),
        (Flat(), r"for 1 inputs, got \(2,\)"),
    ],
)
def test_models_without_a_gradient_raise_an_error_with_the_reason(model: Any, message: str):
    for ask in (input_gradient, integrated_gradients):
        with pytest.raises(af.UnsupportedModelError, match=message):
            _ = ask(model, None, IDS)


@pytest.mark.parametrize("ask", [functools.partial(blank_out, replace=0), predict])
def test_an_answer_that_is_no_number_is_refused(ask: Any):
    with pytest.raises(af.UnsupportedModelError, match="gave logits that are NaN or infinite"):
        _ = ask(NoNumbers(), None, IDS)


@pytest.mark.parametrize("ask", [blank_out, predict, input_gradient])
def test_ids_that_a_plain_module_does_not_know_are_explained(ask: Any):
    more = {"replace": 0} if ask is blank_out else {}
    with pytest.raises(af.InputError, match=r"Linear does not run on the input: IndexError.*range"):
        _ = ask(Linear(), None, torch.tensor([[1, 99]]), **more)


def test_a_model_without_a_table_can_be_blanked():
    values = blank_out(WithoutTable(), None, IDS, replace=0, target=1, score="logit")[0].values
    assert values.tolist() == [1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_models_of_any_precision_are_supported(dtype: torch.dtype):
    import copy

    model = copy.deepcopy(model_of("bert")).to(dtype)
    rough = {torch.float16: 0.05, torch.bfloat16: 0.3, torch.float32: 1e-4}[dtype]
    for ask in METHODS.values():
        found, exact = (
            ask(each, tokenizer(), TEXT, target=0) for each in (model, model_of("bert"))
        )
        np.testing.assert_allclose(found.values, exact.values, atol=rough * exact.values.max())


class Infinite(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.full((len(ids), 2), torch.inf)


@pytest.mark.parametrize("ask", [functools.partial(blank_out, replace=0), predict])
def test_an_answer_that_is_infinite_is_refused(ask: Any):
    with pytest.raises(af.UnsupportedModelError, match="NaN or infinite"):
        _ = ask(Infinite(), None, IDS)
