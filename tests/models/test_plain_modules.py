"""Attention of plain PyTorch modules: its own module, its function, and a softmax with dropout."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import Blocks, DropoutViT, FunctionAttention, FunctionViT, MultiheadEncoder
from small_models import attend, rollout
from torch import nn

import attnflow as af

LENGTH = 7
X = torch.randn(3, LENGTH, 16, generator=torch.Generator().manual_seed(1)) * 2


def seeded(make: Any, **settings: Any) -> Any:
    """A module in evaluation whose weights do not depend on what ran before."""
    _ = torch.manual_seed(0)
    return make(**settings).eval()


def multihead_by_hand(model: Any, x: torch.Tensor) -> torch.Tensor:
    """Weights (layer, batch, head, query, key); `x` is (batch, position, width)."""
    found: list[torch.Tensor] = []
    for layer in model.layers:
        heads = nn.functional.linear(x, layer.in_proj_weight, layer.in_proj_bias)
        query, key, value = heads.unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        found.append((query @ key.transpose(-2, -1) / 2).softmax(dim=-1))
        x = x + layer.out_proj((found[-1] @ value).transpose(1, 2).flatten(2))
    return torch.stack(found).detach()


def assert_found(found: Any, expected: torch.Tensor) -> None:
    """One result for each example of `expected` (layer, example, head, query, key)."""
    assert len(found) == expected.shape[1]
    for example, attention in enumerate(found):
        wanted = expected[:, example].numpy()
        np.testing.assert_allclose(attention.weights, wanted, rtol=0, atol=1e-6)
        assert attention.tokens == tuple(map(str, range(expected.shape[-1])))


def assert_rolls_out(model: Any, inputs: Any) -> None:
    """Rollout in the pass is the rollout of what is attended to, heads averaged or not."""
    attention = attend(model, None, inputs)
    averaged = attend(model, None, inputs, heads="mean")
    rolled = rollout(model, None, inputs)
    several = isinstance(attention, list)
    for a, m, r in zip(
        attention if several else [attention],
        averaged if several else [averaged],
        rolled if several else [rolled],
        strict=True,
    ):
        np.testing.assert_allclose(r.scores, af.rollout(a).scores, rtol=0, atol=1e-5)
        np.testing.assert_allclose(r.scores, af.rollout(m).scores, rtol=0, atol=1e-5)


# ---- nn.MultiheadAttention ------------------------------------------------------------------

ASKED = [
    {},
    {"need_weights": False},
    {"need_weights": True, "average_attn_weights": False},
    {"need_weights": True, "average_attn_weights": True},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_is_heard_however_it_is_called(
    batch_first: bool, asked: dict[str, bool]
):
    model = seeded(MultiheadEncoder, batch_first=batch_first, **asked)
    x = X if batch_first else X.transpose(0, 1)
    assert_found(attend(model, None, x), multihead_by_hand(model, X))
    assert_rolls_out(model, x)


def test_one_example_without_a_batch_gives_one_result():
    model = seeded(MultiheadEncoder)
    found = attend(model, None, X[0])
    expected = multihead_by_hand(model, X[:1])
    np.testing.assert_allclose(found.weights, expected[:, 0].numpy(), rtol=0, atol=1e-6)
    assert attend(model, None, X[:1]).n_tokens == LENGTH
    assert_rolls_out(model, X[0])


class Positional(nn.Module):
    """Arguments by place, and what is returned looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.seen: list[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padding = torch.zeros(x.shape[:2], dtype=torch.bool)
        ahead = nn.Transformer.generate_square_subsequent_mask(x.shape[1]).isinf()
        for needed in ((False,), (True, ahead), (True, None, False)):
            output, weights = self.attention(x, x, x, padding, *needed)
            self.seen.append(weights)
        return output


def test_the_caller_of_multihead_attention_gets_what_it_asked_for():
    model = seeded(Positional)
    _ = model(X)
    before = model.seen.copy()
    model.seen.clear()
    found = attend(model, None, X)[0]
    assert found.n_layers == 3
    assert (model.seen[0], before[0]) == (None, None)
    assert model.seen[1].shape == before[1].shape == (3, LENGTH, LENGTH)
    assert model.seen[2].shape == before[2].shape == (3, 4, LENGTH, LENGTH)
    for mine, theirs in zip(model.seen[1:], before[1:], strict=True):
        torch.testing.assert_close(mine, theirs)
    assert np.triu(found.weights[1], k=1).max() == 0


# ---- nn.TransformerEncoder and nn.Transformer -----------------------------------------------


def encoder(**settings: Any) -> nn.TransformerEncoder:
    settings = {"batch_first": True, **settings}
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 24, **settings), 3)


