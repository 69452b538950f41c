"""Input that does not fit is refused in words that say what came, what is wanted, what to do."""

import importlib.util
from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import attend, hf, inputs_for, new_model, rollout, small_model
from small_tokenizers import byte_level, metaspace, tokenizer_for, word_piece
from torch import nn

import attnflow as af

BOTH = pytest.mark.parametrize("function", [attend, rollout], ids=["attend", "rollout"])


# ---- texts ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_a_text_of_nothing_is_refused(function: Any, family: str, text: str):
    with pytest.raises(af.InputError, match="has no tokens; pass a text with at least one word"):
        _ = function(small_model(family), tokenizer_for(family), text)
    with pytest.raises(af.InputError, match="has no tokens"):
        _ = function(small_model(family), tokenizer_for(family), ["the cat", text])


@BOTH
@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2", "llama", "bart", "clip-text"])
def test_a_text_that_is_too_long_is_refused_with_both_numbers(function: Any, family: str):
    tokenizer = tokenizer_for(family)
    text = " ".join("a" * 100)
    n = len(tokenizer(text).input_ids)
    wanted = f"the text has {n} tokens, and the model takes 64; shorten it, or pass truncate=True"
    with pytest.raises(af.InputError, match=wanted):
        _ = function(small_model(family), tokenizer, text)
    found = function(small_model(family), tokenizer, text, truncate=True)
    assert len(found.tokens) == 64 + (family == "bart")  # whose decoder has a start token


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_positions_that_serve_no_token_do_not_count(family: str):
    # RoBERTa and its kin count positions from the one after the padding token's id, which is 1.
    model, tokenizer = small_model(family), word_piece()
    text = " ".join("a" * 60)
    assert attend(model, tokenizer, text, heads="mean").n_tokens == 62
    with pytest.raises(af.InputError, match="has 63 tokens, and the model takes 62"):
        _ = attend(model, tokenizer, text + " a")


def test_a_model_without_a_limit_takes_any_length():
    found = attend(small_model("t5"), metaspace(), " ".join("a" * 100), heads="mean")
    assert len(found.source) == 201


def test_a_target_that_is_too_long_is_refused():
    text = " ".join("a" * 100)
    with pytest.raises(af.InputError, match="has 201 tokens, and the model takes 64"):
        _ = attend(small_model("bart"), metaspace(), "the", target=text)
    found = attend(small_model("bart"), metaspace(), "the", target=text, truncate=True)
    assert len(found.target) == 64


@BOTH
def test_a_text_without_a_tokenizer_is_refused(function: Any):
    with pytest.raises(af.InputError, match="without a tokenizer; pass the model's tokenizer, or"):
        _ = function(small_model("bert"), None, "the cat")


@BOTH
def test_an_empty_list_is_refused(function: Any):
    with pytest.raises(af.InputError, match="an empty list of texts came; pass at least one"):
        _ = function(small_model("bert"), word_piece(), [])


@BOTH
def test_the_tokenizer_of_another_model_is_told_by_its_ids(function: Any):
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
    model = hf.BertModel(hf.BertConfig(vocab_size=20, num_hidden_layers=1, **sizes))
    with pytest.raises(
        af.InputError, match=r"knows tokens 0 to 19; pass the model's own tokenizer"
    ):
        _ = function(model, word_piece(), "the cat")
    with pytest.raises(af.InputError, match="the id -1 came, and BertModel knows tokens 0 to 19"):
        _ = function(model, None, {"input_ids": torch.tensor([[3, -1, 5]])})


@pytest.mark.parametrize("heads", ["max", None, 3, ["mean"]])
def test_heads_are_all_or_their_mean(heads: Any):
    with pytest.raises(af.InputError, match=r"heads is .*; use all or mean"):
        _ = attend(small_model("bert"), word_piece(), "the cat", heads=heads)


# ---- targets --------------------------------------------------------------------------------


def test_the_decoder_reads_its_start_token_and_the_target_without_its_end():
    found = attend(small_model("bart"), metaspace(), "the cat", target="old man")
    assert found.source == ("▁the", "▁cat", "</s>")
    assert found.target == ("</s>", "▁old", "▁man")
    assert found.origin.spans == ((0, 3), (4, 7), None, None, (8, 11), (12, 15))


@BOTH
@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (["the", "cat"], ["old"], "2 texts came with 1 targets; give one each"),
        ("the", ["old", "man"], "1 texts came with 2 targets; give one each"),
        (["the", "cat"], "old", "2 texts came with 1 targets; give one each"),
        ("the", "", "has no tokens"),
        ("the", 3, "a int came where a text is wanted"),
        (["the"], [None], "a NoneType came where a text is wanted"),
    ],
)
def test_targets_that_do_not_fit_are_refused(function: Any, text: Any, target: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model("t5"), metaspace(), text, target=target)


@BOTH
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_target_goes_with_a_decoder_of_its_own(function: Any, family: str):
    with pytest.raises(af.InputError, match="has no decoder of its own; put the target behind"):
        _ = function(small_model(family), tokenizer_for(family), "the", target="cat")


@BOTH
def test_a_target_goes_with_a_text(function: Any):
    with pytest.raises(af.InputError, match="target goes with a text, and ready inputs came; put"):
        _ = function(small_model("t5"), None, inputs_for("t5"), target="the")
    with pytest.raises(af.InputError, match="generate goes with a text, and ready inputs came"):
        _ = attend(small_model("gpt2"), None, inputs_for("gpt2"), generate=3)


def test_a_start_token_that_is_not_known_is_asked_for():
    model = new_model("bart")
    for holder in (model.config, model.generation_config):
        holder.decoder_start_token_id = holder.bos_token_id = None
    with pytest.raises(af.InputError, match="names no decoder_start_token_id; pass ready inputs"):
        _ = attend(model, metaspace(), "the cat")


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


# ---- plain modules with texts ---------------------------------------------------------------


class PlainReader(nn.Module):
    """Ids in, attention without any mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.body = nn.Embedding(400, 16), FunctionViT()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.body(self.embedding(ids))


def test_a_plain_module_reads_texts_of_one_length():
    model = PlainReader()
    batch = attend(model, byte_level(), ["the cat", "cat cat"])
    assert [each.tokens for each in batch] == [("the", "Ġ", "cat"), ("cat", "Ġ", "cat")]
    alone = attend(model, byte_level(), "the cat")
    assert alone.tokens == ("the", "Ġ", "cat")
    assert alone.origin.spans == ((0, 3), (3, 4), (4, 7))


@BOTH
def test_texts_of_different_lengths_need_a_mask(function: Any):
    with pytest.raises(
        af.InputError, match="takes no attention_mask, so texts of different length"
    ):
        _ = function(PlainReader(), byte_level(), ["the cat", "the"])
