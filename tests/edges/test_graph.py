"""Graphs of edge weights go with every method that composes layers, and with files."""

from pathlib import Path

import numpy as np
import pytest
from edge_models import FAMILIES, METHODS, PAIRS, attention, inputs_for, model_of, one
from small_models import attend_one

import attnflow as af
from attnflow import edges, paper
from attnflow.edges._graph import clip, normalize
from close_results import assert_close

GRAPHS = list(edges.EDGES)
ROWS_TO_ONE = ["attention", "effective", "norms", "alti", "value_zeroing"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ROWS_TO_ONE)
def test_rows_sum_to_one(name: str, family: str):
    found = one(METHODS[name], family)
    assert found.n_layers == 3
    for layer in found.layers:
        assert (layer >= 0).all()
        np.testing.assert_allclose(layer.sum(axis=1), 1, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "gpt2", "vit"])
@pytest.mark.parametrize("name", GRAPHS)
def test_layers_compose_by_every_method(name: str, family: str):
    found = one(METHODS[name], family)
    n = len(found.tokens)
    product = np.eye(n)
    for layer in found.layers:
        product = layer @ product
    np.testing.assert_allclose(af.rollout(found).scores[-1], product, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(af.raw(found).scores[-1], found.layers[-1], rtol=1e-6, atol=1e-9)
    flow = af.flow(found, layers=[3], queries=[n - 1]).scores[0, 0]
    assert af.max_flow(found, source=(3, n - 1), sink=1).value == pytest.approx(flow[1], abs=1e-9)
    assert (flow + 1e-9 >= af.rollout(found, queries=[n - 1]).scores[-1, 0]).all() or (
        name == "gradient"  # its capacities may be larger than one
    )


@pytest.mark.parametrize("name", ["gradient", "norms", "alti", "value_zeroing"])
def test_a_receptive_field_needs_attention_with_a_given_residual(name: str):
    with pytest.raises(af.InputError, match="receptive_field=True is only for causal attention"):
        _ = af.rollout(one(METHODS[name], "bert"), receptive_field=True)
    with pytest.raises(af.InputError, match="receptive_field=True needs the residual of the graph"):
        _ = af.rollout(one(METHODS[name], "gpt2"), receptive_field=True)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("name", METHODS)
def test_a_result_is_saved_and_loaded(name: str, suffix: str, tmp_path: Path):
    found = one(METHODS[name], "verb-number")
    found.save(tmp_path / f"found.{suffix}")
    assert type(found).load(tmp_path / f"found.{suffix}") == found


def test_the_graph_of_an_encoder_decoder_is_saved_and_loaded(tmp_path: Path):
    found = one(METHODS["gradient"], "bart")
    found.save(tmp_path / "found.npz")
    assert af.AttentionGraph.load(tmp_path / "found.npz") == found


@pytest.mark.parametrize("family", [*FAMILIES, *PAIRS])
def test_attention_is_the_graph_of_attend(family: str):
    model, inputs = model_of(family), inputs_for(family)
    [found] = attention(model, None, inputs, heads="max", residual=0.25)
    expected = attend_one(model, None, inputs).graph(heads="max", residual=0.25)
    assert_close(dict(found.settings), {"edges": "attention", **expected.settings})
    assert_close(found.layers, expected.layers)
    assert (found.tokens, found.origin) == (expected.tokens, expected.origin)


@pytest.mark.parametrize("name", GRAPHS)
def test_settings_have_the_name_of_the_edges(name: str):
    found = one(METHODS[name], "bert")
    assert found.settings["edges"] == name
    assert af.rollout(found).settings["edges"] == name


@pytest.mark.parametrize("name", GRAPHS)
def test_tokens_and_what_they_stand_for_are_those_of_attend(name: str):
    for family in ("bert", "vit"):
        found, expected = one(METHODS[name], family), one(attention, family)
        assert found.tokens == expected.tokens
        assert found.origin == expected.origin


def test_clip_and_normalize():
    [clipped], share = clip([np.array([[1.0, -0.5], [0.0, -0.5]])])
    np.testing.assert_array_equal(clipped, [[1.0, 0.0], [0.0, 0.0]])
    assert share == 0.5
    assert clip([np.zeros((2, 2))])[1] == 0
    np.testing.assert_array_equal(normalize(clipped), np.eye(2))
    np.testing.assert_array_equal(
        normalize(np.array([[0.0, 0, 0], [1, 1, 2]])), [[0, 0, 0], [0.25, 0.25, 0.5]]
    )


def test_edges_are_chosen_by_name():
    shipped = paper.load()
    arguments = shipped.model, shipped.tokenizer, "the key to the cabinets"
    for name in edges.EDGES:
        assert_close(edges.edge_graph(*arguments, name), getattr(edges, name)(*arguments))
    with pytest.raises(af.InputError, match="text: expected one text, a str, got list"):
        _ = edges.edge_graph(*arguments[:2], ["the key"], "norms")  # type: ignore[arg-type]
    with pytest.raises(af.InputError, match="edges: expected one of attention, effective"):
        _ = edges.check_edges("attn")
