"""Weights of very different sizes: one wide edge must not blur the flow of others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from fuzz_flow import FAMILIES, Count, all_of_float64, check_graph


@pytest.mark.parametrize("wide", [1e6, 1e12, 1e16, 1e30])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_narrow_column_next_to_a_wide_one_keeps_its_flow(wide: float, depth: int):
    g = af.AttentionGraph([np.diag([wide, 0.3])] * depth)
    scores = af.flow(g).scores
    assert np.allclose(scores, np.diag([wide, 0.3]), rtol=1e-12, atol=0)
    m = af.max_flow(g, source=(depth, 1), sink=1)
    assert m.value == pytest.approx(0.3, rel=1e-12)
    assert m.cut_value == pytest.approx(0.3, rel=1e-12)


def test_one_wide_edge_in_attention_leaves_all_other_pairs_exact():
    rng = np.random.default_rng(0)
    layers = [rng.dirichlet(np.ones(16), 16) for _ in range(5)]
    for layer in layers:
        layer[0, 0] = 1e6
    g = af.AttentionGraph(layers)
    scores = af.flow(g).scores[-1]
    for source, sink in rng.integers(16, size=(40, 2)).tolist():
        m = af.max_flow(g, source=(5, source), sink=sink)
        assert scores[source, sink] == pytest.approx(m.cut_value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weight", [1e290, 1e306])
def test_weights_near_the_end_of_float64_are_solved(weight: float):
    g = af.AttentionGraph([np.diag([weight, weight / 3]) + weight / 1000] * 3)
    small = af.AttentionGraph([np.diag([1.0, 1 / 3]) + 1 / 1000] * 3)
    assert np.allclose(af.flow(g).scores / weight, af.flow(small).scores, rtol=1e-9)


@pytest.mark.parametrize("method", [af.flow, af.rollout])
def test_weights_whose_sums_float64_cannot_hold_are_refused(method: object):
    g = af.AttentionGraph([np.full((2, 2), np.finfo(float).max)] * 3)
    assert callable(method)
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = method(g)


def test_saturation_is_judged_token_by_token():
    g = af.AttentionGraph([[[1e9, 0.2], [1e9, 0.9]]])
    assert af.flow(g).saturated == (False,)


# ---- a layer, a row or an edge of another size ------------------------------------------------


def test_a_layer_wider_than_the_source_does_not_lose_its_flow():
    g = af.AttentionGraph([[[1e20]], [[1e20]], [[1.0]]])
    assert af.flow(g, layers=3).scores[0, 0, 0] == 1.0
    assert np.array_equal(af.flow(g).scores.ravel(), [1e20, 1e20, 1.0])
    m = af.max_flow(g, source=(3, 0), sink=0)
    assert m.value == m.cut_value == 1.0


@pytest.mark.parametrize("narrow", [1e-25, 1e-300, 5e-324])
def test_a_layer_narrower_than_its_terminals_is_the_flow(narrow: float):
    g = af.AttentionGraph([[[1.0]], [[narrow]], [[1.0]]])
    assert np.allclose(af.flow(g).scores.ravel(), [1.0, narrow, narrow], rtol=1e-9, atol=0)
    for layer in (2, 3):
        m = af.max_flow(g, source=(layer, 0), sink=0)
        assert m.value == pytest.approx(narrow, rel=1e-9, abs=0)
        assert m.cut_value == narrow


@pytest.mark.parametrize("factor", [1e-8, 1e8, 1e25])
def test_a_factor_between_layers_changes_no_flow_that_they_do_not_limit(factor: float):
    rng = np.random.default_rng(0)
    layers = [rng.random((4, 4)) for _ in range(5)]
    layers[2] *= factor
    assert_all_values_are_right(layers)


def test_a_narrow_layer_between_wide_ones_is_solved_and_proven():
    wide = np.full((2, 2), 1e12)
    g = af.AttentionGraph([wide, np.full((2, 2), 0.1), wide])
    m = af.max_flow(g, source=(3, 0), sink=1)
    assert m.value == pytest.approx(0.4, rel=1e-12)
    assert m.cut_value == pytest.approx(0.4, rel=1e-12)
    assert np.allclose(af.flow(g).scores[2], 0.4, rtol=1e-12)


@given(st.integers(0, 10**9), st.sampled_from(FAMILIES))
@settings(deadline=None, max_examples=60)
def test_values_of_every_range_are_right(seed: int, family: Callable[..., Any]):
    assert_all_values_are_right(family(np.random.default_rng(seed)))


@given(st.lists(st.floats(0.0, 1e300), min_size=3, max_size=8))
@settings(deadline=None, max_examples=200)
def test_a_chain_of_any_weights_lets_through_its_narrowest_edge(weights: list[float]):
    g = af.AttentionGraph([[[weight]] for weight in weights])
    narrowest = np.minimum.accumulate(weights)
    assert np.allclose(af.flow(g).scores.ravel(), narrowest, rtol=1e-9, atol=0)
    m = af.max_flow(g, source=(len(weights), 0), sink=0)
    assert m.value == pytest.approx(narrowest[-1], rel=1e-9, abs=0)
    assert m.cut_value == pytest.approx(narrowest[-1], rel=1e-9, abs=0)


def assert_all_values_are_right(layers: list[Any]) -> None:
    count = Count()
    check_graph(layers, np.random.default_rng(0), count)
    assert not count.wrong
    assert count.values > 0
    assert count.solver_errors == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_values_of_every_range_do_not_depend_on_threads_or_on_a_power_of_two(
    family: Callable[..., Any],
):
    for seed in range(6):
        layers = family(np.random.default_rng(seed))
        top = len(layers)
        scores = af.flow(af.AttentionGraph(layers), layers=top, threads=1).scores
        two = af.flow(af.AttentionGraph(layers), layers=top, threads=2).scores
        assert np.array_equal(two, scores)
        if family is not all_of_float64:  # where a power of two rounds or overflows
            scaled = [np.ldexp(layer, 9) for layer in layers]
            more = af.flow(af.AttentionGraph(scaled), layers=top).scores
            assert np.array_equal(more, np.ldexp(scores, 9))


def test_progress_ends_once_all_values_are_certain():
    rng = np.random.default_rng(0)
    g = af.AttentionGraph([rng.random((5, 5)) * 10 ** rng.uniform(-25, 25) for _ in range(5)])
    calls: list[tuple[int, int]] = []
    _ = af.flow(g, progress=lambda *call: calls.append(call))
    assert calls == sorted(set(calls))
    assert calls[-1] == (25, 25)


# ---- beyond float64 ---------------------------------------------------------------------------


def test_a_sum_beyond_float64_is_not_called_infinite():
    huge, unbounded = np.finfo(float).max, np.inf
    layers = [np.array([[huge, 0.0], [huge, unbounded]]), np.array([[huge, huge], [0.0, 1.0]])]
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = af.flow(af.AttentionGraph(layers))
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = af.max_flow(af.AttentionGraph(layers), source=(2, 0), sink=0)


def test_wide_layers_whose_sums_overflow_carry_a_flow_that_does_not():
    wide = np.full((3, 3), np.finfo(float).max)
    g = af.AttentionGraph([np.eye(3), wide, wide])
    assert np.array_equal(af.flow(g, layers=3).scores[0], np.ones((3, 3)))
    assert af.max_flow(g, source=(3, 0), sink=1).value == 1.0


# ---- saturation -------------------------------------------------------------------------------


def test_tiny_scores_that_differ_are_not_saturated():
    narrow = np.array([[1e-25, 1e-25], [2e-25, 2e-25]])
    g = af.AttentionGraph([np.eye(2), narrow, np.eye(2)])
    assert af.flow(g).saturated == (False, False, False)


def test_tiny_scores_that_are_the_same_are_saturated():
    g = af.AttentionGraph([np.eye(2), np.full((2, 2), 1e-25), np.eye(2)])
    assert af.flow(g).saturated == (False, True, True)
