import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention

A = random_attention(3, 4, 6, tokens=list("abcdef"))


def test_raw_attention_is_the_mean_of_the_heads_without_residual():
    t = af.raw(A)
    mean = A.weights.astype(np.float64).mean(1)
    assert np.allclose(t.scores, mean / mean.sum(-1, keepdims=True), rtol=1e-14, atol=0)
    assert t.method == "raw"
    assert t.tokens == A.tokens
    assert t.settings["residual"] == 0.0
    assert t.saturated == (False, False, False)


def test_raw_attention_of_a_head_is_that_head():
    alone = A.weights[:, 2].astype(np.float64)
    scores = af.raw(A, head=2).scores
    assert np.allclose(scores, alone / alone.sum(-1, keepdims=True), rtol=1e-14, atol=0)


def test_raw_attention_of_a_graph_is_its_layers():
    g = A.graph()
    assert np.array_equal(af.raw(g).scores, np.stack(g.layers))
    tops = A.graph(head=1).tops
    assert tops is not None
    assert np.array_equal(af.raw(A.graph(head=1)).scores, np.stack(tops))


def test_unbounded_edges_are_weight_one():
    g = af.AttentionGraph([[[np.inf, 0.5]]])
    assert np.array_equal(af.raw(g).scores, [[[1.0, 0.5]]])


def test_selected_layers_and_queries_are_a_slice_of_all():
    t = af.raw(A, layers=[3, 1], queries=[5, 0])
    assert np.array_equal(t.scores, af.raw(A).scores[[2, 0]][:, [5, 0]])
    assert t.layers == (3, 1)
    assert t.queries == (5, 0)


def test_layers_of_different_sizes_are_selected_one_at_a_time():
    g = af.AttentionGraph([np.ones((2, 3)), np.ones((2, 2))], ["a", "b", "c"])
    with pytest.raises(
        af.InputError, match=r"nodes below, got \(1, 2\) with \(3, 2\)\. Compute one layer"
    ):
        _ = af.raw(g)
    assert af.raw(g, layers=1).tokens == ("a", "b", "c")
    assert af.raw(g, layers=2).tokens == ("0", "1")
