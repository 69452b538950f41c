"""What `attend` captures is what the model itself returns, for every family and implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from small_models import (
    DECODERS,
    FAMILIES,
    IMAGES,
    PAIRS,
    attend,
    attend_one,
    inputs_for,
    new_model,
    own_attention,
    parts,
    small_model,
)
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import flash_attention_mask

from close_results import assert_close

# These compute their attention themselves, without transformers' interface.
NO_INTERFACE = ["mpnet", "deberta", "deberta-v2"]
WITH_INTERFACE = [family for family in FAMILIES if family not in NO_INTERFACE]


def silent_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, **_: Any
) -> tuple[torch.Tensor, None]:
    """In place of flash attention, which needs a GPU: no weights, and its two-axis masks."""
    del module, key, mask
    value = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1)
    return value.mean(2, keepdim=True).expand_as(query).transpose(1, 2), None


AttentionInterface.register("silent", silent_attention)
AttentionMaskInterface.register("silent", flash_attention_mask)

IMPLEMENTATIONS = [
    *((family, "eager") for family in FAMILIES),
    # Gemma 2 has soft caps, which SDPA has not.
    *((family, "sdpa") for family in WITH_INTERFACE if family != "gemma2"),
    # GPT-2 is the only one that transformers does not run with flex attention.
    *((family, "flex_attention") for family in WITH_INTERFACE if family != "gpt2"),
    *((family, "silent") for family in WITH_INTERFACE),
]


def own_parts(output: Any, example: int) -> list[np.ndarray]:
    """The same of what the model returned."""
    fields = ["encoder_attentions", "decoder_attentions", "cross_attentions"]
    pair = "encoder_attentions" in output
    given = [output[field] for field in fields] if pair else [output.attentions]
    return [np.stack([layer[example].float().numpy() for layer in layers]) for layers in given]


# One example is written where it is kept, several are copied there.
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("family", "implementation"), IMPLEMENTATIONS)
def test_attention_is_the_models_own_whatever_implementation_it_runs(
    family: str, implementation: str, batch: int
):
    model = small_model(family, implementation)
    inputs = inputs_for(family, batch=batch)
    output = own_attention(small_model(family, "eager"), inputs)
    found = attend(model, None, inputs)
    assert len(found) == batch
    for example, attention in enumerate(found):
        own = own_parts(output, example)
        assert len(parts(attention)) == len(own) == (3 if family in PAIRS else 1)
        for mine, theirs in zip(parts(attention), own, strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_of_the_test_models_is_far_from_uniform(family: str):
    # So that a wrong mask, scale or bias would show in every other test here.
    for weights in parts(attend_one(small_model(family), None, inputs_for(family))):
        last = weights[-1, :, -1]  # sees everything it may
        assert last.max() > 1.5 * last[last > 0].min()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_is_the_models_own_but_for_the_sums_of_rows(family: str, dtype: torch.dtype):
    model, fields = new_model(family).to(dtype), inputs_for(family)
    inputs = {name: t.to(dtype) if t.is_floating_point() else t for name, t in fields.items()}
    found = attend_one(model, None, inputs)
    model.set_attn_implementation("eager")
    own = own_parts(own_attention(model, inputs), 0)
    for mine, theirs in zip(parts(found), own, strict=True):
        # Rounded weights do not sum to one, so rows are divided by their sums.
        expected = theirs / theirs.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_mean_of_the_heads_is_kept_with_heads_mean(family: str):
    inputs = inputs_for(family, batch=2)
    every = attend(small_model(family), None, inputs)
    means = attend(small_model(family), None, inputs, heads="mean")
    assert len(means) == 2
    for mean, all_heads in zip(means, every, strict=True):
        assert mean.averaged
        assert not all_heads.averaged
        for mine, theirs in zip(parts(mean), parts(all_heads), strict=True):
            assert mine.shape[1] == 1
            np.testing.assert_allclose(mine[:, 0], theirs.mean(axis=1), rtol=0, atol=1e-6)


def test_a_long_sequence_is_averaged_block_by_block_to_the_same():
    for family in ("bert", "llama", "t5", "gemma2"):  # masks, groups, biases, windows in blocks
        inputs = inputs_for(family, batch=2, length=61)
        every = attend(small_model(family), None, inputs)
        means = attend(small_model(family), None, inputs, heads="mean")
        assert len(means) == 2
        for mean, all_heads in zip(means, every, strict=True):
            for mine, theirs in zip(parts(mean), parts(all_heads), strict=True):
                np.testing.assert_allclose(mine[:, 0], theirs.mean(axis=1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in PAIRS])
def test_causal_is_set_from_what_the_model_does(family: str):
    found = attend_one(small_model(family), None, inputs_for(family))
    assert found.causal == (family in DECODERS or family == "clip-text")


def test_sliding_windows_are_in_the_weights():
    found = attend_one(small_model("mistral"), None, inputs_for("mistral"))
    assert found.weights[:, :, 8, :5].max() == 0
    assert found.weights[:, :, 8, 5:].min() > 0


@pytest.mark.parametrize("family", IMAGES)
def test_one_tensor_is_the_main_input(family: str):
    pixels = inputs_for(family)["pixel_values"]
    found = attend_one(small_model(family), None, pixels)
    assert_close(found, attend_one(small_model(family), None, {"pixel_values": pixels}))


@pytest.mark.parametrize("setting", ["output_attentions", "output_hidden_states", "return_dict"])
@pytest.mark.parametrize("family", ["bert", "deberta", "t5", "vit"])
def test_settings_of_the_model_about_its_own_output_do_not_matter(
    family: str, setting: str, monkeypatch: pytest.MonkeyPatch
):
    model = small_model(family, "eager")
    expected = attend(model, None, inputs_for(family))
    monkeypatch.setattr(model.config, setting, not getattr(model.config, setting))
    assert_close(attend(model, None, inputs_for(family)), expected)


def test_an_encoder_decoder_reads_its_start_token_without_a_target():
    inputs = inputs_for("bart")
    del inputs["decoder_input_ids"]
    found = attend_one(small_model("bart"), None, inputs)
    assert found.target == ("2",)
    assert found.cross.shape == (2, 4, 1, 9)


def test_the_encoder_of_a_pair_is_a_model_of_its_own():
    model = small_model("t5")
    whole = attend_one(model, None, inputs_for("t5"))
    ids = inputs_for("t5")["input_ids"]
    alone = attend_one(model.encoder, None, {"input_ids": ids})
    np.testing.assert_allclose(alone.weights, whole.encoder, rtol=0, atol=1e-6)
