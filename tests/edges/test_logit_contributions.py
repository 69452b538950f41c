"""`logit_contributions` is the formula; with the rest, its values sum to the logit."""

import inspect
from typing import Any

import numpy as np
import pytest
import reference
import torch
from edge_models import (
    IMAGES,
    NORM_LAST,
    SUMS,
    inputs_for,
    logit_contributions,
    model_of,
    new_model,
    one,
    randomized,
)
from small_models import DECODERS
from small_tokenizers import tokenizer_for

import attnflow as af
from attnflow.edges import BlockLayout

FINAL = {
    "gpt2": "transformer.ln_f",
    "vit": "vit.layernorm",
    "dinov2": "dinov2.layernorm",
    "dinov2-with-registers": "dinov2_with_registers.layernorm",
    "verb-number": "norm",
}


def _read(family: str, twin: Any, target: int, count: int) -> dict[int, Any]:
    """The weights of the head by the position that it reads, of `count`."""
    name = "classifier" if family in (*IMAGES, "verb-number") else "lm_head"
    weight = reference.array(twin.get_submodule(name).weight[target])
    if not family.startswith("dinov2"):
        return {0 if name == "classifier" else count - 1: weight}
    # CLS, and the mean of the patches; older versions of transformers count registers among them.
    first = 5 if "num_register_tokens" in inspect.getsource(type(twin).forward) else 1
    patches = range(first, count)
    return {0: weight[:16], **dict.fromkeys(patches, weight[16:] / len(patches))}


def _expected(family: str, target: int) -> tuple[Any, float]:
    """The values by the formula, and the logit."""
    layers, twin = reference.layers_of(family), reference.twin_of(family)
    norm: Any = twin.get_submodule(FINAL.get(family, "model.norm"))
    values = np.zeros(len(layers[0].x))
    for p, own in _read(family, twin, target, len(values)).items():
        h, weight = layers[-1].out[p], own * reference.array(norm.weight)
        if "RMS" in type(norm).__name__:
            direction = weight / np.sqrt((h**2).mean() + norm.variance_epsilon)
        else:
            direction = (weight - weight.mean()) / np.sqrt(h.var() + norm.eps)
        values[p] += layers[0].x[p] @ direction
        composed = np.eye(len(values))
        for layer in layers:
            for j, k in np.ndindex(composed.shape):
                values[k] += layer.T[p, j] @ direction * composed[j, k]
            composed = reference.alti(layer)[1] @ composed
    with torch.no_grad():
        _, output = reference.run(family, inputs_for(family))
        return values, float(reference.score(output, target))


@pytest.mark.parametrize("family", SUMS)
def test_values_are_those_of_the_literal_formula_and_sum_to_the_logit(family: str):
    found = one(logit_contributions, family, target=1)
    values, logit = _expected(family, 1)
    np.testing.assert_allclose(found.values, values, rtol=1e-4, atol=1e-4)
    settings = found.settings
    assert len(settings["feed_forward"]) == 3
    rest = sum(settings["feed_forward"]) + settings["bias"]
    assert found.values.sum() + rest == pytest.approx(logit, rel=1e-4, abs=1e-4)
    assert settings["input_score"] == pytest.approx(logit, rel=1e-4, abs=1e-4)
    assert settings["signed"] is True
    assert found.method == "logit_contributions"


@pytest.mark.parametrize("family", SUMS)
def test_the_difference_of_two_logits_is_the_difference_of_their_contributions(family: str):
    first, second = (one(logit_contributions, family, target=t) for t in (1, 0))
    found = one(logit_contributions, family, target=1, against=0)
    np.testing.assert_allclose(found.values, first.values - second.values, rtol=0, atol=1e-4)
    score = first.settings["input_score"] - second.settings["input_score"]
    assert found.settings["input_score"] == pytest.approx(score, abs=1e-4)
    rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    assert found.values.sum() + rest == pytest.approx(score, abs=1e-4)


def test_the_patches_of_an_image_have_names():
    found = one(logit_contributions, "vit")
    assert len(found.tokens) == 17
    assert found.origin.grid.rows == found.origin.grid.columns == 4


def test_a_position_can_be_chosen():
    ids = inputs_for("llama")["input_ids"]
    whole = one(logit_contributions, "llama", target=3, position=4)
    [cut] = logit_contributions(model_of("llama"), None, {"input_ids": ids[:, :5]}, target=3)
    np.testing.assert_allclose(whole.values[:5], cut.values, rtol=0, atol=1e-4)
    assert not whole.values[5:].any()


@pytest.mark.parametrize("family", NORM_LAST)
def test_blocks_that_normalise_last_are_an_error(family: str):
    with pytest.raises(af.UnsupportedModelError, match="needs blocks that normalise first"):
        _ = one(logit_contributions, family)


