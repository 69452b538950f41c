"""Invalid models and tensors raise errors with the fix."""

import importlib.util
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import (
    attend,
    attend_one,
    hf,
    inputs_for,
    new_model,
    rollout_segments,
    small_model,
)
from small_tokenizers import word_piece
from torch import nn

import attnflow as af

BOTH = pytest.mark.parametrize(
    "function", [attend, rollout_segments], ids=["attend", "rollout_segments"]
)


# ---- models ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("model", ["bert-base-uncased", None, lambda x: x, nn.Module])
def test_what_is_no_module_is_refused(function: Any, model: Any):
    with pytest.raises(af.InputError, match=r"model: expected a torch module, such as .*, got "):
        _ = function(model, word_piece(), "the cat")


@BOTH
def test_a_model_without_numbers_is_refused(function: Any):
    config = small_model("bert").config  # before the device: that model is shared
    with torch.device("meta"):
        model = hf.BertModel(config)
    with pytest.raises(af.InputError, match=r"on the meta device, which have no values. Load"):
        _ = function(model, word_piece(), "the cat")


@BOTH
def test_code_of_torchscript_is_refused(function: Any):
    # Deprecated, and models of that kind are still about.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = torch.jit.script(nn.Linear(4, 4))
    with pytest.raises(af.UnsupportedModelError, match=r"TorchScript .* Pass the original module"):
        _ = function(model, None, torch.ones(1, 3, 4))


@BOTH
def test_inputs_on_another_device_are_refused(function: Any):
    ids = inputs_for("bert")["input_ids"].to("meta")
    with pytest.raises(
        af.InputError, match=r"input_ids: expected a tensor on cpu, .* got one on meta"
    ):
        _ = function(small_model("bert"), None, {"input_ids": ids})
    with pytest.raises(af.InputError, match=r"inputs.to\('cpu'\)"):
        _ = function(small_model("bert"), None, ids)
    with pytest.raises(af.InputError, match="the input: expected a tensor on cpu"):
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
    message = r"CLIPModel has separate models for text and images.*model.vision_model"
    with pytest.raises(af.InputError, match=message):
        _ = function(model, None, {"input_ids": ids, "pixel_values": pixels})
    with pytest.raises(af.InputError, match=message):
        _ = function(model, None, {"input_ids": ids})
    with pytest.raises(af.InputError, match=message):
        _ = function(model, word_piece(), "the cat")
    [image] = function(model.vision_model, None, pixels)
    assert image.tokens[:2] == ("[CLS]", "0,0")
    [text] = function(model.text_model, None, {"input_ids": ids})
    assert len(text.tokens) == length


@BOTH
def test_text_and_image_in_one_sequence_are_refused_in_true_words(function: Any):
    text, vision = small_model("llama").config, small_model("clip-vision").config
    config = hf.LlavaConfig(text_config=text, vision_config=vision, image_token_index=399)
    model = hf.LlavaForConditionalGeneration(config).eval()
    fields = inputs_for("llama") | inputs_for("clip-vision")
    with pytest.raises(
        af.InputError, match=r"LlavaFor.*; text and image in one sequence are not supported"
    ):
        _ = function(model, None, fields)
    assert len(function(model, None, inputs_for("llama"))[0].tokens) == 9


def without_a_distribution() -> dict[str, Any]:
    _ = torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "intermediate_size": 24}
    experts = {"num_key_value_heads": 2, "head_dim": 4, "num_local_experts": 2}
    sink = hf.GptOssForCausalLM(hf.GptOssConfig(**sizes, **experts, num_experts_per_tok=1))
    squeezed = hf.SqueezeBertModel(hf.SqueezeBertConfig(**sizes, embedding_size=16))
    return {"rows that sum to 1, got a sum of 0": sink.eval(), "got -": squeezed.eval()}


@pytest.mark.parametrize("fact", without_a_distribution())
def test_attention_that_is_no_distribution_is_the_models_own_fault(fact: str):
    model = without_a_distribution()[fact]
    message = f"{type(model).__name__}: expected attention .*{fact}"
    with pytest.raises(af.UnsupportedModelError, match=message) as caught:
        _ = attend(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4, 5]])})
    assert "divide by" not in str(caught.value), "advice for arrays does not help here"


def test_the_rollout_of_negative_weights_does_not_blame_the_numbers():
    model = without_a_distribution()["got -"]
    with pytest.raises(
        af.UnsupportedModelError, match=r"rows that sum to 1, got .* or that is no dist"
    ):
        _ = rollout_segments(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4, 5]])})


