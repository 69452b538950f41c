"""Quantised models have attention, but no gradients and no output projection to read."""

import copy
import functools
from typing import Any

import pytest
import torch
from edge_models import METHODS, inputs_for, new_model
from torch import nn

import attnflow as af
from attnflow import paper, view
from attnflow.cli._explanation_table import explanation_table
from attnflow.cli._notes import print_gradient_note
from close_results import assert_close


class Int8Linear(nn.Module):
    """A linear layer in int8, as packages for quantisation make it; it passes on no gradient."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight = layer.weight.detach()
        self.scale = float(weight.abs().max()) / 127
        self.weight = nn.Parameter((weight / self.scale).round().to(torch.int8), False)
        self.bias = layer.bias

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.scale * self.weight.to(x), self.bias)


@functools.cache
def _quantised(family: str) -> Any:
    """A model whose linear layers are in int8."""
    return _quantise(new_model(family).float())


def _quantise(model: Any) -> Any:
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return model


@pytest.mark.parametrize("family", ["bert", "mpnet", "llama", "vit"])
@pytest.mark.parametrize("method", ["attention", "effective"])
def test_attention_is_that_of_the_model_but_for_its_precision(method: str, family: str):
    inputs = {
        name: value.float() if value.is_floating_point() else value
        for name, value in inputs_for(family).items()
    }
    found = METHODS[method](_quantised(family), None, inputs)
    assert_close(found, METHODS[method](new_model(family).float(), None, inputs), atol=0.2)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_gradients_are_an_error(family: str):
    with pytest.raises(
        af.UnsupportedModelError, match=r"no gradient by the attention of .*: .* is quantised"
    ):
        _ = METHODS["gradient"](_quantised(family), None, inputs_for(family))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_contributions_to_a_logit_are_an_error(family: str):
    with pytest.raises(af.UnsupportedModelError, match=r"no gradient by .* its head is quantised"):
        _ = METHODS["logit_contributions"](_quantised(family), None, inputs_for(family))


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("method", ["norms", "alti", "value_zeroing"])
def test_an_output_projection_in_int8_is_an_error(method: str, family: str):
    with pytest.raises(
        af.UnsupportedModelError, match=r"with a weight of floats, got Int8Linear, .* is quantised"
    ):
        _ = METHODS[method](_quantised(family), None, inputs_for(family))


def test_explain_has_blank_out_and_no_input_gradient(capsys: pytest.CaptureFixture[str]):
    shipped = paper.load()
    model = _quantise(copy.deepcopy(shipped.model))
    explanation = af.explain(model, shipped.tokenizer, "the key to the cabinets")
    assert [*explanation.importance] == [*explanation.correlations()] == ["blank_out"]
    explanation_table(explanation, {})
    print_gradient_note(explanation)
    printed = capsys.readouterr()
    assert "blank-out" in printed.out
    assert "input gradient" not in printed.out
    assert "note: without input gradients: the model passes none on, as quantised" in printed.err
    [drawn] = view.page_data(explanation)["importance"]
    assert drawn["method"] == "blank_out"
    reason = explanation.missing["input_gradient"]
    assert (
        "has no gradient with respect to its embeddings: it detaches them, is quantised" in reason
    )
    assert explanation.settings()["input_gradient"] == {"missing": reason}
    caption = explanation._repr_html_().partition("</caption>")[0]
    assert caption.endswith(f". No input gradient: {reason}")