def test_soft_capped_logits_are_an_error():
    plain, model = new_model("llama"), new_model("llama")
    _ = model.lm_head.register_forward_hook(lambda _m, _a, logits: 2 * torch.tanh(logits / 2))
    assert len(logit_contributions(plain, None, inputs_for("llama"))) == 1
    with pytest.raises(af.UnsupportedModelError, match="its head is not linear"):
        _ = logit_contributions(model, None, inputs_for("llama"))


def test_another_last_norm_is_an_error():
    # Gemma's norm multiplies by 1 + weight, and its embeddings are scaled.
    layout = BlockLayout(
        "self_attn", "self_attn.o_proj", "post_attention_layernorm", norm_first=True,
        final_norm="norm",
    )  # fmt: skip
    model = randomized(DECODERS["gemma"]())
    with pytest.raises(af.UnsupportedModelError, match="GemmaRMSNorm, is not LayerNorm or RMSNorm"):
        _ = logit_contributions(model, None, inputs_for("gemma"), layout=layout)


def test_blocks_that_add_something_else_are_an_error():
    model = new_model("llama")
    _ = model.model.layers[1].register_forward_hook(lambda _m, _a, output: 2 * output)
    # The hook runs before ours in the pass, so what the block adds is known; between blocks it is
    # not.
    assert len(logit_contributions(model, None, inputs_for("llama"))) == 1
    model = new_model("llama")
    _ = model.model.layers[1].register_forward_pre_hook(
        lambda _m, args, kwargs: ((2 * args[0],), kwargs), with_kwargs=True
    )
    with pytest.raises(af.UnsupportedModelError, match="add something else to the residual stream"):
        _ = logit_contributions(model, None, inputs_for("llama"))


def test_half_precision_gives_the_same_but_for_rounding():
    expected = one(logit_contributions, "llama", target=1)
    model = new_model("llama").to(torch.bfloat16)
    [found] = logit_contributions(model, None, inputs_for("llama"), target=1)
    size = np.abs(expected.values).sum()
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=0.05 * size)


def test_a_target_against_itself_is_an_error():
    with pytest.raises(af.InputError, match="against: expected another answer than the target"):
        _ = one(logit_contributions, "verb-number", target="plural", against=1)


def test_a_spelling_stays_that_of_the_unchanged_pass():
    # Without the stream, of which only a bias is left, the other spelling is likelier.
    model, tokenizer = new_model("gpt2"), tokenizer_for("gpt2")
    with torch.no_grad():
        logits = model(tokenizer("the cat", return_tensors="pt").input_ids).logits[0, -1]
    spellings = tokenizer.convert_tokens_to_ids(["s", "Ġs"])
    less, more = sorted(spellings, key=lambda number: float(logits[number]))
    bias = torch.zeros_like(logits)
    bias[less] = (logits[more] - logits[less]) / 2
    _ = model.lm_head.register_forward_hook(lambda _m, _a, found: found + bias)
    found = logit_contributions(model, tokenizer, "the cat", target=5, against="s")
    assert found.settings["other"] == more
    rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    expected = float(logits[5] - logits[more])
    assert found.values.sum() + rest == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("zero", ["difference", "head", "everything"])
def test_a_score_that_does_not_depend_on_the_input_has_contributions_of_zero(
    family: str, zero: str
):
    model = new_model(family)
    with torch.no_grad():
        if zero == "difference":
            _ = model.lm_head.weight[1].copy_(model.lm_head.weight[0])
        elif zero == "head":
            model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
        for parameter in model.parameters() if zero == "everything" else ():
            _ = parameter.zero_()
    answers = {"target": 0, "against": 1 if zero == "difference" else None}
    [found] = logit_contributions(model, None, inputs_for(family), **answers)
    assert found.values.shape == (9,)
    rest = (*found.settings["feed_forward"], found.settings["bias"], found.settings["input_score"])
    assert not any((*found.values, *rest))


def test_return_dict_is_set_whatever_the_inputs_say():
    expected = one(logit_contributions, "llama")
    inputs = {**inputs_for("llama"), "return_dict": False}
    assert logit_contributions(model_of("llama"), None, inputs) == [expected]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ln_g", "no module that contains the blocks has a last norm final_norm='ln_g'"),
        ("h.0.mlp", "its last norm, GPT2MLP, is not LayerNorm or RMSNorm"),
        ("wte", "its last norm, Embedding, is not LayerNorm or RMSNorm"),
    ],
)
def test_a_wrong_last_norm_is_an_error_that_names_it(name: str, message: str):
    layout = BlockLayout("attn", "attn.c_proj", "ln_2", norm_first=True, final_norm=name)
    with pytest.raises(af.UnsupportedModelError, match=message):
        _ = one(logit_contributions, "gpt2", layout=layout)
