"""One text or several, tensors with padding, and what is refused."""

from typing import Any

import numpy as np
import pytest
import torch
from edge_models import METHODS, PAIRS, inputs_for, model_of, new_model, one
from own_models import NORM_FIRST, OwnModel
from small_models import small_model
from small_tokenizers import metaspace, tokenizer_for

import attnflow as af
from attnflow import edges
from close_results import assert_close

TEXT = "the old cat sat on the mat"
TEXTS = [TEXT, "the key", "old man, the cat sat"]
# A family that a method supports.
FAMILY = dict.fromkeys(METHODS, "bert") | {"logit_contributions": "llama"}


def _read(method: str, text: Any, family: str = "", **settings: Any) -> Any:
    family = family or FAMILY[method]
    return METHODS[method](model_of(family), tokenizer_for(family), text, **settings)


@pytest.mark.parametrize("method", METHODS)
def test_one_text_gives_one_result_and_a_list_a_list_of_the_same(method: str):
    alone = [_read(method, text) for text in TEXTS]
    assert not any(isinstance(found, list) for found in alone)
    assert_close(_read(method, TEXTS), alone)
    assert_close(_read(method, [TEXT]), alone[:1])
    assert alone[0].origin.text == TEXT


PADDED = [
    (method, family, side)
    for method in METHODS
    for family in (["llama"] if method == "logit_contributions" else ["bert", "mpnet", "llama"])
    for side in ("left", "right")
]


@pytest.mark.parametrize(("method", "family", "side"), PADDED)
def test_padding_does_not_matter(method: str, family: str, side: str):
    ids = inputs_for(family, batch=2)["input_ids"]
    mask = torch.ones_like(ids)
    cut = slice(0, 3) if side == "left" else slice(6, 9)
    mask[1, cut] = 0
    ids[1, cut] = 0
    # What the padding says is no part of the input.
    tokens = ids[1:, mask[1].bool()]
    model, ask = model_of(family), METHODS[method]
    found = ask(model, None, {"input_ids": ids, "attention_mask": mask})
    assert len(found) == 2
    assert_close(found[0], ask(model, None, {"input_ids": ids[:1]})[0], atol=1e-5)
    assert_close(found[1], ask(model, None, {"input_ids": tokens})[0], atol=1e-5)


def test_padding_between_tokens_is_an_error():
    inputs = inputs_for("bert") | {"attention_mask": torch.tensor([[1, 1, 0, 1, 1, 1, 1, 1, 1]])}
    for method in ("norms", "gradient", "effective"):
        with pytest.raises(af.InputError, match="expected padding at the ends of the input only"):
            _ = METHODS[method](model_of("bert"), None, inputs)


