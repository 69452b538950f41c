"""A model is exactly as it was afterwards, also if a pass fails half-way."""

import copy
from typing import Any

import pytest
import torch
from edge_models import METHODS, PAIRS, inputs_for, model_of, new_model
from model_state import state
from torch import nn

import attnflow as af
from close_results import assert_close

# Families of different kinds that a method supports: with and without the interface.
KNOWN = {
    **dict.fromkeys(METHODS, ("bert", "mpnet", "llama", "vit")),
    "logit_contributions": ("gpt2", "llama", "vit"),
    **dict.fromkeys(("attention", "effective", "gradient"), ("bert", "mpnet", "gpt2", *PAIRS)),
}
CASES = [(method, family) for method, families in KNOWN.items() for family in families]


def _state(model: nn.Module) -> Any:
    gradients = [None if p.grad is None else p.grad.sum().item() for p in model.parameters()]
    return copy.deepcopy([state(model), gradients, torch.is_inference_mode_enabled()])


@pytest.mark.parametrize(("method", "family"), CASES)
def test_a_model_is_as_it_was(method: str, family: str):
    model = model_of(family)
    before, weights = _state(model), [parameter.clone() for parameter in model.parameters()]
    _ = METHODS[method](model, None, inputs_for(family))
    assert _state(model) == before
    after = list(model.parameters())
    assert len(after) == len(weights) > 0
    assert all(map(torch.equal, weights, after))


@pytest.mark.parametrize("method", METHODS)
def test_a_model_in_training_keeps_its_mode_and_its_gradients(method: str):
    family = KNOWN[method][0]
    model, ask, inputs = new_model(family), METHODS[method], inputs_for(family)
    expected = ask(model, None, inputs)
    for number, module in enumerate(model.modules()):
        module.training = number % 3 == 0
    for number, parameter in enumerate(model.parameters()):
        parameter.requires_grad = number % 2 == 0
        if number % 4 == 0:
            parameter.grad = torch.ones_like(parameter)
    before = _state(model)
    assert_close(ask(model, None, inputs), expected)
    assert _state(model) == before


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outside", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_it_does_not_matter_whether_gradients_are_on(method: str, outside: Any):
    family = KNOWN[method][0]
    model, inputs = model_of(family), inputs_for(family)
    expected = METHODS[method](model, None, inputs)
    with outside():
        was = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        assert_close(METHODS[method](model, None, inputs), expected)
        assert (torch.is_grad_enabled(), torch.is_inference_mode_enabled()) == was


class HalfwayError(Exception):
    """What the model itself raises."""


def _fail_at(model: Any, family: str, call: int) -> None:
    """Make the second layer fail when it runs for the call-th time."""
    paths = {"bert": "bert.encoder.layer.1", "mpnet": "mpnet.encoder.layer.1"}
    paths |= {"llama": "model.layers.1", "gpt2": "transformer.h.1"}
    calls = 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise HalfwayError

    _ = model.get_submodule(paths[family]).register_forward_pre_hook(fail)


# The second run of a layer is that of a value set to zero, or another pass.
@pytest.mark.parametrize(
    ("method", "family", "call"),
    [
        *((method, KNOWN[method][0], 1) for method in METHODS),
        ("value_zeroing", "bert", 2),
        ("value_zeroing", "llama", 2),
        ("norms", "mpnet", 2),
        ("logit_contributions", "llama", 2),
        ("logit_contributions", "llama", 3),
    ],
)
def test_a_model_that_fails_half_way_is_as_it_was(method: str, family: str, call: int):
    model = new_model(family).requires_grad_(False).train()
    _fail_at(model, family, call)
    before = _state(model)
    with pytest.raises(HalfwayError):
        _ = METHODS[method](model, None, inputs_for(family))
    assert _state(model) == before


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_a_target_that_is_refused_leaves_the_model_as_it_was(method: str):
    model = new_model("verb-number").requires_grad_(False).train()
    before = _state(model)
    with pytest.raises(af.InputError, match="expected one of singular, plural"):
        _ = METHODS[method](model, None, inputs_for("verb-number"), target="dual")
    assert _state(model) == before


@pytest.mark.parametrize("method", METHODS)
def test_ready_inputs_are_not_written_to(method: str):
    inputs = inputs_for(KNOWN[method][0])
    before = {name: value.clone() for name, value in inputs.items()}
    _ = METHODS[method](model_of(KNOWN[method][0]), None, inputs)
    assert set(inputs) == set(before) == {"input_ids"}
    assert torch.equal(inputs["input_ids"], before["input_ids"])