@pytest.mark.parametrize(("family", "causal"), [("gpt2", True), ("llama", True), ("bert", False)])
def test_one_token_is_causal_where_the_model_says_so(family: str, causal: bool):
    found = attend_one(small_model(family), None, inputs_for(family, length=1))
    assert found.causal == causal
    if causal:
        assert af.rollout(found, receptive_field=True).scores.tolist() == [[[1.0]]] * 3


@BOTH
def test_a_missing_package_is_named(function: Any, monkeypatch: Any):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(af.MissingDependencyError, match=r'models need torch.*"torch>='):
        _ = function(None, None, "the cat")


# ---- images and other things ----------------------------------------------------------------


class Image:
    """Something like a picture from a file."""

    size, mode = (32, 32), "RGB"


@BOTH
@pytest.mark.parametrize("family", ["vit", "bert"])
@pytest.mark.parametrize("thing", [Image(), np.zeros((3, 32, 32)), b"the cat", 5, None])
def test_what_is_neither_text_nor_ready_is_refused(function: Any, family: str, thing: Any):
    message = (
        r"expected a text, .* got (Image|ndarray|bytes|int|NoneType)\. .* the model's processor"
    )
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model(family), word_piece(), thing)


@BOTH
def test_images_in_a_list_are_refused(function: Any):
    with pytest.raises(af.InputError, match="expected a text, a str, got Image"):
        _ = function(small_model("bert"), word_piece(), [Image(), Image()])


@BOTH
@pytest.mark.parametrize("family", ["vit", "clip-vision", "whisper"])
def test_a_text_for_a_model_that_reads_none_is_refused(function: Any, family: str):
    main = "input_features" if family == "whisper" else "pixel_values"
    with pytest.raises(af.InputError, match=f"expected {main} for .*, got a text. Pass the output"):
        _ = function(small_model(family), word_piece(), "the cat")


@BOTH
def test_inputs_of_another_kind_are_refused(function: Any):
    pixels, ids = inputs_for("vit"), inputs_for("bert")
    with pytest.raises(af.InputError, match="expected input_ids for BertModel, got pixel_values"):
        _ = function(small_model("bert"), None, pixels)
    with pytest.raises(af.InputError, match="expected pixel_values for ViTModel, got input_ids"):
        _ = function(small_model("vit"), None, ids)
    with pytest.raises(af.InputError, match="expected input_ids for BertModel, got an empty m"):
        _ = function(small_model("bert"), None, {})
    with pytest.raises(
        af.InputError, match=r"input_ids: .* got torch.float32 of shape \(1, 3, 32, 32\)"
    ):
        _ = function(small_model("bert"), None, pixels["pixel_values"])


@BOTH
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input_ids": [[1, 2], [4]]}, "input_ids cannot be converted to a tensor: .* Pad"),
        ({"input_ids": [["the", "cat"]]}, "input_ids cannot be converted .* of type str"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "messages of a chat as a list.* got a"),
        ({"role": "user", "content": "Hi"}, "messages of a chat as a list, .* with role, content"),
        ({"input_ids": [[{}]]}, "input_ids cannot be converted .* got values of type object"),
        ({"input_ids": np.ones((1, 2), np.longdouble)}, "cannot be converted to a tensor: can't"),
        ({"input_ids": np.array([5, 6])}, r"shape \(batch, position\), got .* of shape \(2,\)"),
        ({"input_ids": np.array([[0.5]])}, r"input_ids: .* got torch.float32 of shape \(1, 1\)"),
        ({"input_ids": "the"}, "input_ids must be a tensor, an array or lists, got 'the'"),
        ({"input_ids": [[5]], "attention_mask": "x"}, "attention_mask must be a tensor.* got 'x'"),
        ({"input_ids": [[True]]}, "input_ids: expected int32 or int64 .* got torch.bool"),
        ({7: [[5]]}, "expected input_ids for BertModel, got 7"),
        ({"input_ids": torch.zeros(0, 4, dtype=torch.int64)}, "expected tensors with a batch"),
        ({"input_ids": torch.zeros(1, 0, dtype=torch.int64)}, "expected tensors with a batch"),
        ({"input_ids": torch.ones(1, 65, dtype=torch.int64)}, "at most 64 tokens, .* got 65"),
        (
            {"input_ids": torch.ones(1, 4, dtype=torch.int64), "attention_mask": torch.ones(1, 3)},
            r"attention_mask: expected shape \(1, 4\), one number per position, got \(1, 3\)",
        ),
        (
            {"input_ids": torch.ones(2, 3, dtype=torch.int64),
             "attention_mask": torch.tensor([[1, 1, 1], [0, 0, 0]])},
            "attention_mask masks every position of example 1",
        ),
    ],
)  # fmt: skip
def test_ready_inputs_that_do_not_fit_are_refused(function: Any, fields: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model("bert"), None, fields)


