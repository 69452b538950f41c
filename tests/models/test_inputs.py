"""Invalid texts raise errors with what was expected, what was received, and the fix."""

import inspect
import typing
from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import attend, hf, inputs_for, new_model, rollout_segments, small_model
from small_tokenizers import byte_level, metaspace, tokenizer_for, word_piece
from torch import nn

import attnflow as af

BOTH = pytest.mark.parametrize(
    "function", [attend, rollout_segments], ids=["attend", "rollout_segments"]
)


# ---- texts ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_a_text_of_nothing_is_refused(function: Any, family: str, text: str):
    with pytest.raises(af.InputError, match="expected a text with at least one word, got "):
        _ = function(small_model(family), tokenizer_for(family), text)
    with pytest.raises(af.InputError, match="expected a text with at least one word"):
        _ = function(small_model(family), tokenizer_for(family), ["the cat", text])


@BOTH
@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2", "llama", "bart", "clip-text"])
def test_a_text_that_is_too_long_is_refused_with_both_numbers(function: Any, family: str):
    tokenizer = tokenizer_for(family)
    text = " ".join("a" * 100)
    n = len(tokenizer(text).input_ids)
    message = f"at most 64 tokens, the limit of the model, got {n}. Shorten it, or pass truncate=T"
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model(family), tokenizer, text)
    found = function(small_model(family), tokenizer, text, truncate=True)
    assert len(found.tokens) == 64 + (family == "bart")  # whose decoder has a start token


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_positions_that_serve_no_token_do_not_count(family: str):
    # RoBERTa and its kin count positions from the one after the padding token's id, which is 1.
    model, tokenizer = small_model(family), word_piece()
    text = " ".join("a" * 60)
    assert attend(model, tokenizer, text, heads="mean").n_tokens == 62
    with pytest.raises(af.InputError, match=r"at most 62 tokens, .* got 63"):
        _ = attend(model, tokenizer, text + " a")


def test_a_model_without_a_limit_takes_any_length():
    found = attend(small_model("t5"), metaspace(), " ".join("a" * 100), heads="mean")
    assert len(found.source) == 201


@pytest.mark.parametrize("target", [("the", "key"), [{"role": "user", "content": "the"}]])
def test_a_target_is_one_text(target: Any):
    with pytest.raises(af.InputError, match="text_target: expected a text, a str, got"):
        _ = attend(small_model("t5"), metaspace(), ["the"], text_target=[target])


def test_a_target_that_is_too_long_is_refused():
    text = " ".join("a" * 100)
    with pytest.raises(af.InputError, match=r"at most 64 tokens, .* got 201"):
        _ = attend(small_model("bart"), metaspace(), "the", text_target=text)
    found = attend(small_model("bart"), metaspace(), "the", text_target=text, truncate=True)
    assert len(found.target) == 64


def test_a_target_leaves_one_token_for_the_start_token_without_an_end_token():
    model, tokenizer = small_model("bart"), byte_level()  # 64 positions; no end token
    assert len(attend(model, tokenizer, "the", text_target="a" * 63).target) == 64
    message = "at most 63 tokens, the limit of the model less its start token, got 64. Shorten"
    with pytest.raises(af.InputError, match=message):
        _ = attend(model, tokenizer, "the", text_target="a" * 64)
    found = attend(model, tokenizer, "the", text_target="a" * 64, truncate=True)
    assert found.target[1:] == ("a",) * 63


@BOTH
def test_a_text_without_a_tokenizer_is_refused(function: Any):
    with pytest.raises(
        af.InputError, match=r"needs a tokenizer, got None. Pass the model's tokenizer"
    ):
        _ = function(small_model("bert"), None, "the cat")


@BOTH
@pytest.mark.parametrize(
    "tokenizer", ["bert", {}, lambda **_: {}, type(word_piece()), word_piece().backend_tokenizer]
)
def test_what_is_no_tokenizer_is_refused(function: Any, tokenizer: Any):
    for text in ("the cat", inputs_for("bert")):
        with pytest.raises(af.InputError, match="tokenizer: expected one of transformers, such"):
            _ = function(small_model("bert"), tokenizer, text)


@BOTH
def test_a_processor_of_images_may_come_with_its_image(function: Any):
    assert len(function(small_model("vit"), object(), inputs_for("vit"))[0].tokens) == 17


