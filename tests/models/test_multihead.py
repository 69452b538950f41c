"""Attention of PyTorch's own modules: `nn.MultiheadAttention` and what is built of it."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_checks import LENGTH, X, assert_found, assert_rolls_out, seeded
from plain_modules import MultiheadEncoder
from small_models import attend, rollout_segments
from torch import nn

import attnflow as af
from attnflow.models.capture import _hooks_modules
from close_results import assert_close


def multihead_by_hand(model: Any, x: torch.Tensor) -> torch.Tensor:
    """Weights (layer, batch, head, query, key); `x` is (batch, position, width)."""
    found: list[torch.Tensor] = []
    for layer in model.layers:
        heads = nn.functional.linear(x, layer.in_proj_weight, layer.in_proj_bias)
        query, key, value = heads.unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        found.append((query @ key.transpose(-2, -1) / 2).softmax(dim=-1))
        x = x + layer.out_proj((found[-1] @ value).transpose(1, 2).flatten(2))
    return torch.stack(found).detach()


# ---- nn.MultiheadAttention ------------------------------------------------------------------

ASKED = [
    {},
    {"need_weights": False},
    {"need_weights": True, "average_attn_weights": False},
    {"need_weights": True, "average_attn_weights": True},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_is_captured_however_it_is_called(
    batch_first: bool, asked: dict[str, bool]
):
    model = seeded(MultiheadEncoder, batch_first=batch_first, **asked)
    x = X if batch_first else X.transpose(0, 1)
    assert_found(attend(model, None, x), multihead_by_hand(model, X))
    assert_rolls_out(model, x)


def test_one_example_without_a_batch_gives_a_list_of_one():
    model = seeded(MultiheadEncoder)
    [found] = attend(model, None, X[0])
    expected = multihead_by_hand(model, X[:1])
    np.testing.assert_allclose(found.weights, expected[:, 0].numpy(), rtol=0, atol=1e-6)
    assert_close(attend(model, None, X[:1]), [found])
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


def test_the_caller_of_multihead_attention_gets_what_it_requested():
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
        weights = expected[:, example, :, :n, :n].numpy()
        np.testing.assert_allclose(found.weights, weights, rtol=0, atol=1e-6)
    assert_rolls_out(model, inputs)


def test_the_fast_path_is_off_while_its_modules_are_captured():
    # By itself: another ear turns it off too, by being there.
    model, calls = seeded(encoder), list[Any]()
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3, [False] * 6 + [True]])
    with torch.no_grad(), _hooks_modules._hook_multihead(model, calls.append):
        _ = model(X, src_key_padding_mask=padding)
    expected = encoder_by_hand(model, X, key_padding_mask=padding)
    torch.testing.assert_close(torch.stack([call.weights() for call in calls]), expected)


def test_a_causal_mask_of_an_encoder_makes_it_causal():
    model = seeded(encoder)
    mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    found = attend(model, None, {"src": X, "mask": mask, "is_causal": True})
    assert [attention.causal for attention in found] == [True] * len(X)


@pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True:UserWarning"  # by nn.Transformer with the batch second
)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("length", [4, LENGTH], ids=["shorter", "as-long"])
def test_a_complete_transformer_is_an_encoder_decoder(batch_first: bool, length: int):
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
        _ = rollout_segments(model, None, inputs)
    with pytest.raises(af.UnsupportedModelError, match=r"use attnflow.rollout\(attend"):
        _ = rollout_segments(model, None, {"first": X, "second": X})
