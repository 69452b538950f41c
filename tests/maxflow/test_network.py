from collections.abc import Callable
from typing import Any

import numpy as np

from attnflow.maxflow._network import network

Family = Callable[[np.random.Generator], list[Any]]


def test_capacities_are_whole_numbers_that_float64_holds(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        net = network(layers)
        assert np.array_equal(net.capacity, np.floor(net.capacity))
        assert net.capacity.max() <= 2.0**53


def test_capacities_are_never_above_the_weights_and_hardly_below(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        net = network(layers)
        finite = [np.where(np.isfinite(m), m, 0.0).astype(np.float64) for m in layers]
        bound = min(max(m.sum(axis=1).max() for m in finite), finite[0].sum(axis=0).max())
        for m, whole in zip(layers, net.capacity[1:], strict=True):
            capacity = whole[: m.shape[0], : m.shape[1]] * net.unit
            assert (capacity <= m).all()
            if not net.endless:  # an edge wider than every flow may be made narrower
                assert (capacity >= np.minimum(m.astype(np.float64), bound) - net.unit).all()
            assert not whole[m.shape[0] :].any()
            assert not whole[:, m.shape[1] :].any()


def test_the_grid_is_a_power_of_two_and_moves_with_the_weights(family: Family):
    layers = family(np.random.default_rng(4))
    net = network(layers)
    scaled = network([np.ldexp(m, 7) for m in layers])
    assert np.frexp(net.unit)[0] == 0.5
    if net.capacity.any():
        assert scaled.unit == 128 * net.unit
        assert np.array_equal(scaled.capacity, net.capacity)


def test_float32_attention_is_not_changed_at_all():
    rng = np.random.default_rng(0)
    layers = [rng.random((6, 6), dtype=np.float32) for _ in range(3)]
    net = network(layers)
    for m, whole in zip(layers, net.capacity[1:], strict=True):
        assert np.array_equal(whole[:6, :6] * net.unit, m)


def test_endless_pairs_are_those_joined_by_unbounded_edges_alone():
    layers = [np.array([[np.inf, 1.0], [0.0, np.inf]]), np.array([[1.0, np.inf], [np.inf, 0.0]])]
    net = network(layers)
    assert np.array_equal(net.endless[0], [[True, False], [False, True]])
    assert np.array_equal(net.endless[1], [[False, True], [True, False]])
    assert network([np.eye(2)]).endless == ()
