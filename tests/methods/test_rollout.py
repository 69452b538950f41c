import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.methods import _rollout
from attnflow.methods._selection import select
from attnflow.types import random_attention

A = random_attention(4, 3, 6, tokens=list("abcdef"))


def products(layers: Any, onto: int = 0) -> list[NDArray[np.float64]]:
    """The oracle: plain products in float64, R of layers onto + 1, …, L."""
    found: list[NDArray[np.float64]] = []
    for layer in layers[onto:]:
        matrix = np.asarray(layer, dtype=np.float64)
        found.append(matrix @ found[-1] if found else matrix)
    return found


@st.composite
def attentions(draw: st.DrawFn) -> af.Attention:
    sizes = [draw(st.integers(1, high)) for high in (5, 3, 7)]
    return random_attention(*sizes, seed=draw(st.integers(0, 999)), causal=draw(st.booleans()))


@st.composite
def graphs(draw: st.DrawFn) -> af.AttentionGraph:
    """Layers of any sizes; some edges zero, some unbounded."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=6))
    layers = [rng.random((above, below)) for below, above in itertools.pairwise(sizes)]
    for layer in layers:
        layer[rng.random(layer.shape) < 0.2] = 0.0
        layer[rng.random(layer.shape) < 0.1] = np.inf
    return af.AttentionGraph(layers)


# ---- the paper ------------------------------------------------------------------------------


def test_layer_one_is_half_the_attention_and_half_the_identity():
    mean = A.weights[0].astype(np.float64).mean(0)
    mean /= mean.sum(-1, keepdims=True)
    assert np.allclose(af.rollout(A).row(1, 2), (0.5 * mean + 0.5 * np.eye(6))[2], rtol=1e-14)


def test_rollout_is_the_product_of_the_layers():
    g = A.graph()
    assert np.allclose(af.rollout(A).scores, products(g.layers), rtol=1e-13, atol=0)
    assert af.rollout(A) == af.rollout(g)


@pytest.mark.parametrize("queries", [None, [3], [5, 0]])
def test_a_single_head_stands_on_the_fused_layers_below(queries: Any):
    t = af.rollout(A, head=1, queries=queries)
    below = products(A.graph().layers)
    rows = slice(None) if queries is None else queries
    assert t.layers == tuple(range(1, A.n_layers + 1))
    for layer, scores in zip(t.layers, t.scores, strict=True):
        alone = A.weights[layer - 1, 1].astype(np.float64)
        alone = 0.5 * alone / alone.sum(-1, keepdims=True) + 0.5 * np.eye(6)
        expected = alone @ below[layer - 2] if layer > 1 else alone
        assert np.allclose(scores, expected[rows], rtol=1e-13, atol=0)


def test_the_result_says_how_it_was_made():
    t = af.rollout(A.graph(heads="max", residual=0.25, discard_ratio=0.1), onto=1, queries=[2])
    assert t.method == "rollout"
    assert t.tokens == A.tokens
    assert t.layers == (2, 3, 4)
    assert t.queries == (2,)
    assert t.saturated == (False, False, False)
    assert t.settings == {
        "heads": "max",
        "residual": 0.25,
        "discard_ratio": 0.1,
        "head": None,
        "causal": False,
        "onto": 1,
    }


def test_one_token_takes_everything_from_itself():
    assert np.array_equal(
        af.rollout(af.Attention(np.ones((3, 2, 1, 1)))).scores, np.ones((3, 1, 1))
    )


def test_float32_layers_are_multiplied_in_float64():
    layers = [np.random.default_rng(i).random((5, 5)).astype(np.float32) for i in range(4)]
    scores = af.rollout(af.AttentionGraph(layers)).scores
    assert np.allclose(scores, products(layers), rtol=1e-14, atol=0)


def test_nodes_carried_along_keep_what_they_have():
    # Node 1 passes through both layers unchanged.
    layers = [[[0.5, 0.5], [0.0, np.inf]], [[0.25, 0.75], [0.0, np.inf]]]
    t = af.rollout(af.AttentionGraph(layers))
    assert np.array_equal(t.scores[1], [[0.125, 0.875], [0.0, 1.0]])


def test_the_scores_are_read_only_and_nothing_of_the_graph_is_shared():
    g = A.graph()
    t = af.rollout(g, layers=1)
    assert not t.scores.flags.writeable
    assert not np.shares_memory(t.scores, g.layers[0])


# ---- laws -----------------------------------------------------------------------------------
# Without deadlines: the first example of a law may pay for imports and caches.


@settings(deadline=None)
@given(attentions(), st.sampled_from([0.0, 0.3, 0.5]), st.sampled_from(["mean", "max"]))
def test_rollout_rows_are_distributions(a: af.Attention, residual: float, heads: Any):
    scores = af.rollout(a.graph(residual=residual, heads=heads)).scores
    assert scores.min() >= 0
    assert np.allclose(scores.sum(-1), 1, rtol=1e-12)


@settings(deadline=None)
@given(attentions(), st.randoms(use_true_random=False))
def test_permuting_tokens_permutes_scores(a: af.Attention, random: Any):
    order = random.sample(range(a.n_tokens), a.n_tokens)
    moved = af.Attention(a.weights[:, :, order][..., order])
    expected = af.rollout(a).scores[:, order][..., order]
    assert np.allclose(af.rollout(moved).scores, expected, rtol=1e-6, atol=1e-12)


@settings(deadline=None)
@given(attentions())
def test_causal_attention_stays_causal(a: af.Attention):
    if a.causal:
        assert not np.triu(af.rollout(a).scores, k=1).any()


@settings(deadline=None)
@given(graphs())
def test_every_layer_agrees_with_plain_products(g: af.AttentionGraph):
    finite = [np.where(np.isinf(layer), 1.0, layer) for layer in g.layers]
    for layer, expected in enumerate(products(finite), start=1):
        assert np.allclose(af.rollout(g, layers=layer).scores, [expected], rtol=1e-12, atol=0)


@settings(deadline=None)
@given(graphs(), st.data())
def test_onto_composes(g: af.AttentionGraph, data: st.DataObject):
    if g.n_layers > 1:
        onto = data.draw(st.integers(1, g.n_layers - 1))
        upper = af.rollout(g, layers=g.n_layers, onto=onto).scores[0]
        lower = af.rollout(g, layers=onto).scores[0]
        whole = af.rollout(g, layers=g.n_layers).scores[0]
        assert np.allclose(upper @ lower, whole, rtol=1e-12, atol=0)


@settings(deadline=None, max_examples=200)
@given(graphs(), st.data())
def test_selected_layers_and_queries_are_a_slice_of_all(g: af.AttentionGraph, data: st.DataObject):
    onto = data.draw(st.integers(0, g.n_layers - 1))
    above = st.integers(onto + 1, g.n_layers)
    layers = data.draw(st.lists(above, min_size=1, unique=True))
    smallest = min(g.sizes[layer] for layer in layers)
    queries = data.draw(st.lists(st.integers(0, smallest - 1), min_size=1, unique=True))
    t = af.rollout(g, layers=layers, queries=queries, onto=onto)
    assert t.layers == tuple(layers)
    for layer, scores in zip(layers, t.scores, strict=True):
        whole = af.rollout(g, layers=layer, onto=onto).scores[0]
        assert np.allclose(scores, whole[queries], rtol=1e-12, atol=0)


@settings(deadline=None, max_examples=200)
@given(graphs(), st.booleans(), st.data())
def test_both_directions_agree(g: af.AttentionGraph, tops: bool, data: st.DataObject):
    if tops:
        g = af.AttentionGraph(g.layers, tops=[layer + 0.5 for layer in g.layers])
    onto = data.draw(st.integers(0, g.n_layers - 1))
    layers = data.draw(st.lists(st.integers(onto + 1, g.n_layers), min_size=1, unique=True))
    smallest = min(g.sizes[layer] for layer in layers)
    queries = data.draw(st.permutations(range(smallest)))
    chosen = select(g, layers=layers, queries=queries, onto=onto)
    up, down = _rollout._upwards(chosen), _rollout._downwards(chosen)
    assert np.allclose(up, down, rtol=1e-12, atol=0)


def test_few_queries_go_down_and_all_queries_go_up():
    g = random_attention(12, 1, 64).graph()
    few, every = select(g, queries=[0]), select(g)
    assert _rollout._cost_downwards(few) < _rollout._cost_upwards(few)
    assert _rollout._cost_upwards(every) < _rollout._cost_downwards(every)
    assert _rollout._cost_upwards(every) == 11 * 64**3  # the bare chain
