"""A model is exactly as it was afterwards, also if the pass fails half-way."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from answering_models import FAMILIES, METHODS, model_of, new_model, predict, text_for, tokenizer
from torch import nn

import attnflow as af
from close_results import assert_close

ASKED = METHODS | {"predict": predict}
HOOKS = [name for name in vars(nn.Module()) if "hooks" in name]


def state(model: nn.Module) -> dict[str, Any]:
    """All of a model that a pass might change, but for the numbers of its weights."""
    config: Any = getattr(model, "config", None)
    return {
        "config": config.to_dict(),
        "hooks": [
            {name: list(getattr(module, name).items()) for name in HOOKS}
            for module in model.modules()
        ],
        "training": [module.training for module in model.modules()],
        "attributes": [sorted(vars(module)) for module in model.modules()],
        "gradients required": [parameter.requires_grad for parameter in model.parameters()],
        "gradients": [None if p.grad is None else p.grad.sum().item() for p in model.parameters()],
        "gradients in general": torch.is_grad_enabled(),
    }


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_as_it_was(family: str, method: str):
    model = model_of(family)
    before = copy.deepcopy(state(model))
    weights = [parameter.clone() for parameter in model.parameters()]
    _ = ASKED[method](model, tokenizer(), text_for(family))
    assert state(model) == before
    after = list(model.parameters())
    assert len(after) == len(weights) > 0
    assert all(map(torch.equal, weights, after))


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
    before = copy.deepcopy(state(model))
    found = ask(model, tokenizer(), text_for("bert"))
    assert state(model) == before
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
    before = copy.deepcopy(state(model))
    with pytest.raises(HalfwayError):
        _ = ASKED[method](model, tokenizer(), text_for("bert"))
    assert state(model) == before


@pytest.mark.parametrize("method", METHODS)
def test_a_target_that_is_refused_leaves_the_model_as_it_was(method: str):
    model = new_model("bert").train()
    before = copy.deepcopy(state(model))
    with pytest.raises(af.InputError, match="expected one of singular, plural"):
        _ = METHODS[method](model, tokenizer(), text_for("bert"), target="dual")
    assert state(model) == before


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