@pytest.mark.parametrize("family", PAIRS)
def test_padding_of_a_decoder_is_an_error(family: str):
    mask = torch.tensor([[1, 1, 1, 1, 0]])
    inputs = inputs_for(family) | {"decoder_attention_mask": mask}
    for method in ("gradient", "effective"):
        with pytest.raises(af.InputError, match="padding of a decoder"):
            _ = METHODS[method](model_of(family), None, inputs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a text with at least one word"),
        ("  ", "expected a text with at least one word"),
        ([], "expected at least one text or image, got an empty list"),
        ((), "expected a tuple of two texts, a sentence pair, got 0 values"),
        ([TEXT, ""], "expected a text with at least one word"),
        ([[TEXT, TEXT]], "expected a text, a str; a pair .* got list"),
        ([3], "expected a text, a str, got int"),
        (3, "expected a text, a list of texts, or tensors, got int"),
        ("the " * 70, "expected a text of at most"),
    ],
)
def test_a_text_that_is_none_is_an_error(method: str, text: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = _read(method, text)


@pytest.mark.parametrize("method", METHODS)
def test_a_long_text_can_be_cut(method: str):
    found = _read(method, "the " * 70, truncate=True)
    assert len(found.tokens) == 64
    assert_close(_read(method, ["the " * 70], truncate=True), [found])


@pytest.mark.parametrize("method", ["effective", "norms", "attention"])
@pytest.mark.parametrize("residual", [-0.1, 1, 1.5, "half", True, np.nan])
def test_a_residual_out_of_range_is_an_error(method: str, residual: Any):
    with pytest.raises(af.InputError, match=r"residual must be a number in \[0, 1\)"):
        _ = one(METHODS[method], "bert", residual=residual)


@pytest.mark.parametrize("family", ["bert", "gpt2", "mpnet"])
@pytest.mark.parametrize("method", edges.EDGES)
@pytest.mark.parametrize(
    "names",
    [
        ("value.weight", "c_attn.weight", "attn.v.weight"),
        (".1.output.dense.weight", "mlp.c_proj.weight"),  # of the feed-forward part
    ],
    ids=["values", "feed-forward"],
)
def test_a_model_with_nan_is_an_error_that_says_so(
    method: str, family: str, names: tuple[str, ...]
):
    model = new_model(family)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".1." in name and name.endswith(names):
                _ = parameter.fill_(np.nan)
    with pytest.raises(af.UnsupportedModelError, match="NaN or infinite"):
        _ = METHODS[method](model, None, inputs_for(family))


def test_an_output_with_nan_is_an_error_that_says_so():
    model = new_model("bert")
    with torch.no_grad():
        _ = model.bert.encoder.layer[2].output.dense.weight.fill_(np.nan)
    with pytest.raises(af.UnsupportedModelError, match="NaN or infinite"):
        _ = METHODS["value_zeroing"](model, None, inputs_for("bert"))


def test_times_attention_is_a_bool():
    with pytest.raises(af.InputError, match="times_attention must be a bool, got 1"):
        _ = one(METHODS["gradient"], "bert", times_attention=1)


@pytest.mark.parametrize("argument", ["target", "against"])
@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_an_unknown_class_is_an_error_that_names_the_argument(method: str, argument: str):
    for wrong, message in (
        (2, f"{argument}: expected a class from 0 to 1, got 2"),
        ("dual", f"{argument}: expected one of singular, plural, got 'dual'"),
    ):
        with pytest.raises(af.InputError, match=message):
            _ = one(METHODS[method], "verb-number", **{argument: wrong})


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_an_unknown_token_is_an_error(method: str):
    with pytest.raises(af.InputError, match="against: expected one token, got 'cats and dogs'"):
        _ = _read(method, TEXT, "gpt2", target=" the", against="cats and dogs")
    assert _read(method, TEXT, "gpt2", target=" the").settings["target_name"] == "Ġthe"


@pytest.mark.parametrize("argument", ["target", "against"])
@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_of_two_spellings_the_likelier_is_explained_as_for_importance(method: str, argument: str):
    # The byte-level tokenizer has "s" and " s", and the model one logit for each.
    spellings = tokenizer_for("gpt2").convert_tokens_to_ids(["s", "Ġs"])
    other = {"target": "against", "against": "target"}[argument]
    for likelier in spellings:
        model = new_model("gpt2")
        _ = model.lm_head.register_forward_hook(
            lambda _m, _a, logits, chosen=likelier: logits.index_add(
                -1, torch.tensor([chosen]), torch.full_like(logits[..., :1], 1e3)
            )
        )
        given: Any = {argument: "s", other: 5}
        found = METHODS[method](model, tokenizer_for("gpt2"), TEXT, **given)
        expected = af.importance.input_gradient(
            model, tokenizer_for("gpt2"), TEXT, score="logit_difference", **given
        )
        chosen = "other" if argument == "against" else "target"
        assert found.settings[chosen] == expected.settings[chosen] == likelier


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_a_word_that_begins_with_a_space_in_the_vocabulary_is_found_without_it(method: str):
    found = METHODS[method](model_of("llama"), metaspace(), TEXT, target=0, against="w280")
    assert found.settings["other_name"] == "▁w280"


def test_a_target_of_a_model_without_logits_is_an_error():
    with pytest.raises(af.UnsupportedModelError, match="BertModel: expected an output with logits"):
        _ = METHODS["gradient"](small_model("bert"), None, inputs_for("bert"), target=0)
    base = model_of("llama").model
    with pytest.raises(af.UnsupportedModelError, match="LlamaModel: expected an output with logit"):
        _ = METHODS["logit_contributions"](base, None, inputs_for("llama"), target=0)


def test_several_sequences_of_a_plain_module_are_an_error():
    ids = inputs_for("bert", batch=2)["input_ids"]
    for method in ("norms", "alti", "value_zeroing", "effective"):
        with pytest.raises(af.UnsupportedModelError, match="attention of one sequence, got 2"):
            _ = METHODS[method](OwnModel(), None, ids, layout=NORM_FIRST)


def test_what_is_no_model_is_an_error():
    for method in METHODS.values():
        with pytest.raises(af.InputError, match="expected a torch module"):
            _ = method("bert", None, TEXT)


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_an_array_of_targets_is_as_a_list(method: str):
    with pytest.raises(af.InputError, match="target: expected one class or token for all texts"):
        _ = _read(method, TEXT, target=np.array([1]))


@pytest.mark.parametrize("method", ["gradient", "logit_contributions"])
def test_a_model_loaded_in_inference_mode_has_no_gradients(method: str):
    with torch.inference_mode():
        model = new_model("llama")
    message = r"LlamaForCausalLM are inference tensors.* outside torch\.inference_mode\(\)"
    with pytest.raises(af.InputError, match=message):
        _ = METHODS[method](model, None, inputs_for("llama"))
