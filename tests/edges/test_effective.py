"""`effective` is the formula, and leaves the output of every head as it is."""

import copy
from collections.abc import Callable
from typing import Any

import literal
import numpy as np
import pytest
import reference
import torch
from edge_models import (
    FAMILIES,
    PAIRS,
    attention,
    effective,
    inputs_for,
    model_of,
    new_model,
    one,
)

import attnflow as af
from attnflow.edges import _effective_weights
from attnflow.edges._effective_weights import effective_weights


@pytest.mark.parametrize("family", FAMILIES)
def test_effective_attention_is_that_of_the_literal_decomposition(family: str):
    found = one(effective, family, residual=0.25)
    layers = reference.layers_of(family)
    means = [reference.effective(layer).mean(axis=0) for layer in layers]
    assert found.n_layers == len(means) == 3
    for mine, mean in zip(found.layers, means, strict=True):
        shares = reference.rows_to_one(np.maximum(mean, 0))
        expected = 0.75 * shares + 0.25 * np.eye(len(shares))
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    every = np.concatenate([mean.ravel() for mean in means])
    clipped = -every[every < 0].sum() / np.abs(every).sum()
    assert found.settings["clipped"] == pytest.approx(clipped, abs=1e-6)
    assert clipped > 0.001
    assert found.settings["equals_attention"] is False


# Which keys a query sees, by their distance from it and by both positions.
MASKS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda i, j: (i >= 0) & (j >= 0),
    "causal": lambda i, j: j <= i,
    "window": lambda i, j: (j <= i) & (i - j < 10),
    "local": lambda i, j: abs(i - j) < 10,
    "chunks": lambda i, j: (j <= i) & (i // 12 == j // 12),
    "prefix": lambda i, j: (j <= i) | (j < 3),
}