@BOTH
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_half_a_character_is_refused(function: Any, family: str):
    with pytest.raises(af.InputError, match=r"character 4 of the text is '.ud83d', a lone surr"):
        _ = function(small_model(family), tokenizer_for(family), "the \ud83d cat")


@BOTH
def test_a_word_is_no_answer_to_whether_to_cut_off(function: Any):
    with pytest.raises(af.InputError, match="truncate must be a bool, got 'no'"):
        _ = function(small_model("bert"), word_piece(), "the cat", truncate="no")


@BOTH
def test_an_empty_list_is_refused(function: Any):
    with pytest.raises(
        af.InputError, match="expected at least one text or image, got an empty list"
    ):
        _ = function(small_model("bert"), word_piece(), [])


@BOTH
def test_the_tokenizer_of_another_model_is_detected_by_its_ids(function: Any):
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8}
    model = hf.BertModel(hf.BertConfig(vocab_size=20, num_hidden_layers=1, **sizes))
    with pytest.raises(
        af.InputError, match=r"token ids: expected 0 to 19 for BertModel, got .*own tokenizer"
    ):
        _ = function(model, word_piece(), "the cat")
    with pytest.raises(af.InputError, match="expected 0 to 19 for BertModel, got -1"):
        _ = function(model, None, {"input_ids": torch.tensor([[3, -1, 5]])})


@pytest.mark.parametrize("heads", ["max", None, 3, ["mean"], np.array(["all", "mean"])])
def test_heads_are_all_or_their_mean(heads: Any):
    with pytest.raises(af.InputError, match="heads: expected 'all' or 'mean', got "):
        _ = attend(small_model("bert"), word_piece(), "the cat", heads=heads)


# ---- targets --------------------------------------------------------------------------------


def test_the_decoder_reads_its_start_token_and_the_target_without_its_end():
    found = attend(small_model("bart"), metaspace(), "the cat", text_target="old man")
    assert found.source == ("▁the", "▁cat", "</s>")
    assert found.target == ("</s>", "▁old", "▁man")
    assert found.origin.spans == ((0, 3), (4, 7), None, None, (8, 11), (12, 15))


@BOTH
@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (["the", "cat"], ["old"], "text_target: expected 2, one for each text, got 1"),
        ("the", ["old", "man"], "text_target: expected 1, one for each text, got 2"),
        (["the", "cat"], "old", "text_target: expected 2, one for each text, got 1"),
        ("the", "", "expected a text with at least one word"),
        ("the", 3, "expected a text, a str, got int"),
        (["the"], [None], "expected a text, a str, got NoneType"),
    ],
)
def test_targets_that_do_not_fit_are_refused(function: Any, text: Any, target: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = function(small_model("t5"), metaspace(), text, text_target=target)


@BOTH
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_target_goes_with_a_decoder_of_its_own(function: Any, family: str):
    with pytest.raises(af.InputError, match=r"text_target needs an encoder-decoder, got .* Append"):
        _ = function(small_model(family), tokenizer_for(family), "the", text_target="cat")


@BOTH
def test_a_target_goes_with_a_text(function: Any):
    with pytest.raises(af.InputError, match=r"text_target needs a text, got tensors. Add"):
        _ = function(small_model("t5"), None, inputs_for("t5"), text_target="the")
    with pytest.raises(af.InputError, match="generate needs a text, got tensors"):
        _ = attend(small_model("gpt2"), None, inputs_for("gpt2"), generate=3)


def test_an_unknown_start_token_raises_an_error():
    model = new_model("bart")
    for holder in (model.config, model.generation_config):
        holder.decoder_start_token_id = holder.bos_token_id = None
    with pytest.raises(af.InputError, match=r"has no decoder_start_token_id. Pass tensors with"):
        _ = attend(model, metaspace(), "the cat")


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


@BOTH
def test_overloads_have_every_setting_from_one_list(function: Any):
    parameters = inspect.signature(function).parameters.values()
    names = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    overloads = typing.get_overloads(function)
    assert len(overloads) >= 2
    for overload in overloads:
        listed = overload.__annotations__["settings"].removeprefix("Unpack[").removesuffix("]")
        settings = overload.__globals__[listed].__annotations__
        assert settings.keys() == names
