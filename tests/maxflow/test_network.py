from collections.abc import Callable
from typing import Any

import numpy as np

from attnflow.maxflow._network import bounds, network

Family = Callable[[np.random.Generator], list[Any]]


def widest(layers: list[Any]) -> int:
    """The exponent that fits all pairs."""
    return int(bounds(layers).exponents(range(len(layers[-1]))).max())


def test_capacities_are_whole_numbers_that_float64_holds(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        net = network(layers, widest(layers))
        assert np.array_equal(net.capacity, np.floor(net.capacity))
        assert net.capacity.max() <= 2.0**52


def test_capacities_are_never_above_the_weights_and_hardly_below(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        exponent = widest(layers)
        net = network(layers, exponent)
        for m, whole in zip(layers, net.capacity[1:], strict=True):
            capacity = whole[: m.shape[0], : m.shape[1]] * net.unit
            assert (capacity <= m).all()
            # An edge wider than every flow is made narrower, but not as narrow as a flow.
            needed = np.minimum(m.astype(np.float64), np.ldexp(1.0, exponent + 1))
            assert (capacity >= needed - net.unit).all()
            assert not whole[m.shape[0] :].any()
            assert not whole[:, m.shape[1] :].any()


def test_the_grid_is_a_power_of_two_and_moves_with_the_weights(family: Family):
    layers = family(np.random.default_rng(4))
    exponent = widest(layers)
    net = network(layers, exponent)
    assert np.frexp(net.unit)[0] == 0.5
    if net.capacity.any():
        scaled = [np.ldexp(m, 7) for m in layers]
        assert widest(scaled) == exponent + 7
        assert network(scaled, exponent + 7).unit == 128 * net.unit
        assert np.array_equal(network(scaled, exponent + 7).capacity, net.capacity)


def test_weights_that_are_multiples_of_the_grid_are_not_changed_at_all():
    rng = np.random.default_rng(0)
    layers = [rng.random((6, 6), dtype=np.float32) for _ in range(3)]  # multiples of 2**-24
    net = network(layers, widest(layers))
    for m, whole in zip(layers, net.capacity[1:], strict=True):
        assert np.array_equal(whole[:6, :6] * net.unit, m)


def test_no_flow_exceeds_its_bound(family: Family, fast: Callable[[Any], Any]):
    for seed in range(5):
        layers = family(np.random.default_rng(seed))
        limits = bounds(layers)
        solve = fast(layers)
        exponents = limits.exponents(range(len(layers[-1])))
        for source, sink in np.ndindex(exponents.shape):
            value = solve((len(layers), source), (0, sink))
            assert value == np.inf or value <= np.ldexp(1.0, int(exponents[source, sink]))


def test_endless_pairs_are_those_joined_by_unbounded_edges_alone():
    layers = [np.array([[np.inf, 1.0], [0.0, np.inf]]), np.array([[1.0, np.inf], [np.inf, 0.0]])]
    endless = bounds(layers).endless
    assert np.array_equal(endless[0], [[True, False], [False, True]])
    assert np.array_equal(endless[1], [[False, True], [True, False]])
    assert bounds([np.eye(2)]).endless == ()