def _random(heads: int, groups: int, n: int, width: int, mask: str) -> tuple[Any, Any, Any]:
    """Weights, values with tokens that repeat, and which keys a query sees."""
    seed = torch.Generator().manual_seed(3)
    scores = torch.randn(heads, n, n, generator=seed)
    places = torch.arange(n)
    seen = MASKS[mask](places[:, None], places).expand(n, n)
    values = torch.randn(groups, n, width, generator=seed)
    values[:, n // 2 :] = values[:, : n - n // 2]
    return scores.masked_fill(~seen, -torch.inf).softmax(dim=-1), values, seen


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("n", "width"), [(6, 8), (20, 8), (70, 64), (12, 256), (1, 4), (2, 1)])
def test_the_output_of_every_head_is_the_same_and_nothing_comes_from_what_it_does_not_see(
    n: int, width: int, mask: str
):
    weights, values, seen = _random(4, 2, n, width, mask)
    found = effective_weights(weights, values)
    each = values.repeat_interleave(2, dim=0).double()
    np.testing.assert_allclose(found @ each, weights.double() @ each, rtol=0, atol=1e-6)
    assert not found[:, ~seen].any()
    # Between values that are the same, attention is divided evenly.
    if mask == "none" and n > 1:
        np.testing.assert_allclose(found[:, :, 0], found[:, :, n // 2], rtol=0, atol=1e-6)


@pytest.mark.parametrize("mask", MASKS)
def test_nothing_is_left_that_cannot_change_the_output(mask: str):
    weights, values, seen = _random(4, 2, 40, 8, mask)
    found = effective_weights(weights, values)
    for head, query in np.ndindex(4, 40):
        own = values[head // 2, seen[query]].double().numpy()
        row = found[head, query, seen[query]].numpy()
        # In the space of the values' columns: no combination of rows that is zero is in it.
        expected = own @ np.linalg.lstsq(own, row, rcond=None)[0]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2", "mistral"])
def test_a_weight_that_rounds_to_zero_hides_no_key(family: str):
    model, inputs = new_model(family), inputs_for(family)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in (".query.", ".q_lin.", ".c_attn.", ".q_proj.")):
                _ = parameter[..., :16].mul_(1e4)
    layers = literal.layers_of(
        literal.use_own_attention(copy.deepcopy(model)), reference.PARTS[family], inputs
    )
    [found] = effective(model, None, inputs, residual=0.0)
    places = np.arange(9)
    distances = places[:, None] - places
    visible = {
        "gpt2": distances >= 0,
        "mistral": (distances >= 0) & (distances < 6),  # its window
    }.get(family, distances > -9)
    assert len(layers) == found.n_layers == 3
    for layer, mine in zip(layers, found.layers, strict=True):
        zero = ~layer.A.any(axis=0)
        assert (zero & visible).any()
        mean = reference.effective(layer, visible).mean(axis=0)
        expected = reference.rows_to_one(np.maximum(mean, 0))
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("form", ["causal", "bool", "added"])
def test_a_mask_of_fused_attention_is_known(form: str):
    seed = torch.Generator().manual_seed(0)
    x = torch.randn(1, 1, 9, 4, generator=seed, dtype=torch.float64)
    lower = torch.ones(9, 9, dtype=torch.bool).tril()
    masks: dict[str, Any] = {
        "causal": {"is_causal": True},
        "bool": {"attn_mask": lower},
        "added": {"attn_mask": torch.zeros(9, 9, dtype=x.dtype).masked_fill(~lower, -torch.inf)},
    }

    class Fused(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            fused = torch.nn.functional.scaled_dot_product_attention
            return fused(1e4 * x, x, x, **masks[form])

    [found] = effective(Fused(), None, x, residual=0.0)
    scores = (1e4 * x @ x.transpose(2, 3) / 2).masked_fill(~lower, -torch.inf)
    weights = scores.softmax(dim=-1)[0]
    assert not weights[:, lower].all()
    mean = effective_weights(weights, x[0], lower).mean(dim=0).clamp(min=0)
    expected = mean / mean.sum(dim=-1, keepdim=True)
    np.testing.assert_allclose(found.layers[0], expected.numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", [*FAMILIES, *PAIRS])
def test_the_output_of_a_models_heads_is_the_same(family: str):
    inputs = inputs_for(family)
    if "input_ids" in inputs:  # with repeated tokens
        inputs["input_ids"] = inputs["input_ids"].repeat(1, 2)
    found: list[tuple[torch.Tensor, torch.Tensor]] = []
    original = _effective_weights.effective_weights

    def record(weights: torch.Tensor, values: torch.Tensor, visible: Any) -> torch.Tensor:
        result = original(weights, values, visible)
        each = values.repeat_interleave(len(weights) // len(values), dim=0).double()
        found.append((result @ each, weights.double() @ each))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_effective_weights, "effective_weights", record)
        _ = effective(model_of(family), None, inputs)
    assert len(found) == (7 if family in PAIRS else 3)
    for mine, own in found:
        np.testing.assert_allclose(mine, own, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mask", MASKS)
def test_a_few_queries_at_a_time_give_the_same(mask: str, monkeypatch: pytest.MonkeyPatch):
    weights, values, _ = _random(4, 2, 20, 8, mask)
    expected = effective_weights(weights, values)
    monkeypatch.setattr(_effective_weights, "_MAX_ELEMENTS", 3 * 8 * 8)
    found = effective_weights(weights, values)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_values_that_are_all_zero_have_no_effective_attention():
    for mask in MASKS:
        weights, values, _ = _random(2, 2, 5, 4, mask)
        assert not effective_weights(weights, torch.zeros_like(values)).any()


@pytest.mark.parametrize("mask", ["causal", "window"])
def test_thousands_of_equal_values_share_attention(mask: str):
    # Sums of the products of values round to matrices that are not positive definite.
    seed = torch.Generator().manual_seed(0)
    places = torch.arange(2000)
    seen = MASKS[mask](places[:, None], places)
    values = torch.randn(1, 1, 8, generator=seed, dtype=torch.float64).expand(1, 2000, 8)
    weights = torch.rand(1, 2000, 2000, generator=seed).masked_fill(~seen, 0)
    weights /= weights.sum(dim=-1, keepdim=True)
    expected = seen / seen.sum(dim=-1, keepdim=True)
    found = effective_weights(weights, values)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("family", ["bert", "mpnet", "gpt2", "llama", "verb-number", "t5", "bart"])
def test_it_equals_attention_for_no_more_tokens_than_a_head_has_dimensions(family: str):
    inputs = {name: ids[:, :4] for name, ids in inputs_for(family).items()}
    [found] = effective(model_of(family), None, inputs)
    assert found.settings["equals_attention"] is True
    [expected] = attention(model_of(family), None, inputs)
    # Random values may be close to one another, and then rounding counts.
    for mine, own in zip(found.layers, expected.layers, strict=True):
        np.testing.assert_allclose(mine, own, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", PAIRS)
def test_an_encoder_decoder_is_one_graph_over_source_and_target(family: str):
    [found] = effective(model_of(family), None, inputs_for(family))
    [expected] = attention(model_of(family), None, inputs_for(family))
    assert found.sizes == expected.sizes
    assert found.tokens == expected.tokens
    for mine, own in zip(found.layers, expected.layers, strict=True):
        assert (np.isinf(mine) == np.isinf(own)).all()
    assert found.settings["source_tokens"] == 9
    assert af.rollout(found).scores.shape == (7, 14, 14)


def test_half_precision_takes_nothing_more_away():
    inputs = inputs_for("bert")
    [found] = effective(new_model("bert").to(torch.bfloat16), None, inputs)
    expected = one(effective, "bert")
    for mine, own in zip(found.layers, expected.layers, strict=True):
        np.testing.assert_allclose(mine, own, rtol=0, atol=0.05)


def test_the_values_of_a_call_without_heads_are_one_head():
    class OneHead(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    [found] = effective(OneHead(), None, x)
    weights = (x @ x.T / 2).softmax(dim=-1)[None]
    expected = effective_weights(weights, x[None])[0].clamp(min=0)
    expected /= expected.sum(dim=-1, keepdim=True)
    np.testing.assert_allclose(
        found.layers[0], expected.numpy() / 2 + np.eye(9) / 2, rtol=0, atol=1e-5
    )