def encoder_by_hand(model: Any, x: torch.Tensor, **masks: Any) -> torch.Tensor:
    """Weights (layer, batch, head, query, key), layer by layer without the fast path."""
    found: list[torch.Tensor] = []
    for layer in model.layers:
        attention: Any = layer.self_attn
        asked = {"need_weights": True, "average_attn_weights": False}
        output, weights = attention(x, x, x, **asked, **masks)
        found.append(weights)
        x = layer.norm1(x + output)
        x = layer.norm2(x + layer.linear2(layer.activation(layer.linear1(x))))
    return torch.stack(found).detach()


def test_the_fast_path_of_an_encoder_hides_nothing():
    model = seeded(encoder)
    assert_found(attend(model, None, X), encoder_by_hand(model, X))
    assert_rolls_out(model, X)


@pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors is in prototype:UserWarning"  # by its own fast path
)
def test_padding_of_an_encoder_with_nested_tensors_is_cut_away():
    model = seeded(encoder)
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3, [False] * 6 + [True]])
    with torch.no_grad():
        assert not model(X, src_key_padding_mask=padding)[1, 4:].any(), "the fast path is taken"
    inputs = {"src": X, "src_key_padding_mask": padding}
    expected = encoder_by_hand(model, X, key_padding_mask=padding)
    for example, (found, n) in enumerate(zip(attend(model, None, inputs), (7, 4, 6), strict=True)):
        wanted = expected[:, example, :, :n, :n].numpy()
        np.testing.assert_allclose(found.weights, wanted, rtol=0, atol=1e-6)
    assert_rolls_out(model, inputs)


def test_a_causal_mask_of_an_encoder_makes_it_causal():
    model = seeded(encoder)
    mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    found = attend(model, None, {"src": X, "mask": mask, "is_causal": True})
    assert all(attention.causal for attention in found)


@pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True:UserWarning"  # by nn.Transformer with the batch second
)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("length", [4, LENGTH], ids=["shorter", "as-long"])
def test_a_whole_transformer_is_an_encoder_decoder(batch_first: bool, length: int):
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 24}
    model = seeded(nn.Transformer, d_model=16, nhead=4, batch_first=batch_first, **layers)
    written = X[:, :length].flip(1)
    mask = nn.Transformer.generate_square_subsequent_mask(length)
    inputs = {"src": X, "tgt": written, "tgt_mask": mask}
    if not batch_first:
        inputs |= {"src": X.transpose(0, 1), "tgt": written.transpose(0, 1)}
    found = attend(model, None, inputs)
    assert len(found) == 3
    assert found[0].encoder.shape == (2, 4, LENGTH, LENGTH)
    assert found[0].decoder.shape == (2, 4, length, length)
    assert found[0].cross.shape == (2, 4, length, LENGTH)
    expected = encoder_by_hand(model.encoder, inputs["src"])[:, 0].numpy()
    np.testing.assert_allclose(found[0].encoder, expected, rtol=0, atol=1e-6)
    assert_rolls_out(model, inputs)


def test_padding_at_both_ends_of_a_transformer_is_cut_away():
    model = seeded(nn.Transformer, d_model=16, nhead=4, batch_first=True, dim_feedforward=24)
    source = torch.tensor([[False] * 5 + [True] * 2] * 3)
    target = torch.tensor([[False] * 3 + [True]] * 3)
    masks = {
        "src_key_padding_mask": source,
        "memory_key_padding_mask": source,
        "tgt_key_padding_mask": target,
        "tgt_mask": torch.ones(4, 4, dtype=torch.bool).triu(1),
    }
    found = attend(model, None, {"src": X, "tgt": X[:, :4], **masks})[0]
    assert found.cross.shape[2:] == (3, 5)
    np.testing.assert_allclose(found.cross.sum(axis=-1), 1, rtol=0, atol=1e-5)


