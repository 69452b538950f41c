"""What holds for the flow of every graph."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention

Agree = Callable[..., bool]
Slack = Callable[..., float]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Matrices = Callable[..., dict[int, NDArray[np.float64]]]

A = random_attention(4, 3, 6)

# Random graphs are chosen by a seed. Laws have no deadline: the first example may compile.
SEEDS = st.integers(0, 9_999)
law = settings(deadline=None, max_examples=60)


# ---- laws -----------------------------------------------------------------------------------


@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.3, 0.5]))
@law
def test_flow_is_never_below_rollout(seed: int, causal: bool, residual: float):
    g = random_attention(1 + seed % 5, 2, 1 + seed % 8, seed=seed, causal=causal).graph(
        residual=residual
    )
    assert (af.flow(g).scores >= af.rollout(g).scores - 1e-9).all()


@given(seed=SEEDS)
@law
def test_flow_is_bounded_by_what_leaves_the_source_and_what_enters_the_sink(
    any_family: Family, seed: int, matrices: Matrices
):
    layers = any_family(np.random.default_rng(seed))
    entering = layers[0].sum(axis=0, dtype=np.float64)
    for number, scores in matrices(layers).items():
        leaving = layers[number - 1].sum(axis=1, dtype=np.float64)
        ceiling = np.minimum.outer(leaving, entering)
        assert (scores >= 0).all()
        assert (scores <= ceiling * (1 + 1e-12)).all()


@given(seed=SEEDS)
@law
def test_more_capacity_never_lowers_flow(
    any_family: Family, seed: int, matrices: Matrices, slack: Slack
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    wider = [layer.copy() for layer in layers]
    layer = wider[rng.integers(len(wider))]
    place = tuple(rng.integers(layer.shape))
    layer[place] += rng.choice([1e-6, 1.0, np.inf])
    before, after = matrices(layers), matrices(wider)
    for number, scores in before.items():
        assert (after[number] >= scores - slack(wider)).all()


@given(seed=SEEDS, exponent=st.integers(-20, 20))
@law
def test_a_power_of_two_scales_flow_exactly(
    any_family: Family, seed: int, exponent: int, matrices: Matrices
):
    layers = any_family(np.random.default_rng(seed))
    scaled = matrices([np.ldexp(layer, exponent) for layer in layers])
    for number, scores in matrices(layers).items():
        assert np.array_equal(scaled[number], np.ldexp(scores, exponent))


@given(seed=SEEDS, factor=st.floats(1e-3, 1e3))
@law
def test_any_factor_scales_flow(
    any_family: Family, agree: Agree, seed: int, factor: float, matrices: Matrices
):
    layers = [layer.astype(np.float64) for layer in any_family(np.random.default_rng(seed))]
    scaled_layers = [factor * layer for layer in layers]
    scaled = matrices(scaled_layers)
    for number, scores in matrices(layers).items():
        assert agree(scaled[number], factor * scores, scaled_layers)


@given(seed=SEEDS)
@law
def test_permuting_the_nodes_of_any_layer_permutes_scores(
    any_family: Family, agree: Agree, seed: int, matrices: Matrices
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    orders = [rng.permutation(n) for n in (layers[0].shape[1], *map(len, layers))]
    moved = [
        layer[np.ix_(orders[number], orders[number - 1])]
        for number, layer in enumerate(layers, start=1)
    ]
    after = matrices(moved)
    for number, scores in matrices(layers).items():
        assert agree(after[number], scores[np.ix_(orders[number], orders[0])], layers)


@given(seed=SEEDS)
@law
def test_flow_onto_a_layer_is_flow_in_the_graph_above_it(
    any_family: Family, agree: Agree, seed: int, matrices: Matrices
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    onto = int(rng.integers(len(layers)))
    alone = matrices(layers[onto:])
    for number, scores in matrices(layers, onto).items():
        assert agree(scores, alone[number - onto], layers)


@given(seed=SEEDS)
@law
def test_what_lies_above_a_layer_does_not_change_it(
    any_family: Family, agree: Agree, seed: int, matrices: Matrices
):
    layers = any_family(np.random.default_rng(seed))
    whole = matrices(layers)
    for number, scores in matrices(layers[: (len(layers) + 1) // 2]).items():
        assert agree(scores, whole[number], layers)


@given(seed=SEEDS, data=st.data())
@law
def test_selected_layers_and_queries_are_a_slice_of_all(
    any_family: Family, agree: Agree, seed: int, data: st.DataObject, matrices: Matrices
):
    layers = any_family(np.random.default_rng(seed))
    g = af.AttentionGraph(layers)
    onto = data.draw(st.integers(0, g.n_layers - 1))
    above = st.integers(onto + 1, g.n_layers)
    numbers = data.draw(st.lists(above, min_size=1, unique=True))
    smallest = min(g.sizes[number] for number in numbers)
    queries = data.draw(st.lists(st.integers(0, smallest - 1), min_size=1, unique=True))
    whole = matrices(layers, onto)
    t = af.flow(g, layers=numbers, queries=queries, onto=onto)
    assert t.layers == tuple(numbers)
    assert t.queries == tuple(queries)
    for number, scores in zip(numbers, t.scores, strict=True):
        assert agree(scores, whole[number][queries], layers)


@given(seed=SEEDS)
@law
def test_the_number_of_threads_does_not_change_a_bit(
    any_family: Family, seed: int, matrices: Matrices
):
    layers = any_family(np.random.default_rng(seed))
    one = matrices(layers, threads=1)
    for threads in (2, 3, None):
        more = matrices(layers, threads=threads)
        assert all(np.array_equal(one[number], more[number]) for number in one)


@pytest.mark.parametrize("n_tokens", [10, 24, 40])
def test_the_number_of_threads_does_not_change_a_bit_of_deep_attention(n_tokens: int):
    g = random_attention(14, 4, n_tokens, seed=n_tokens).graph()
    one = af.flow(g, threads=1)
    assert True in one.saturated
    for threads in (2, 3, 7):
        assert np.array_equal(af.flow(g, threads=threads).scores, one.scores)


def test_the_number_of_threads_does_not_change_a_bit_of_rows_that_are_nearly_equal():
    # Values within 1e-12 of each other are distinguished, or not, in the same way by every thread.
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, n_layers = int(rng.integers(3, 8)), int(rng.integers(7, 13))
        off = 10.0 ** -rng.integers(11, 15)
        layers: list[NDArray[np.float64]] = []
        for _ in range(n_layers):
            layer = rng.integers(0, 3, (n, n)) + np.eye(n)
            layer *= (1 - off * rng.random((n, n))) / layer.sum(axis=1, keepdims=True)
            layers.append(layer)
        g = af.AttentionGraph(layers)
        one, more = (af.flow(g, threads=threads).scores for threads in (1, n))
        assert np.array_equal(one, more)


@pytest.mark.parametrize("seed", range(4))
def test_the_selection_of_queries_does_not_change_a_bit_of_deep_attention(seed: int):
    g = random_attention(14, 4, 16, seed=seed).graph()
    whole = af.flow(g)
    assert np.array_equal(af.flow(g, layers=[14, 9]).scores, whole.scores[[13, 8]])
    assert np.array_equal(af.flow(g, queries=[7, 2]).scores, whole.scores[:, [7, 2]])
    assert np.array_equal(af.flow(g, layers=11, queries=3).scores, whole.scores[10:11, 3:4])


def test_the_same_graph_gives_the_same_bits_again():
    g = random_attention(6, 4, 24, seed=5).graph()
    first = af.flow(g)
    assert all(af.flow(g) == first for _ in range(3))


def test_more_threads_than_tokens_are_fine():
    assert af.flow(A, threads=50) == af.flow(A, threads=1)


@given(seed=SEEDS)
@law
def test_float32_weights_are_taken_for_what_they_are(
    any_family: Family, seed: int, matrices: Matrices
):
    narrow = [layer.astype(np.float32) for layer in any_family(np.random.default_rng(seed))]
    wide = [layer.astype(np.float64) for layer in narrow]
    before, after = matrices(narrow), matrices(wide)
    assert all(np.array_equal(before[number], after[number]) for number in before)
