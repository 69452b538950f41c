"""`effective_heads` is effective attention of each head, as an `Attention`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import torch
from edge_models import CAUSAL, FAMILIES, PAIRS, attention, hf, inputs_for, model_of, one
from own_models import NORM_FIRST, OwnModel
from small_tokenizers import tokenizer_for

import attnflow as af
from attnflow import edges, view
from close_results import assert_close

effective_heads: Any = edges.effective_heads


@pytest.mark.parametrize("family", FAMILIES)
def test_each_head_is_the_positive_part_of_the_literal_decomposition(family: str):
    found = one(effective_heads, family)
    layers = reference.layers_of(family)
    assert (found.n_layers, found.n_heads) == (len(layers), len(layers[0].A)) == (3, 4)
    literal = [reference.effective(layer) for layer in layers]
    for mine, heads in zip(found.weights, literal, strict=True):
        for head, expected in zip(mine, heads, strict=True):
            shares = reference.rows_to_one(np.maximum(expected, 0))
            np.testing.assert_allclose(head, shares, rtol=0, atol=1e-5)
    every = np.array(literal)
    clipped = -every[every < 0].sum() / np.abs(every).sum()
    assert found.settings["clipped"] == pytest.approx(clipped, abs=1e-6)
    assert clipped > 0.001
    assert found.settings["edges"] == "effective"
    assert found.settings["equals_attention"] is False
    assert found.causal is (family in CAUSAL)
    expected = one(attention, family)
    assert (found.tokens, found.origin) == (expected.tokens, expected.origin)


def test_it_says_where_it_equals_attention():
    inputs = {name: ids[:, :4] for name, ids in inputs_for("bert").items()}
    [found] = effective_heads(model_of("bert"), None, inputs)
    assert found.settings["equals_attention"] is True


def test_how_it_was_made_is_in_files_graphs_scores_and_pages(tmp_path: Path):
    found = one(effective_heads, "bert")
    found.save(tmp_path / "heads.npz")
    assert af.Attention.load(tmp_path / "heads.npz") == found
    for settings in (found.graph().settings, af.raw(found, head=1).settings):
        assert settings["clipped"] == found.settings["clipped"]
        assert settings["edges"] == "effective"
    assert view.page_data(found)["edges"] == "effective"


def test_methods_take_one_head_and_other_fusions():
    found = one(effective_heads, "bert")
    for method in (af.raw, af.rollout, af.flow):
        assert method(found, head=2, layers=[3]).scores.shape == (1, 9, 9)
    fused = found.graph(heads="max", residual=0.0)
    expected = reference.rows_to_one(found.weights[1].max(axis=0))
    np.testing.assert_allclose(fused.layers[1], expected, rtol=0, atol=1e-6)


def test_one_text_gives_one_result_and_a_list_a_list():
    arguments = model_of("gpt2"), tokenizer_for("gpt2")
    alone = effective_heads(*arguments, "the cat")
    assert_close(effective_heads(*arguments, ["the cat", "the"])[0], alone)


def test_a_layout_names_the_value_projection():
    ids = inputs_for("bert")["input_ids"]
    [found] = effective_heads(OwnModel().eval(), None, ids, layout=NORM_FIRST)
    assert edges.BlockLayout(**found.settings["layout"]) == NORM_FIRST
    assert (found.n_layers, found.n_heads) == (3, 4)


@pytest.mark.parametrize("family", PAIRS)
def test_an_encoder_decoder_is_an_error(family: str):
    with pytest.raises(af.UnsupportedModelError, match="of one sequence, got several"):
        _ = one(effective_heads, family)


def test_memory_that_does_not_suffice_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("attnflow.models.capture._memory.available_bytes", lambda: 0)
    with pytest.raises(af.InputError, match="effective_heads needs about"):
        _ = one(effective_heads, "bert")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_sink_outside_the_sequence_is_refused(dtype: torch.dtype):
    config = hf.GptOssConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, head_dim=4,
        num_key_value_heads=2, intermediate_size=8, num_local_experts=2, num_experts_per_tok=1,
    )  # fmt: skip
    model = hf.GptOssModel(config).to(dtype).eval()
    for method in (edges.attention, edges.effective, effective_heads):
        with pytest.raises(af.UnsupportedModelError, match=r"sum to 1, got a sum of 0\."):
            _ = method(model, None, {"input_ids": torch.ones(1, 5, dtype=torch.int64)})
