"""Attention of modules that call PyTorch's function, or have a softmax with a dropout."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_checks import LENGTH, X, assert_found, assert_rolls_out, seeded
from plain_modules import Blocks, DropoutViT, FunctionAttention, FunctionViT, MultiheadEncoder
from small_models import attend, attend_one, rollout_segments
from torch import nn

import attnflow as af
from close_results import assert_close

# ---- F.scaled_dot_product_attention ---------------------------------------------------------

AHEAD = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
BIAS = torch.randn(3, 4, LENGTH, LENGTH, generator=torch.Generator().manual_seed(5))
ROW = torch.tensor([True] * 5 + [False] * 2)
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "scale": {"scale": 1.3},
    "boolean mask": {"attn_mask": AHEAD},
    "mask of one row": {"attn_mask": ROW[None, None, None]},
    "additive mask": {"attn_mask": BIAS},
    "groups": {"groups": 2, "enable_gqa": True},
    "groups, causal and scale": {"groups": 4, "enable_gqa": True, "is_causal": True, "scale": 0.9},
}


def function_by_hand(model: Any, x: torch.Tensor) -> torch.Tensor:
    """Weights (layer, batch, head, query, key) of a FunctionViT."""
    found: list[torch.Tensor] = []
    for block in model.blocks:
        query = block.q(x).unflatten(-1, (-1, 4)).transpose(1, 2)
        key, value = block.kv(x).unflatten(-1, (2, -1, 4)).permute(2, 0, 3, 1, 4)
        key, value = (t.repeat_interleave(4 // t.shape[1], dim=1) for t in (key, value))
        scores = query @ key.transpose(-2, -1) * block.settings.get("scale", 0.5)
        mask = AHEAD if block.settings.get("is_causal") else block.settings.get("attn_mask")
        if mask is not None:
            additive = mask.dtype != torch.bool
            scores = scores + mask if additive else scores.masked_fill(~mask, -torch.inf)
        found.append(scores.softmax(dim=-1))
        x = x + (found[-1] @ value).transpose(1, 2).flatten(2)
    return torch.stack(found).detach()


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_fused_function_is_captured_with_all_its_settings(settings: str):
    model = seeded(FunctionViT, **SETTINGS[settings])
    assert_found(attend(model, None, X), function_by_hand(model, X))
    assert_rolls_out(model, X)


def test_the_fused_function_is_averaged_block_by_block_to_the_same():
    model = seeded(FunctionViT, is_causal=True)
    x = torch.randn(1, 150, 16, generator=torch.Generator().manual_seed(2))
    every, mean = attend_one(model, None, x), attend_one(model, None, x, heads="mean")
    assert every.causal
    np.testing.assert_allclose(mean.weights[:, 0], every.weights.mean(axis=1), rtol=0, atol=1e-6)
    assert_rolls_out(model, x)  # more columns than go through the fused kernel


class Bare(nn.Module):
    """The function on whatever axes come."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


def test_the_fused_function_may_come_without_batch_and_heads():
    expected = (X[0] @ X[0].T / 4).softmax(dim=-1).numpy()
    found = attend_one(Bare(), None, X[0])
    np.testing.assert_allclose(found.weights[0, 0], expected, rtol=0, atol=1e-6)
    assert_rolls_out(Bare(), X[0])


def test_attention_within_windows_is_refused():
    with pytest.raises(af.UnsupportedModelError, match="got 5 axes"):
        _ = attend(Bare(), None, torch.ones(2, 2, 2, 3, 4))

    class Folded(Blocks):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.unflatten(1, (2, 3)).flatten(0, 1))

    for function in (attend, rollout_segments):
        with pytest.raises(af.UnsupportedModelError, match="expected a batch of 2, got 4"):
            _ = function(Folded(FunctionAttention()), None, torch.ones(2, 6, 16))


# ---- a softmax with a dropout ---------------------------------------------------------------


def test_weights_that_go_into_a_dropout_are_captured():
    model = seeded(DropoutViT)
    x, expected = X, list[torch.Tensor]()
    for block in model.blocks:
        query, key, value = block.qkv(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        expected.append((query @ key.transpose(-2, -1) / 2).softmax(dim=-1))
        x = x + (expected[-1] @ value).transpose(1, 2).flatten(2)
    assert_found(attend(model, None, X), torch.stack(expected).detach())
    assert_rolls_out(model, X)


class Odd(nn.Module):
    """Dropouts of that name which see no weights, or by another way to call them."""

    def __init__(self, *, weights: bool) -> None:
        super().__init__()
        self.attn_drop, self.weights = nn.Dropout(0.1), weights

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.attn_drop(x)
        scores = (x @ x.transpose(-2, -1))[:, None]
        scores = self.attn_drop(input=scores)
        return self.attn_drop(input=scores.softmax(dim=-1)) if self.weights else scores


def test_only_weights_are_taken_for_weights():
    assert attend_one(Odd(weights=True), None, X[:1]).n_layers == 1
    with pytest.raises(af.UnsupportedModelError, match="no supported attention found in Odd"):
        _ = attend(Odd(weights=False), None, X[:1])


# ---- all of them ----------------------------------------------------------------------------


def encoder() -> nn.TransformerEncoder:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 24, batch_first=True), 3)


@pytest.mark.slow
@pytest.mark.parametrize("make", [MultiheadEncoder, FunctionViT, DropoutViT, encoder])
def test_a_compiled_module_is_run_as_it_was_written(make: Any):
    model = seeded(make)
    expected = attend(model, None, X)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        _ = compiled(X)
    assert_close(attend(compiled, None, X), expected)
    layers: Any = next(each for each in model.children() if isinstance(each, nn.ModuleList))
    for layer in layers:
        layer.compile(backend="eager")  # parts of it
    with torch.no_grad():
        _ = model(X)
    assert_close(attend(model, None, X), expected)


@pytest.mark.parametrize("make", [MultiheadEncoder, FunctionViT, DropoutViT])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_other_precisions_are_close(make: Any, dtype: torch.dtype):
    exact = attend(seeded(make), None, X)
    assert len(exact) == len(X)
    model = seeded(make).to(dtype)
    # bfloat16 keeps 8 bits, of weights and of each of three layers.
    atol = 0.03 if dtype == torch.bfloat16 else 1e-5
    for mine, theirs in zip(attend(model, None, X.to(dtype)), exact, strict=True):
        assert mine.weights.dtype == np.float32
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=0, atol=atol)
    for mine, theirs in zip(rollout_segments(model, None, X.to(dtype)), exact, strict=True):
        np.testing.assert_allclose(mine.scores, af.rollout(theirs).scores, rtol=0, atol=atol)


def test_arrays_come_in_the_precision_of_the_module():
    model = seeded(FunctionViT)
    found = attend(model, None, {"x": X.double().numpy()})
    assert_close(found, attend(model, None, X))
