from collections.abc import Callable
from typing import Any

import numpy as np

from attnflow.maxflow._network import Bounds, Network
from exact_flow import ExactFlows

Family = Callable[[np.random.Generator], list[Any]]


def bounds(layers: list[Any]) -> Bounds:
    return Bounds(layers, range(len(layers[-1])))


def widest(layers: list[Any]) -> int:
    """The exponent that fits all pairs."""
    return int(bounds(layers).exponents().max())


def test_capacities_are_integers_that_float64_represents(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        net = Network(layers, widest(layers))
        assert np.array_equal(net.capacity, np.floor(net.capacity))
        assert net.capacity.max() <= 2.0**52


def test_capacities_are_never_above_the_weights_and_hardly_below(family: Family):
    for seed in range(10):
        layers = family(np.random.default_rng(seed))
        exponent = widest(layers)
        net = Network(layers, exponent)
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
    net = Network(layers, exponent)
    assert np.frexp(net.unit)[0] == 0.5
    if net.capacity.any():
        scaled = [np.ldexp(m, 7) for m in layers]
        assert widest(scaled) == exponent + 7
        assert Network(scaled, exponent + 7).unit == 128 * net.unit
        assert np.array_equal(Network(scaled, exponent + 7).capacity, net.capacity)


def test_weights_that_are_multiples_of_the_grid_are_not_changed_at_all():
    rng = np.random.default_rng(0)
    layers = [rng.random((6, 6), dtype=np.float32) for _ in range(3)]  # multiples of 2**-24
    net = Network(layers, widest(layers))
    for m, whole in zip(layers, net.capacity[1:], strict=True):
        assert np.array_equal(whole[:6, :6] * net.unit, m)


def test_no_flow_exceeds_its_bound(family: Family, fast: Callable[[Any], Any]):
    for seed in range(5):
        layers = family(np.random.default_rng(seed))
        limits = bounds(layers)
        solve = fast(layers)
        exponents = limits.exponents()
        for source, sink in np.ndindex(exponents.shape):
            value = solve((len(layers), source), (0, sink))
            assert value == np.inf or value <= np.ldexp(1.0, int(exponents[source, sink]))


def test_infinite_flows_are_those_of_pairs_joined_by_unbounded_edges_alone():
    layers = [np.array([[np.inf, 1.0], [0.0, np.inf]]), np.array([[1.0, np.inf], [np.inf, 0.0]])]
    infinite = bounds(layers).infinite
    assert np.array_equal(infinite[0], [[True, False], [False, True]])
    assert np.array_equal(infinite[1], [[False, True], [True, False]])
    assert not bounds([np.eye(2)]).infinite.any()


def test_connected_pairs_are_those_with_a_flow():
    layers = [np.array([[1.0, 0.0], [0.0, np.inf], [0.0, 1e-300]]), np.array([[0.0, 1e300, 1.0]])]
    limits = Bounds(layers, [0, 2])
    assert np.array_equal(limits.connected[0], [[True, False], [False, True]])
    assert np.array_equal(limits.connected[1], [[False, True], [False, False]])  # no node 2


# ---- what rounding takes ----------------------------------------------------------------------


def test_rounding_takes_no_more_than_its_bound(family: Family):
    compared = 0
    for seed in range(4):
        layers = family(np.random.default_rng(seed))
        true = ExactFlows(layers)
        top = len(layers)
        for lower in (0, 20, 45):  # grids for ever smaller flows, on which larger ones are clipped
            exponent = widest(layers) - lower
            net = Network(layers, exponent, limited=True)
            rounded = ExactFlows(
                [
                    whole[: m.shape[0], : m.shape[1]] * net.unit
                    for m, whole in zip(layers, net.capacity[net.first :], strict=True)
                ]
            )
            for i, j in np.ndindex(len(layers[-1]), layers[0].shape[1]):
                flow, below = (float(x.value((top, i), (0, j))) for x in (true, rounded))
                if flow <= np.ldexp(1.0, exponent):
                    lost = float(net.lost(np.array(below / net.unit))) * net.unit
                    assert below <= flow * (1 + 1e-15)
                    assert flow <= (below + lost) * (1 + 1e-15)
                    compared += 1
    assert compared > 0


def test_flows_are_certain_from_where_rounding_takes_too_little():
    rng = np.random.default_rng(0)
    net = Network([rng.random((6, 6)) for _ in range(3)], 3)
    assert net.lost(np.array(net.certain)) <= 1e-9 * net.certain
    exact = Network([np.eye(3)] * 3, 1)
    assert exact.certain < 1  # every flow of at least a unit


def test_a_limited_network_lets_a_sink_take_twice_the_largest_flow():
    net = Network([np.eye(3)] * 2, -4, limited=True)
    assert net.first == 2
    assert np.array_equal(net.capacity[1, :3, :3] * net.unit, np.eye(3) / 8)
    assert np.array_equal(net.capacity[2, :3, :3] * net.unit, np.eye(3) / 8)  # clipped to the same
