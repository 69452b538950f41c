import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnflow as af

RECTANGULAR = [np.full((2, 3), 0.5), np.full((4, 2), 0.25)]


def test_layers_may_differ_in_size():
    g = af.AttentionGraph(RECTANGULAR, ["a", "b", "c"])
    assert g.sizes == (3, 2, 4)
    assert g.n_layers == 2
    assert repr(g) == "AttentionGraph(layers=2, nodes=3→2→4)"
    assert g.tops is None
    assert dict(g.settings) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers_keep_their_precision_and_are_read_only_copies(dtype: Any):
    mine = np.eye(3, dtype=dtype)
    g = af.AttentionGraph([mine])
    mine[0, 0] = 7
    assert g.layers[0].dtype == dtype
    assert g.layers[0][0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        g.layers[0][0, 0] = 2


def test_an_array_of_all_layers_and_tensors_are_read():
    stack = np.random.default_rng(0).random((3, 4, 4))
    tensors = tuple(torch.tensor(stack, requires_grad=True))
    assert af.AttentionGraph(stack) == af.AttentionGraph(list(stack)) == af.AttentionGraph(tensors)
    assert af.AttentionGraph(stack.tolist()) == af.AttentionGraph(stack)


def test_unbounded_edges_are_kept_and_read_as_one_in_proportions():
    layer = np.array([[np.inf, 0.0], [0.25, 0.5]], dtype=np.float32)
    g = af.AttentionGraph([layer])
    assert np.array_equal(g.layers[0], layer)
    assert g.proportions(1).dtype == np.float64
    assert np.array_equal(g.proportions(1), [[1.0, 0.0], [0.25, 0.5]])


def test_proportions_of_a_float64_layer_are_no_copy():
    g = af.AttentionGraph([np.eye(3)])
    assert g.proportions(1) is g.layers[0]
    assert g.proportions(1, top=True) is g.layers[0]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers: expected at least one layer, got none"),
        (3.0, "layers: expected one matrix per layer, got float"),
        (
            np.eye(2),
            r"layers\[0\]: expected 2 axes \(n_above, n_below\), none empty, got shape \(2,\)",
        ),
        (
            np.ones((1, 2, 2, 2)),
            r"layers\[0\]: expected 2 axes.* got shape \(2, 2, 2\).*weights with heads",
        ),
        ([np.ones((2, 0))], r"layers\[0\]: .*none empty, got shape \(2, 0\)"),
        ([np.ones((0, 2))], r"layers\[0\]: .*none empty, got shape \(0, 2\)"),
        (RECTANGULAR[::-1], r"layers\[1\] has shape \(2, 3\), layers\[0\] below it \(4, 2\)"),
        ([np.eye(2), [[1, 0], [np.nan, 1]]], r"layers\[1\]\[1, 0\] = nan"),
        ([[[1, -0.5]]], r"weights must be 0 or more, got layers\[0\]\[0, 1\] = -0.5"),
        ([[[1, -np.inf]]], r"layers\[0\]\[0, 1\] = -inf"),
        ([[["a"]]], r"layers\[0\]: expected numbers, got values of type str"),
    ],
)
def test_bad_layers_are_refused(layers: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.AttentionGraph(layers)


def test_tokens_name_the_input():
    with pytest.raises(af.InputError, match="tokens: expected 3, one per position, got 2"):
        _ = af.AttentionGraph(RECTANGULAR, ["a", "b"])


@pytest.mark.parametrize("tops", [RECTANGULAR[:1], [np.eye(2), np.eye(2)]])
def test_tops_have_the_shapes_of_the_layers(tops: Any):
    with pytest.raises(
        af.InputError, match=r"tops: expected the shapes of layers, \[\(2, 3\), \(4, 2\)\], got"
    ):
        _ = af.AttentionGraph(RECTANGULAR, tops=tops)


def test_tops_are_checked_like_layers():
    with pytest.raises(af.InputError, match=r"tops\[0\]\[0, 0\] = -1.0"):
        _ = af.AttentionGraph([[[1.0]]], tops=[[[-1.0]]])


def full_graph() -> af.AttentionGraph:
    tops = [np.full((2, 3), 0.75, dtype=np.float32), np.full((4, 2), np.inf, dtype=np.float32)]
    settings = {"heads": "mean", "sizes": [1, 2]}
    return af.AttentionGraph(RECTANGULAR, ["a", "<b>", "c"], tops=tops, settings=settings)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_gives_back_the_graph(tmp_path: Path, suffix: str):
    for name, g in (("full", full_graph()), ("bare", af.AttentionGraph(RECTANGULAR))):
        path = tmp_path / f"{name}{suffix}"
        g.save(path)
        back = af.AttentionGraph.load(path)
        assert back == g
        assert (back.tops is None) == (g.tops is None)
        if back.tops is not None:
            assert back.tops[0].dtype == np.float32


def test_a_deep_graph_keeps_the_order_of_its_layers(tmp_path: Path):
    g = af.AttentionGraph([np.full((2, 2), float(number)) for number in range(12)])
    g.save(tmp_path / "g.npz")
    assert af.AttentionGraph.load(tmp_path / "g.npz") == g


def test_a_file_with_a_gap_is_refused(tmp_path: Path):
    path = tmp_path / "g.npz"
    np.savez(path, layer_1=np.eye(2), layer_3=np.eye(2))
    with pytest.raises(af.InputError, match=r"g\.npz: layer_2 is missing"):
        _ = af.AttentionGraph.load(path)


def test_a_file_of_attention_is_no_graph(tmp_path: Path):
    path = tmp_path / "a.npz"
    af.Attention(np.ones((1, 1, 1, 1))).save(path)
    with pytest.raises(af.InputError, match=r"expected layer_1, got causal, tokens, weights"):
        _ = af.AttentionGraph.load(path)


def test_copies_are_equal_and_read_only():
    g = full_graph()
    for other in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):  # noqa: S301
        assert other == g
        assert hash(other) == hash(g)
        assert not other.layers[0].flags.writeable
        assert other.settings["sizes"] == (1, 2)
    assert g != af.AttentionGraph(RECTANGULAR)
    assert g != "graph"


def test_the_notebook_table_has_a_row_a_layer():
    html = full_graph()._repr_html_()
    assert html.count("<tr>") == 3
    assert "4 by 2" in html
