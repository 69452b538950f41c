"""Models and ready inputs that do not fit are refused in words that say what to do."""

import importlib.util
from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import attend, hf, inputs_for, rollout, small_model
from small_tokenizers import word_piece
from torch import nn

import attnflow as af

BOTH = pytest.mark.parametrize("function", [attend, rollout], ids=["attend", "rollout"])


# ---- models ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("model", ["bert-base-uncased", None, lambda x: x, nn.Module], ids=repr)
def test_what_is_no_module_is_refused(function: Any, model: Any):
    with pytest.raises(af.InputError, match="came as the model; a torch module is wanted, such as"):
        _ = function(model, word_piece(), "the cat")


@BOTH
def test_a_model_without_numbers_is_refused(function: Any):
    with torch.device("meta"):
        model = hf.BertModel(small_model("bert").config)
    with pytest.raises(af.InputError, match="on the meta device, which holds no numbers; load the"):
        _ = function(model, word_piece(), "the cat")


@BOTH
def test_inputs_on_another_device_are_refused(function: Any):
    ids = inputs_for("bert")["input_ids"].to("meta")
    with pytest.raises(
        af.InputError, match=r"input_ids is on meta, and the model on cpu; move one"
    ):
        _ = function(small_model("bert"), None, {"input_ids": ids})
    with pytest.raises(af.InputError, match=r"inputs.to\('cpu'\)"):
        _ = function(small_model("bert"), None, ids)
    with pytest.raises(af.InputError, match="the input is on meta"):
        _ = function(FunctionViT(), None, torch.ones(1, 3, 16, device="meta"))


def two_towers() -> Any:
    text, vision = small_model("clip-text").config, small_model("clip-vision").config
    config = hf.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict())
    return hf.CLIPModel(config).eval()


@BOTH
@pytest.mark.parametrize("length", [9, 17], ids=["other", "as many as patches"])
def test_a_model_of_two_parts_is_passed_part_by_part(function: Any, length: int):
    model = two_towers()
    ids = inputs_for("clip-text", length=length)["input_ids"]
    pixels = inputs_for("clip-vision")["pixel_values"]
    wanted = r"CLIPModel reads text and image with parts of its own.*model.vision_model"
    with pytest.raises(af.InputError, match=wanted):
        _ = function(model, None, {"input_ids": ids, "pixel_values": pixels})
    image = function(model.vision_model, None, pixels)
    assert image.tokens[:2] == ("[CLS]", "0,0")
    text = function(model.text_model, None, {"input_ids": ids})
    assert len(text.tokens) == length


@pytest.mark.parametrize("package", ["torch"])
@BOTH
def test_a_missing_package_is_named(function: Any, package: str, monkeypatch: Any):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        af.MissingDependencyError, match=r'pip install "attnflow\[models\]"'
    ) as told:
        _ = function(None, None, "the cat")
    assert package in str(told.value)


# ---- images and other things ----------------------------------------------------------------


class Image:
    """Something like a picture from a file."""

    size, mode = (32, 32), "RGB"


@BOTH
@pytest.mark.parametrize("family", ["vit", "bert"])
@pytest.mark.parametrize("thing", [Image(), np.zeros((3, 32, 32)), b"the cat", 5, None])
def test_what_is_neither_text_nor_ready_is_refused(function: Any, family: str, thing: Any):
    wanted = r"a (Image|ndarray|bytes|int|NoneType) came; a text, .* what the model's processor"
    with pytest.raises(af.InputError, match=wanted):
        _ = function(small_model(family), word_piece(), thing)


@BOTH
def test_images_in_a_list_are_refused(function: Any):
    with pytest.raises(af.InputError, match="a Image came where a text is wanted"):
        _ = function(small_model("bert"), word_piece(), [Image(), Image()])


@BOTH
@pytest.mark.parametrize("family", ["vit", "clip-vision", "whisper"])
def test_a_text_for_a_model_that_reads_none_is_refused(function: Any, family: str):
    main = "input_features" if family == "whisper" else "pixel_values"
    with pytest.raises(af.InputError, match=f"a text came, and .* takes {main}; pass what its pro"):
        _ = function(small_model(family), word_piece(), "the cat")


@BOTH
def test_inputs_of_another_kind_are_refused(function: Any):
    pixels, ids = inputs_for("vit"), inputs_for("bert")
    with pytest.raises(
        af.InputError, match="inputs with pixel_values came, and BertModel takes in"
    ):
        _ = function(small_model("bert"), None, pixels)
    with pytest.raises(af.InputError, match="inputs with input_ids came, and ViTModel takes pixel"):
        _ = function(small_model("vit"), None, ids)
    with pytest.raises(af.InputError, match="inputs with nothing came, and BertModel takes input_"):
        _ = function(small_model("bert"), None, {})
    with pytest.raises(
        af.InputError, match=r"input_ids is torch.float32 of shape \(1, 3, 32, 32\)"
    ):
        _ = function(small_model("bert"), None, pixels["pixel_values"])


@BOTH
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input_ids": [[1, 2], [4]]}, "input_ids cannot be read as numbers of one shape: .*; pad"),
        ({"input_ids": [["the", "cat"]]}, "input_ids cannot be read as numbers of one shape"),
        ({"input_ids": np.array([5, 6])}, r"of shape \(2,\); whole numbers \(batch, position\)"),
        ({"input_ids": np.array([[0.5]])}, r"input_ids is torch.float32 of shape \(1, 1\); whole"),
        ({"input_ids": "the"}, r"input_ids is 'the'; whole numbers"),
        ({"input_ids": torch.zeros(0, 4, dtype=torch.int64)}, "hold no tensor with anything in it"),
        ({"input_ids": torch.zeros(1, 0, dtype=torch.int64)}, "hold no tensor with anything in it"),
        ({"input_ids": torch.ones(1, 65, dtype=torch.int64)}, "65 tokens, and the model takes 64"),
        (
            {"input_ids": torch.ones(1, 4, dtype=torch.int64), "attention_mask": torch.ones(1, 3)},
            r"attention_mask has shape \(1, 3\) for .* shape \(1, 4\); give one number a position",
        ),
        (
            {"input_ids": torch.ones(2, 3, dtype=torch.int64),
             "attention_mask": torch.tensor([[1, 1, 1], [0, 0, 0]])},
            "attention_mask leaves nothing of example 1",
        ),
    ],
)  # fmt: skip
def test_ready_inputs_that_do_not_fit_are_refused(function: Any, fields: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model("bert"), None, fields)


@BOTH
def test_one_image_without_a_batch_is_refused(function: Any):
    with pytest.raises(
        af.InputError, match=r"shape \(3, 32, 32\); .* for one image pixel_values\["
    ):
        _ = function(small_model("vit"), None, inputs_for("vit")["pixel_values"][0])


@BOTH
def test_an_empty_input_of_a_plain_module_is_refused(function: Any):
    with pytest.raises(af.InputError, match="hold no tensor with anything in it"):
        _ = function(FunctionViT(), None, torch.ones(0, 3, 16))
