"""Images: patches by row and column, special positions by name, scores as a grid."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import (
    IMAGES,
    attend,
    attend_one,
    hf,
    inputs_for,
    rollout_one,
    rollout_segments,
    small_model,
)
from torch import nn

import attnflow as af
from attnflow.models.inputs import Positions, name_positions

PREFIX = {
    "vit": ("[CLS]",),
    "deit": ("[CLS]", "[DIST]"),
    "dinov2": ("[CLS]",),
    "dinov2-with-registers": ("[CLS]", "[REG1]", "[REG2]", "[REG3]", "[REG4]"),
    "clip-vision": ("[CLS]",),
}
# Rows and columns of patches; what the model gets so that it takes an image of that size.
WIDE = {
    "vit": {"interpolate_pos_encoding": True},
    "deit": {"interpolate_pos_encoding": True},
    "dinov2": {},
    "dinov2-with-registers": {},
    "clip-vision": {"interpolate_pos_encoding": True},
}


def test_every_family_of_images_is_here():
    assert PREFIX.keys() == WIDE.keys() == IMAGES.keys()


@pytest.mark.parametrize("family", IMAGES)
def test_special_positions_and_patches_have_their_names(family: str):
    found = attend_one(small_model(family), None, inputs_for(family))
    prefix = PREFIX[family]
    assert found.tokens[: len(prefix)] == prefix
    patches = tuple(f"{row},{column}" for row in range(4) for column in range(4))
    assert found.tokens[len(prefix) :] == patches
    assert found.origin == af.Origin(grid=af.Grid(rows=4, columns=4, prefix=len(prefix)))


@pytest.mark.parametrize("family", IMAGES)
def test_an_image_need_not_be_square(family: str):
    pixels = torch.randn(2, 3, 24, 56, generator=torch.Generator().manual_seed(4))
    inputs = {"pixel_values": pixels, **WIDE[family]}
    prefix = len(PREFIX[family])
    found = attend(small_model(family), None, inputs)
    assert len(found) == 2
    assert found[0].origin.grid == af.Grid(rows=3, columns=7, prefix=prefix)
    assert found[0].tokens[-1] == "2,6"
    rolled = rollout_segments(small_model(family), None, inputs)
    for attention, mine in zip(found, rolled, strict=True):
        expected = af.rollout(attention)
        np.testing.assert_allclose(mine.scores, expected.scores, rtol=0, atol=1e-5)
        assert mine.to_grid().shape == (3, 3, 7)
        np.testing.assert_array_equal(
            mine.to_grid(query=2).reshape(3, 21), mine.scores[:, 2, prefix:]
        )


@pytest.mark.parametrize("family", IMAGES)
def test_scores_of_every_method_fit_the_grid(family: str):
    found = attend_one(small_model(family), None, inputs_for(family), heads="mean")
    for method in (af.raw, af.rollout, af.flow):
        scores = method(found, layers=3, queries=0)
        assert scores.to_grid().shape == (1, 4, 4)


def test_positions_of_what_is_neither_text_nor_image_have_numbers():
    config = hf.ASTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
        patch_size=4, frequency_stride=4, time_stride=4, max_length=32, num_mel_bins=16,
    )  # fmt: skip
    # Sound in patches, which overlap, and no table knows them.
    model = hf.ASTModel(config).eval()
    found = attend_one(model, None, {"input_values": torch.randn(1, 32, 16)})
    assert found.tokens == tuple(map(str, range(found.n_tokens)))
    assert found.origin is None


def test_a_family_that_is_not_known_numbers_its_special_positions():
    config = hf.IJepaConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
        image_size=32, patch_size=8,
    )  # fmt: skip
    found = attend_one(hf.IJepaModel(config).eval(), None, torch.randn(1, 3, 32, 32))
    assert found.tokens[:2] == ("0,0", "0,1")  # it has none
    assert found.origin.grid.prefix == 0
    config = hf.DPTConfig(
        hidden_size=16, num_hidden_layers=4, num_attention_heads=4, intermediate_size=24,
        image_size=32, patch_size=8, backbone_out_indices=[0, 1, 2, 3],
    )  # fmt: skip
    found = attend_one(hf.DPTModel(config).eval(), None, torch.randn(1, 3, 32, 32))
    assert found.tokens[:2] == ("[0]", "0,0")


def test_special_positions_after_the_patches_are_not_taken_for_a_prefix():
    config = hf.YolosConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
        image_size=[32, 32], patch_size=8, num_detection_tokens=5,
    )  # fmt: skip
    model = hf.YolosModel(config).eval()
    found = attend_one(model, None, torch.randn(1, 3, 32, 32))
    assert found.tokens == tuple(map(str, range(1 + 16 + 5)))
    assert found.origin is None
    assert rollout_one(model, None, torch.randn(1, 3, 32, 32)).origin is None


def test_a_known_family_with_other_positions_has_no_grid():
    fields = {"pixel_values": torch.zeros(1, 3, 32, 32)}
    for count in (15, 16, 18):  # expected: one class token and 16 patches
        tokens, origin = name_positions(small_model("vit"), fields, Positions(), count)
        assert (tokens, origin) == (tuple(map(str, range(count))), None)


def test_the_patches_of_an_image_that_a_model_writes_about_are_a_grid():
    vit, gpt2 = small_model("vit").config, small_model("gpt2").config
    both = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vit, gpt2)
    model = hf.VisionEncoderDecoderModel(both).eval()
    inputs = {"decoder_input_ids": torch.tensor([[1, 5, 6]]), **inputs_for("vit")}
    attention, found = attend_one(model, None, inputs), rollout_one(model, None, inputs)
    assert attention.origin == found.origin == af.Origin(grid=af.Grid(4, 4, prefix=1))
    assert found.tokens == attention.tokens
    assert found.tokens[:2] == ("[CLS]", "0,0")
    assert len(found.tokens) == 17 + 3
    grid = found.to_grid(query=19)
    np.testing.assert_array_equal(grid.reshape(-1, 16), found.scores[:, 19, 1:17])
    np.testing.assert_allclose(found.scores, af.rollout(attention).scores, rtol=0, atol=1e-5)
    regions = np.arange(16).reshape(4, 4) // 8
    parts = rollout_one(model, None, inputs, segments=regions)
    assert parts.tokens == ("region 0", "region 1", "[rest]")
    np.testing.assert_allclose(
        parts.scores[:, :, 0], found.scores[:, :, 1:9].sum(axis=-1), rtol=0, atol=1e-5
    )


class PlainViT(nn.Module):
    """A vision transformer as in timm: patches by a convolution, a class token in front."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.cls = nn.Conv2d(3, 16, 8, stride=8), nn.Parameter(torch.zeros(1, 1, 16))
        self.body = FunctionViT()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        return self.body(torch.cat([self.cls.expand(len(x), -1, -1), patches], dim=1))


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_plain_vision_transformer_takes_pixels(batch: int):
    _ = torch.manual_seed(0)
    model = PlainViT().eval()
    pixels: Any = torch.randn(batch, 3, 16, 24)
    every = attend(model, None, pixels)
    assert len(every) == batch
    assert all(attention.weights.shape == (3, 4, 7, 7) for attention in every)
    assert every[0].tokens == tuple("0123456")
    rolled = rollout_segments(model, None, pixels)
    for mine, attention in zip(rolled, every, strict=True):
        np.testing.assert_allclose(mine.scores, af.rollout(attention).scores, rtol=0, atol=1e-5)
