"""captum gives the same numbers."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import (
    TEXT,
    blank_out,
    input_gradient,
    integrated_gradients,
    leave_span_out,
    model_of,
    tokenizer,
)

attr: Any = pytest.importorskip("captum.attr", reason="captum is not installed")
TARGET = 1


def ids() -> torch.Tensor:
    return tokenizer()(TEXT, return_tensors="pt")["input_ids"]


@pytest.fixture(params=["bert", "bert-of-three", "albert", "distilbert"])
def model(request: pytest.FixtureRequest) -> Any:
    return model_of(request.param)


def embedded(model: Any) -> torch.Tensor:
    return model.get_input_embeddings()(ids()).detach().requires_grad_()


def probability(model: Any) -> Any:
    return lambda embeds: model(inputs_embeds=embeds).logits.softmax(-1)


@pytest.mark.parametrize("replace", ["unk", "mask", "pad"])
def test_blank_out_is_ablation_of_each_id(model: Any, replace: str):
    blank = tokenizer().convert_tokens_to_ids(f"[{replace.upper()}]")
    with torch.no_grad():
        oracle = attr.FeatureAblation(lambda x: model(x).logits.softmax(-1)).attribute(
            ids(), baselines=blank, target=TARGET
        )
    found = blank_out(model, tokenizer(), TEXT, target=TARGET, replace=replace, signed=True)
    np.testing.assert_allclose(found.values, oracle[0].double(), atol=1e-7)


def test_leave_span_out_is_ablation_of_groups_of_ids(model: Any):
    # [CLS] the key ##s to the old cabinet [SEP]
    groups = torch.tensor([[0, 1, 2, 2, 3, 4, 5, 6, 7]])
    with torch.no_grad():
        oracle = attr.FeatureAblation(lambda x: model(x).logits.softmax(-1)).attribute(
            ids(), baselines=1, target=TARGET, feature_mask=groups
        )
    found = leave_span_out(model, tokenizer(), TEXT, target=TARGET, signed=True)
    assert found.tokens == ("[CLS]", "the", "keys", "to", "the", "old", "cabinet", "[SEP]")
    np.testing.assert_allclose(found.values, oracle[0, [0, 1, 2, 4, 5, 6, 7, 8]], atol=1e-7)


def saliency(model: Any) -> Any:
    found = attr.Saliency(probability(model)).attribute(embedded(model), target=TARGET, abs=False)
    return found[0].detach().numpy()


def test_the_norm_of_the_gradient_is_that_of_captums_saliency(model: Any):
    settings = {"target": TARGET, "score": "probability"}
    found = input_gradient(model, tokenizer(), TEXT, reduce="norm", **settings)
    np.testing.assert_allclose(found.values, np.linalg.norm(saliency(model), axis=-1), rtol=1e-9)


def test_the_sum_of_the_gradient_is_that_of_captums_saliency():
    model = model_of("llama")
    found = input_gradient(model, tokenizer(), TEXT, target=TARGET, score="probability")
    np.testing.assert_allclose(found.values, np.abs(saliency(model).sum(axis=-1)), rtol=1e-9)


def test_gradient_times_input_is_captums(model: Any):
    oracle = attr.InputXGradient(probability(model)).attribute(embedded(model), target=TARGET)
    found = input_gradient(
        model, tokenizer(), TEXT, target=TARGET, score="probability", reduce="input", signed=True
    )
    np.testing.assert_allclose(found.values, oracle[0].sum(-1).detach(), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("steps", [1, 7, 50])
@pytest.mark.parametrize("baseline", ["zero", "pad"])
def test_integrated_gradients_are_captums(model: Any, baseline: str, steps: int):
    start = torch.zeros_like(embedded(model)).detach()
    if baseline == "pad":
        start = model.get_input_embeddings()(torch.zeros_like(ids())).detach()
    oracle, gap = attr.IntegratedGradients(probability(model)).attribute(
        embedded(model), start, target=TARGET, n_steps=steps, return_convergence_delta=True
    )
    found = integrated_gradients(
        model, tokenizer(), TEXT, target=TARGET, baseline=baseline, steps=steps
    )
    np.testing.assert_allclose(found.values, oracle[0].sum(-1).detach(), rtol=1e-6, atol=1e-12)
    assert found.settings["convergence_delta"] == pytest.approx(float(gap), abs=1e-9)
