"""`gradient` is the derivative of a logit by the attention of every layer."""

from typing import Any

import literal
import numpy as np
import pytest
import reference
import torch
from edge_models import (
    FAMILIES,
    METHODS,
    PAIRS,
    attention,
    gradient,
    inputs_for,
    model_of,
    new_model,
    one,
    randomized,
)
from own_models import FusedMix, Mix, OwnModel
from plain_modules import MultiheadEncoder
from torch import nn

import attnflow as af
from close_results import assert_close


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_attention_times_the_derivative_by_it(family: str):
    found = one(gradient, family, target=1)
    expected = reference.gradients(family, inputs_for(family), 1)
    assert found.n_layers == len(expected) == 3
    for mine, (A, slope) in zip(found.layers, expected, strict=True):
        relevance = np.eye(A.shape[1]) + np.maximum(A * slope, 0).mean(axis=0)
        np.testing.assert_allclose(mine, relevance, rtol=1e-4, atol=1e-5)
    signed = np.concatenate([(A * slope).ravel() for A, slope in expected])
    clipped = -signed[signed < 0].sum() / np.abs(signed).sum()
    assert found.settings["clipped"] == pytest.approx(clipped, abs=1e-4)
    assert 0 < clipped < 1


@pytest.mark.parametrize("family", ["bert", "gpt2", "dinov2"])
def test_attention_can_be_left_out(family: str):
    found = one(gradient, family, target=1, times_attention=False)
    expected = reference.gradients(family, inputs_for(family), 1)
    assert found.n_layers == len(expected) == 3
    for mine, (A, slope) in zip(found.layers, expected, strict=True):
        relevance = np.eye(A.shape[1]) + np.maximum(slope, 0).mean(axis=0)
        np.testing.assert_allclose(mine, relevance, rtol=1e-4, atol=1e-5)
    assert found.settings["times_attention"] is False


def test_the_identity_can_be_left_out_for_generalized_attention_flow():
    whole, alone = (one(gradient, "bert", target=1, identity=flag) for flag in (True, False))
    assert alone.n_layers == whole.n_layers == 3
    for with_it, without in zip(whole.layers, alone.layers, strict=True):
        np.testing.assert_allclose(with_it - np.eye(len(with_it)), without, atol=1e-12)
    split = af.flow_split(alone)
    assert split.values.sum() == pytest.approx(split.value, rel=1e-7)
    assert alone.settings["residual"] == 0.0


def _root_in_double(module: Any, args: Any, _output: torch.Tensor) -> torch.Tensor:
    """RMSNorm without the steps in float32 of transformers, whose rounding hides differences."""
    mean = args[0].square().mean(dim=-1, keepdim=True)
    return module.weight * args[0] / (mean + module.variance_epsilon).sqrt()


