"""A softmax writes its weights directly to their memory; other weights are copied."""

from typing import Any

import numpy as np
import pytest
import torch
from small_models import attend, attend_one, inputs_for, new_model, own_attention, small_model
from torch.nn import functional

from attnflow.errors import UnsupportedModelError
from attnflow.models.capture._calls import Block
from attnflow.models.capture._hooks_transformers import softmax_into

SHAPE = (1, 2, 3, 3)
SCORES = torch.randn(*SHAPE, generator=torch.manual_seed(0))
IDS = inputs_for("bert", batch=2)["input_ids"]


class CountingBuffer:
    """Memory that counts how often it is requested."""

    def __init__(self) -> None:
        self.memory = torch.full(SHAPE, -1.0)
        self.calls = 0

    def __call__(self, shape: tuple[int, ...]) -> torch.Tensor:
        assert shape == SHAPE
        self.calls += 1
        return self.memory


def run(attention: Any, scores: torch.Tensor = SCORES) -> tuple[CountingBuffer, torch.Tensor]:
    buffer = CountingBuffer()
    with torch.no_grad(), softmax_into(buffer, SHAPE) as softmax:
        weights = attention(scores)
    return buffer, softmax.result(weights)


@pytest.mark.parametrize(
    "attention",
    [
        lambda scores: functional.softmax(scores, dim=-1),
        lambda scores: torch.softmax(scores, dim=3),
        lambda scores: scores.softmax(dim=-1),
        lambda scores: functional.dropout(
            functional.softmax(scores, dim=-1, dtype=torch.float32), training=False
        ),
    ],
)
def test_a_softmax_over_keys_writes_to_the_buffer(attention: Any):
    buffer, weights = run(attention)
    assert weights.data_ptr() == buffer.memory.data_ptr()
    torch.testing.assert_close(weights, SCORES.softmax(dim=-1), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "attention",
    [
        lambda scores: scores.softmax(dim=-2),
        lambda scores: functional.softmax(scores, dim=-1, dtype=torch.float64),
        lambda scores: torch.cat([scores, scores[..., :1]], dim=-1).softmax(dim=-1)[..., :-1],
        lambda scores: scores.bfloat16().softmax(dim=-1),
        lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True),
    ],
)
def test_anything_else_does_not(attention: Any):
    buffer, weights = run(attention)
    assert buffer.calls == 0
    torch.testing.assert_close(weights, attention(SCORES), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "changed",
    [
        lambda weights: weights.mul_(0.5),
        lambda weights: weights.transpose(2, 3),
        lambda weights: weights * 0.5,
    ],
)
def test_weights_changed_after_the_softmax_are_not_in_the_buffer(changed: Any):
    buffer, weights = run(lambda scores: changed(functional.softmax(scores, dim=-1)))
    assert weights.data_ptr() != buffer.memory.data_ptr()
    torch.testing.assert_close(weights, changed(functional.softmax(SCORES, dim=-1)))


def test_a_second_softmax_leaves_what_the_first_wrote():
    buffer, weights = run(
        lambda scores: functional.softmax(scores, dim=-1) - functional.softmax(2 * scores, dim=-1)
    )
    assert buffer.calls == 1
    expected = functional.softmax(SCORES, dim=-1) - functional.softmax(2 * SCORES, dim=-1)
    torch.testing.assert_close(weights, expected)


def test_a_block_takes_the_content_of_its_buffer_without_a_copy_and_grows():
    block, layers = Block(1), np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    for layer in layers:
        buffer = block.buffer(layer.shape)
        buffer[...] = layer
        block.add(buffer)
    np.testing.assert_array_equal(block.stacked(), layers)


@pytest.mark.parametrize("family", ["bert", "distilbert", "llama", "gemma2", "vit", "t5"])
def test_the_softmax_of_one_example_is_not_copied(family: str, monkeypatch: pytest.MonkeyPatch):
    copied: list[bool] = []
    add = Block.add

    def recorded(self: Block, layer: Any) -> None:
        copied.append(layer.ctypes.data != self.buffer(layer.shape).ctypes.data)
        add(self, layer)

    monkeypatch.setattr(Block, "add", recorded)
    _ = attend(small_model(family), None, inputs_for(family, batch=1))
    assert set(copied) == {False}
    copied.clear()
    _ = attend(small_model(family), None, inputs_for(family, batch=2))
    assert set(copied) == {True}


@pytest.mark.parametrize("wrong", [float("nan"), 2.0])
def test_rows_that_a_softmax_wrote_are_checked(wrong: float, monkeypatch: pytest.MonkeyPatch):
    stacked = Block.stacked

    def changed(self: Block) -> Any:
        array: Any = stacked(self)
        array.setflags(write=True)
        array[0, 0, 1, -1] = wrong
        array.setflags(write=False)
        return array

    monkeypatch.setattr(Block, "stacked", changed)
    with pytest.raises(
        UnsupportedModelError, match=r"BertModel(: expected attention rows| is NaN)"
    ):
        _ = attend(small_model("bert"), None, inputs_for("bert", batch=1))


def test_padding_is_cut_away_of_one_example_too():
    mask = torch.ones_like(IDS[:1])
    mask[:, -1] = 0
    found = attend_one(small_model("bert"), None, {"input_ids": IDS[:1], "attention_mask": mask})
    short = attend_one(small_model("bert"), None, {"input_ids": IDS[:1, :-1]})
    np.testing.assert_allclose(found.weights, short.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_under_autocast_attention_is_the_models_own(family: str):
    model, inputs = new_model(family), inputs_for(family, batch=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend_one(model, None, inputs)
        model.set_attn_implementation("eager")
        own = torch.stack([*own_attention(model, inputs).attentions])[:, 0].float()
    own = own / own.sum(dim=-1, keepdim=True)
    np.testing.assert_allclose(found.weights, own.numpy(), rtol=0, atol=1e-6)


def test_in_inference_mode_weights_are_the_same():
    inputs = {"input_ids": IDS[:1]}
    expected = attend_one(small_model("bert"), None, inputs)
    with torch.inference_mode():
        found = attend_one(small_model("bert"), None, inputs)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-6)
