"""A model is exactly as it was afterwards, also if a pass fails half-way."""

from typing import Any

import pytest
import torch
from edge_models import METHODS, PAIRS, inputs_for, model_of, new_model
from waiting_threads import SharedPasses

import attnflow as af
from close_results import assert_close
from model_state import unchanged

# Families of different kinds that a method supports: with and without the interface.
KNOWN = {
    **dict.fromkeys(METHODS, ("bert", "mpnet", "llama", "vit")),
    "logit_contributions": ("gpt2", "llama", "vit"),
    **dict.fromkeys(("attention", "effective", "gradient"), ("bert", "mpnet", "gpt2", *PAIRS)),
}
SECOND_LAYER = {
    "bert": "bert.encoder.layer.1",
    "gpt2": "transformer.h.1",
    "llama": "model.layers.1",
    "mpnet": "mpnet.encoder.layer.1",
}
CASES = [(method, family) for method, families in KNOWN.items() for family in families]


@pytest.mark.parametrize(("method", "family"), CASES)
def test_a_model_is_as_it_was(method: str, family: str):
    model = model_of(family)
    with unchanged(model):
        _ = METHODS[method](model, None, inputs_for(family))


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
    with unchanged(model):
        assert_close(ask(model, None, inputs), expected)


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
    calls = 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise HalfwayError

    _ = model.get_submodule(SECOND_LAYER[family]).register_forward_pre_hook(fail)


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
    with unchanged(model), pytest.raises(HalfwayError):
        _ = METHODS[method](model, None, inputs_for(family))


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_a_target_that_is_refused_leaves_the_model_as_it_was(method: str):
    model = new_model("verb-number").requires_grad_(False).train()
    refused = pytest.raises(af.InputError, match="expected one of singular, plural")
    with unchanged(model), refused:
        _ = METHODS[method](model, None, inputs_for("verb-number"), target="dual")


@pytest.mark.parametrize("method", METHODS)
def test_threads_that_share_a_model_take_turns(method: str, monkeypatch: pytest.MonkeyPatch):
    family = KNOWN[method][0]
    model, inputs = new_model(family).train(), inputs_for(family)
    expected = METHODS[method](model, None, inputs)
    passes = SharedPasses(4, monkeypatch)
    passes.wait_in([model.get_submodule(SECOND_LAYER[family])])
    with unchanged(model):
        found = passes.run(lambda _: METHODS[method](model, None, inputs))
    assert (len(found), passes.most) == (4, 1)
    for each in found:
        assert_close(each, expected)


@pytest.mark.parametrize("method", METHODS)
def test_ready_inputs_are_not_written_to(method: str):
    inputs = inputs_for(KNOWN[method][0])
    before = {name: value.clone() for name, value in inputs.items()}
    _ = METHODS[method](model_of(KNOWN[method][0]), None, inputs)
    assert set(inputs) == set(before) == {"input_ids"}
    assert torch.equal(inputs["input_ids"], before["input_ids"])