@pytest.mark.parametrize(
    "ids", [np.array([[7, 6, 5]])[:, ::-1], np.array([[5, 6, 7]], ">i8")], ids=["reversed", "bytes"]
)
def test_arrays_in_another_order_of_memory_are_taken(ids: Any):
    (plain,) = attend(small_model("bert"), None, {"input_ids": [[5, 6, 7]]})
    (found,) = attend(small_model("bert"), None, {"input_ids": ids})
    assert np.array_equal(found.weights, plain.weights)


def ones(length: int) -> torch.Tensor:
    return torch.ones(1, length, dtype=torch.int64)


@BOTH
@pytest.mark.parametrize(
    ("family", "fields", "message"),
    [
        ("bart", {"decoder_input_ids": torch.tensor([[400]])}, "for BartDecoder, got 400"),
        ("bart", {"decoder_input_ids": ones(65)}, "decoder_input_ids: expected at most 64 .*65"),
        ("bart", {"decoder_inputs_embeds": torch.ones(1, 65, 16)}, "decoder_inputs_embeds: .*65"),
        ("bart", {"decoder_input_ids": ones(3)[0]}, "decoder_input_ids: .* got torch.int64 of"),
        ("whisper", {"decoder_input_ids": torch.tensor([[-1]])}, "got -1"),
        ("whisper", {"decoder_input_ids": ones(21)}, "decoder_input_ids: expected at most 20 .*21"),
    ],
)
def test_what_the_decoder_reads_must_fit_it(function: Any, family: str, fields: Any, message: str):
    source = {n: t for n, t in inputs_for(family).items() if not n.startswith("decoder_")}
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model(family), None, source | fields)


@BOTH
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_embeddings_must_fit_the_model(function: Any, family: str):
    model = small_model(family)
    assert len(function(model, None, {"inputs_embeds": torch.ones(1, 64, 16)})[0].tokens) == 64
    with pytest.raises(
        af.InputError, match=r"inputs_embeds: expected at most 64 tokens, .* got 65"
    ):
        _ = function(model, None, {"inputs_embeds": torch.ones(1, 65, 16)})
    with pytest.raises(af.InputError, match=r"inputs_embeds: expected shape .*, got \(5, 16\)"):
        _ = function(model, None, {"inputs_embeds": torch.ones(5, 16)})
    with pytest.raises(af.InputError, match=r"not run on inputs_embeds \(float32 \(1, 5, 17\)\)"):
        _ = function(model, None, {"inputs_embeds": torch.ones(1, 5, 17)})


@BOTH
@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("positions", [[[0, 99]], [[0, 1, 2]]], ids=["beyond the end", "too many"])
def test_an_error_of_the_model_is_raised_with_the_shapes_of_the_inputs(
    function: Any, family: str, positions: Any
):
    fields = {"input_ids": [[5, 6]], "position_ids": positions}
    tensors = r"input_ids \(int64 \(1, 2\)\), position_ids \(int64 "
    message = rf"does not run on {tensors}.*Error: .*; call the model directly for the traceback"
    with pytest.raises(af.InputError, match=message) as caught:
        _ = function(small_model(family), None, fields)
    assert isinstance(caught.value.__cause__, IndexError | RuntimeError)


@BOTH
def test_a_lack_of_memory_is_no_wrong_input(function: Any):
    def refuse(*_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    model = new_model("bert")
    _ = model.register_forward_pre_hook(refuse)
    with pytest.raises(RuntimeError, match="can't allocate memory") as caught:
        _ = function(model, None, inputs_for("bert"))
    assert not isinstance(caught.value, af.AttnflowError)


@BOTH
def test_one_image_without_a_batch_is_refused(function: Any):
    with pytest.raises(
        af.InputError, match=r"got \(3, 32, 32\). For one image pass pixel_values\["
    ):
        _ = function(small_model("vit"), None, inputs_for("vit")["pixel_values"][0])


@BOTH
def test_an_empty_input_of_a_plain_module_is_refused(function: Any):
    with pytest.raises(af.InputError, match="expected tensors with a batch of at least one"):
        _ = function(FunctionViT(), None, torch.ones(0, 3, 16))
