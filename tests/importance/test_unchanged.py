"""A model is exactly as it was afterwards, also if the pass fails half-way."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import FAMILIES, METHODS, model_of, new_model, predict, text_for, tokenizer

import attnflow as af
from attnflow import importance
from close_results import assert_close
from model_state import unchanged

ASKED = METHODS | {"predict": predict}


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_as_it_was(family: str, method: str):
    model = model_of(family)
    with unchanged(model):
        _ = ASKED[method](model, tokenizer(), text_for(family))


@pytest.mark.parametrize("method", METHODS)
def test_a_model_in_training_keeps_its_mode_and_its_gradients(method: str):
    model, ask = new_model("bert"), METHODS[method]
    expected = ask(model, tokenizer(), text_for("bert"))
    for number, module in enumerate(model.modules()):
        module.training = number % 3 == 0
    for number, parameter in enumerate(model.parameters()):
        parameter.requires_grad = number % 2 == 0
        if number % 4 == 0:
            parameter.grad = torch.ones_like(parameter)
    with unchanged(model):
        found = ask(model, tokenizer(), text_for("bert"))
    np.testing.assert_allclose(found.values, expected.values, err_msg="dropout was on")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outside", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_it_does_not_matter_whether_gradients_are_on(method: str, outside: Any):
    model, ask = model_of("bert"), METHODS[method]
    expected = ask(model, tokenizer(), text_for("bert"))
    with outside():
        was = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        assert_close(ask(model, tokenizer(), text_for("bert")), expected, atol=1e-9)
        assert (torch.is_grad_enabled(), torch.is_inference_mode_enabled()) == was


def test_a_model_may_be_asked_for_the_first_time_in_inference_mode():
    expected = importance.input_gradient(new_model("bert"), tokenizer(), text_for("bert"))
    model = new_model("bert")  # whose sums are not known yet
    with torch.inference_mode():
        found = importance.input_gradient(model, tokenizer(), text_for("bert"))
    assert_close(found, expected, atol=1e-9)


def test_a_model_with_frozen_weights_has_gradients_all_the_same():
    model = new_model("bert").requires_grad_(False)
    ask = METHODS["input_gradient"]
    values = ask(model, tokenizer(), text_for("bert")).values
    assert values.shape == (9,)
    assert values.all()


class HalfwayError(Exception):
    """What the model itself raises."""


@pytest.mark.parametrize("method", ASKED)
def test_a_model_that_fails_half_way_is_as_it_was(method: str):
    model = new_model("bert").train()

    def fail(*_: Any) -> None:
        raise HalfwayError

    _ = model.bert.encoder.layer[1].register_forward_pre_hook(fail)
    with unchanged(model), pytest.raises(HalfwayError):
        _ = ASKED[method](model, tokenizer(), text_for("bert"))


@pytest.mark.parametrize("method", METHODS)
def test_a_target_that_is_refused_leaves_the_model_as_it_was(method: str):
    model = new_model("bert").train()
    refused = pytest.raises(af.InputError, match="expected one of singular, plural")
    with unchanged(model), refused:
        _ = METHODS[method](model, tokenizer(), text_for("bert"), target="dual")


def test_hooks_of_the_caller_are_called():
    model = new_model("bert")
    ask = METHODS["input_gradient"]
    expected = ask(model, tokenizer(), text_for("bert"), score="logit", target=0, reduce="input")
    _ = model.get_input_embeddings().register_forward_hook(lambda *a: 2 * a[2])
    found = ask(model, tokenizer(), text_for("bert"), score="logit", target=0, reduce="input")
    assert found.values.shape == expected.values.shape == (9,)
    assert (found.values != expected.values).all()


@pytest.mark.parametrize(
    "method", sorted(METHODS.keys() - {"leave_span_out"})
)  # it takes texts only
def test_ready_inputs_are_not_written_to(method: str):
    inputs = tokenizer()(text_for("bert"), return_tensors="pt")
    before = {name: value.clone() for name, value in inputs.items()}
    _ = METHODS[method](model_of("bert"), tokenizer(), inputs)
    assert set(inputs) == set(before) >= {"input_ids", "attention_mask"}
    assert all(torch.equal(inputs[name], before[name]) for name in before)