@pytest.mark.parametrize("family", [*FAMILIES, *PAIRS])
def test_derivatives_are_differences_of_the_score(family: str):
    model = literal.use_own_attention(new_model(family))
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            _ = module.register_forward_hook(_root_in_double)
    inputs = inputs_for(family)
    derivatives = literal.gradients(model, inputs, 1)
    zeros = [torch.zeros(1, *A.shape, dtype=torch.float64) for A, _ in derivatives]
    places = [(0, 1, 2, 1), (1, 3, 4, 0), (2, 0, 3, 3)]  # call, head, query, key
    for call, head, query, key in places:
        scores: list[float] = []
        for step in (1e-5, -1e-5):
            zeros[call][0, head, query, key] = step
            with torch.no_grad():
                scores.append(float(literal.score(literal.run(model, inputs, zeros)[1], 1)))
        _ = zeros[call].zero_()
        slope = (scores[0] - scores[1]) / 2e-5
        assert derivatives[call][1][head, query, key] == pytest.approx(slope, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("family", ["bert", "gpt2", "vit"])
def test_against_explains_the_difference_of_two_logits(family: str):
    found = one(gradient, family, target=1, against=0)
    expected = reference.gradients(family, inputs_for(family), 1, 0)
    assert found.n_layers == len(expected) == 3
    for mine, (A, slope) in zip(found.layers, expected, strict=True):
        relevance = np.eye(A.shape[1]) + np.maximum(A * slope, 0).mean(axis=0)
        np.testing.assert_allclose(mine, relevance, rtol=1e-4, atol=1e-5)
    _, output = reference.run(family, inputs_for(family))
    score = float(reference.score(output, 1, 0).detach())
    assert found.settings["input_score"] == pytest.approx(score, rel=1e-4)
    assert found.settings["score"] == "logit_difference"
    assert one(gradient, family, target=1).settings["score"] == "logit"
    assert (found.settings["target"], found.settings["other"]) == (1, 0)


@pytest.mark.parametrize("family", PAIRS)
def test_an_encoder_decoder_is_one_graph_over_source_and_target(family: str):
    inputs = inputs_for(family)
    found = one(gradient, family, target=7)
    calls = reference.gradients(family, inputs, 7)
    [attended] = attention(model_of(family), None, inputs)
    assert found.sizes == attended.sizes == (14,) * 8
    assert found.tokens == attended.tokens
    assert len(calls) == 7
    s, t = slice(9), slice(9, None)
    roles = [(s, s)] * 3 + [(t, t), (t, s)] * 2
    for mine, own, (A, slope), (queries, keys) in zip(
        found.layers, attended.layers, calls, roles, strict=True
    ):
        assert (np.isinf(mine) == np.isinf(own)).all()
        relevance = np.maximum(A * slope, 0).mean(axis=0)
        if queries == keys:
            relevance += np.eye(len(relevance))
        else:
            np.testing.assert_array_equal(mine[queries, queries], np.eye(5))
        np.testing.assert_allclose(mine[queries, keys], relevance, rtol=1e-4, atol=1e-5)
    assert found.settings["source_tokens"] == 9
    assert found.settings["encoder_layers"] == 3
    assert found.settings["decoder_layers"] == 2
    assert found.settings["decoder_position"] == 4
    for method in (af.raw, af.rollout, af.flow):
        scores = method(found, layers=[7], queries=[13]).scores
        assert scores.shape == (1, 1, 14)
        assert np.isfinite(scores).all()
        assert scores[..., :9].any()


def test_the_prediction_is_the_default_and_named():
    found = one(gradient, "bert")
    with torch.no_grad():
        best = int(model_of("bert")(**inputs_for("bert")).logits.argmax())
    assert found.settings["target"] == best
    assert found.settings["target_name"] == ("singular", "plural")[best]
    assert_close(found, one(gradient, "bert", target=best), atol=1e-9)
    assert_close(found, one(gradient, "bert", target=("singular", "plural")[best]), atol=1e-9)


def test_a_position_can_be_chosen_where_there_are_several():
    inputs = inputs_for("gpt2")
    whole = one(gradient, "gpt2", target=3, position=4)
    [cut] = gradient(model_of("gpt2"), None, {"input_ids": inputs["input_ids"][:, :5]}, target=3)
    assert whole.settings["position"] == 4
    for mine, own in zip(whole.layers, cut.layers, strict=True):
        np.testing.assert_allclose(mine[:5, :5], own, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(mine[5:, :5], 0)
    with pytest.raises(af.InputError, match="position"):
        _ = one(gradient, "bert", position=0)


def test_frozen_parameters_do_not_matter():
    model = new_model("bert").requires_grad_(False)
    [found] = gradient(model, None, inputs_for("bert"))
    assert_close(found, one(gradient, "bert"), atol=1e-9)
    assert not any(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("outside", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_it_does_not_matter_whether_gradients_are_on(outside: Any):
    expected = one(gradient, "bert")
    ids = inputs_for("bert")["input_ids"].tolist()
    with outside():
        [found] = gradient(model_of("bert"), None, {"input_ids": ids})
    assert_close(found, expected, atol=1e-9)


def test_tensors_made_in_inference_mode_are_taken():
    with torch.inference_mode():
        made = {name: value.clone() for name, value in inputs_for("bert").items()}
    [found] = gradient(model_of("bert"), None, made)
    assert_close(found, one(gradient, "bert"), atol=1e-9)


class Classifier(nn.Module):
    """Two logits from the mean over positions of what a plain module returns."""

    def __init__(self, inner: nn.Module, axis: int = 1) -> None:
        super().__init__()
        self.inner, self.axis, self.head = inner, axis, nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.inner(x).mean(dim=self.axis))


@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_works_with_either_batch_axis(batch_first: bool):
    _ = torch.manual_seed(0)
    model = Classifier(MultiheadEncoder(batch_first=batch_first), 1 if batch_first else 0)
    model = model.double().eval()
    x = torch.randn(1, 9, 16, dtype=torch.float64)
    [found] = gradient(model, None, x if batch_first else x.transpose(0, 1), target=1)
    assert found.sizes == (9, 9, 9, 9)
    # The last layer by hand: the logit is linear in its attention.
    inner: Any = model.inner
    before: list[torch.Tensor] = []
    handle = inner.layers[2].register_forward_pre_hook(lambda _m, args: before.append(args[0]))
    with torch.no_grad():
        _ = model(x if batch_first else x.transpose(0, 1))
        handle.remove()
        (hidden,) = before
        hidden = hidden if batch_first else hidden.transpose(0, 1)
        layer = inner.layers[2]
        queries, keys, values = layer.in_proj_weight.view(3, 16, 16) @ hidden[0].T
        biases = layer.in_proj_bias.view(3, 16, 1)
        q, k, v = (
            (each + bias).view(4, 4, 9)
            for each, bias in zip((queries, keys, values), biases, strict=True)
        )
        A = (q.transpose(1, 2) @ k / 2).softmax(dim=-1)  # (head, query, key)
        slope = layer.out_proj.weight.T @ model.head.weight[1] / 9  # (heads · width)
        slopes = torch.einsum("hd,hdj->hj", slope.view(4, 4), v)[:, None]
        expected = torch.eye(9) + (A * slopes).clamp(min=0).mean(dim=0)
    np.testing.assert_allclose(found.layers[2], expected.numpy(), rtol=0, atol=1e-9)


def test_several_examples_of_a_plain_module_are_an_error():
    model = Classifier(MultiheadEncoder())
    with pytest.raises(af.UnsupportedModelError, match="attention of one sequence, got 2"):
        _ = gradient(model, None, torch.randn(2, 9, 16))


def test_fused_attention_has_the_gradient_of_plain_attention():
    models = [randomized(OwnModel(mix=mix)) for mix in (FusedMix, Mix)]
    ids = inputs_for("bert")["input_ids"]
    [found], [expected] = (gradient(model, None, ids, target=1) for model in models)
    assert_close(found, expected)
    assert all(layer.any() for layer in found.layers)


def test_a_model_that_detaches_its_attention_is_an_error():
    model = new_model("bert")
    _ = model.bert.encoder.layer[1].register_forward_hook(lambda _m, _a, output: output.detach())
    with pytest.raises(af.UnsupportedModelError, match="no gradient by the attention of layer 1"):
        _ = gradient(model, None, inputs_for("bert"))


def _classifier(factor: float) -> Any:
    """A classifier whose logits are so steep."""
    _ = torch.manual_seed(0)
    model = Classifier(MultiheadEncoder()).eval()
    layers: Any = model.inner.layers
    with torch.no_grad():
        _ = model.head.weight.mul_(factor)
        for layer in layers:
            _ = layer.out_proj.weight.mul_(min(factor, 1.0))
    return model


# Derivatives of the first are below the smallest number of float16, those of the last overflow with
# the largest factor of the score.
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_float16_loses_no_small_edges(factor: float):
    x = torch.randn(1, 9, 16, generator=torch.Generator().manual_seed(0)).half()
    [full] = gradient(_classifier(factor), None, x.float(), target=1, identity=False)
    [half] = gradient(_classifier(factor).half(), None, x, target=1, identity=False)
    for expected, found in zip(full.layers, half.layers, strict=True):
        large = expected > 0.05 * expected.max()
        assert large.sum() > 20
        assert (found[large] > 0).all()
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.02 * expected.max())
    assert half.settings["clipped"] == pytest.approx(full.settings["clipped"], abs=0.02)


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
@pytest.mark.parametrize("name", ["target", "against"])
@pytest.mark.parametrize("given", [[0], [0, 1], (1,)])
def test_a_target_for_each_text_is_an_error(method: str, name: str, given: Any):
    model = new_model("gpt2")

    def fail(*_: Any) -> None:
        raise AssertionError  # an error before any pass

    _ = model.register_forward_pre_hook(fail)
    with pytest.raises(af.InputError, match=f"{name}: expected one class or token for all texts"):
        _ = METHODS[method](model, None, inputs_for("gpt2"), **{name: given})