class OtherNames(nn.Module):
    """Two sequences whose names tell nothing."""

    def __init__(self) -> None:
        super().__init__()
        sizes: Any = {"num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 8}
        self.body = nn.Transformer(16, 4, batch_first=True, **sizes)

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(second.shape[1])
        return self.body(first, second, tgt_mask=mask)


def test_a_transformer_inside_a_module_is_known_by_the_names_of_its_parts():
    model = seeded(OtherNames)
    inputs = {"first": X, "second": X[:, :4]}
    found = attend(model, None, inputs)[0]
    assert found.cross.shape == (1, 4, 4, LENGTH)
    with pytest.raises(af.UnsupportedModelError, match="4 queries and 4 keys"):
        _ = rollout(model, None, inputs)
    with pytest.raises(af.UnsupportedModelError, match=r"use attnflow.rollout\(attend"):
        _ = rollout(model, None, {"first": X, "second": X})


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
def test_the_fused_function_is_heard_with_all_its_settings(settings: str):
    model = seeded(FunctionViT, **SETTINGS[settings])
    assert_found(attend(model, None, X), function_by_hand(model, X))
    assert_rolls_out(model, X)


def test_the_fused_function_is_averaged_block_by_block_to_the_same():
    model = seeded(FunctionViT, is_causal=True)
    x = torch.randn(1, 150, 16, generator=torch.Generator().manual_seed(2))
    every, mean = attend(model, None, x), attend(model, None, x, heads="mean")
    assert every.causal
    np.testing.assert_allclose(mean.weights[:, 0], every.weights.mean(axis=1), rtol=0, atol=1e-6)
    assert_rolls_out(model, x)  # more columns than go through the fused kernel


class Bare(nn.Module):
    """The function without an axis for heads, or for the batch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


@pytest.mark.parametrize("x", [X, X[0]], ids=["batch", "one"])
def test_the_fused_function_may_come_without_heads(x: torch.Tensor):
    expected = (x @ x.transpose(-2, -1) / 4).softmax(dim=-1).reshape(-1, LENGTH, LENGTH).numpy()
    found = attend(Bare(), None, x)
    for example, attention in enumerate(found if x.ndim == 3 else [found]):
        np.testing.assert_allclose(attention.weights[0, 0], expected[example], rtol=0, atol=1e-6)
    assert_rolls_out(Bare(), x)


def test_attention_within_windows_is_refused():
    with pytest.raises(af.UnsupportedModelError, match="called with 5 axes"):
        _ = attend(Bare(), None, torch.ones(2, 2, 2, 3, 4))

    class Folded(Blocks):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.unflatten(1, (2, 3)).flatten(0, 1))

    for function in (attend, rollout):
        with pytest.raises(af.UnsupportedModelError, match=r"ran on 4 sequences, and 2 came"):
            _ = function(Folded(FunctionAttention()), None, torch.ones(2, 6, 16))


# ---- a softmax with a dropout ---------------------------------------------------------------


def test_weights_that_go_into_a_dropout_are_heard():
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
    assert attend(Odd(weights=True), None, X[:1]).n_layers == 1
    with pytest.raises(af.UnsupportedModelError, match="no attention was heard"):
        _ = attend(Odd(weights=False), None, X[:1])


# ---- all of them ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [MultiheadEncoder, FunctionViT, DropoutViT, encoder])
def test_a_compiled_module_is_run_as_it_was_written(make: Any):
    model = seeded(make)
    expected = attend(model, None, X)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        _ = compiled(X)
    assert attend(compiled, None, X) == expected
    layers: Any = next(each for each in model.children() if isinstance(each, nn.ModuleList))
    for layer in layers:
        layer.compile(backend="eager")  # parts of it
    with torch.no_grad():
        _ = model(X)
    assert attend(model, None, X) == expected


@pytest.mark.parametrize("make", [MultiheadEncoder, FunctionViT, DropoutViT])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_other_precisions_are_close(make: Any, dtype: torch.dtype):
    exact = attend(seeded(make), None, X)
    model = seeded(make).to(dtype)
    # bfloat16 keeps 8 bits, of weights and of each of three layers.
    atol = 0.03 if dtype == torch.bfloat16 else 1e-5
    for mine, theirs in zip(attend(model, None, X.to(dtype)), exact, strict=True):
        assert mine.weights.dtype == np.float32
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=0, atol=atol)
    for mine, theirs in zip(rollout(model, None, X.to(dtype)), exact, strict=True):
        np.testing.assert_allclose(mine.scores, af.rollout(theirs).scores, rtol=0, atol=atol)


def test_arrays_come_in_the_precision_of_the_module():
    model = seeded(FunctionViT)
    found = attend(model, None, {"x": X.double().numpy()})
    assert found == attend(model, None, X)
