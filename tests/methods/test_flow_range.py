"""Weights of very different sizes: one wide edge must not blur the flow of others."""

import numpy as np
import pytest

import attnflow as af


@pytest.mark.parametrize("wide", [1e6, 1e12, 1e16, 1e30])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_narrow_column_beside_a_wide_one_keeps_its_flow(wide: float, depth: int):
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
    with pytest.raises(af.InputError, match="too large"):
        _ = method(g)


def test_saturation_is_judged_token_by_token():
    g = af.AttentionGraph([[[1e9, 0.2], [1e9, 0.9]]])
    assert af.flow(g).saturated == (False,)


def test_a_flow_that_cannot_be_told_from_rounding_is_refused_with_the_reason():
    wide = np.full((2, 2), 1e12)
    g = af.AttentionGraph([wide, np.full((2, 2), 0.1), wide])
    with pytest.raises(af.InputError, match="differ too widely"):
        _ = af.max_flow(g, source=(3, 0), sink=1)
