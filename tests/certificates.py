"""Checks of flow values and of the proofs that a MaxFlow carries."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from flow_peers import Node
from random_graphs import Matrix


def _certify(
    layers: Sequence[Matrix], m: Any, source: Node, sink: int | Sequence[int], onto: int = 0
) -> None:
    """Assert that `m` proves its value by itself: a feasible flow, and a cut of the same size.

    By weak duality no flow exceeds any cut, so the two prove each other. Nothing of attnflow is
    asked here. `layers` are the capacities; the tolerance is 1e-9, of the value where it is more.
    """
    top, start = source
    sinks = np.atleast_1d(sink)
    used = range(onto, top)  # indices of the matrices between source and sink
    capacities = [np.asarray(layer, dtype=np.float64) for layer in layers]
    tolerance = 1e-9 * max(m.value, min(1.0, _widest(capacities)))

    assert [f.shape for f in m.flows] == [c.shape for c in capacities], "flows of other shapes"
    for l, (f, capacity) in enumerate(zip(m.flows, capacities, strict=True)):
        assert np.isfinite(f).all(), "a flow without bound"
        assert f.min() >= 0, "a flow below zero"
        assert (f <= capacity + tolerance).all(), "a flow above its capacity"
        assert l in used or not f.any(), "a flow outside of the layers between"
    for l in used[1:]:
        arrives, leaves = m.flows[l].sum(axis=0), m.flows[l - 1].sum(axis=1)
        assert np.abs(arrives - leaves).max() <= tolerance, f"layer {l} gains or loses"
    sent, received = m.flows[top - 1].sum(axis=1), m.flows[onto].sum(axis=0)
    assert not np.delete(sent, start).any(), "another node sends as well"
    assert not np.delete(received, sinks).any(), "another node receives as well"
    assert abs(sent[start] - m.value) <= tolerance, "the value is not what the source sends"
    arrived = received[sinks].sum()
    assert abs(arrived - m.value) <= tolerance, "the value is not what the sink receives"

    sizes = [capacities[0].shape[1], *map(len, capacities)]
    assert [side.shape for side in m.cut] == [(size,) for size in sizes], "a cut of other shapes"
    assert all(side.dtype == np.bool_ for side in m.cut), "sides that are not true or false"
    assert m.cut[top][start], "the source is not on its own side"
    assert not m.cut[onto][sinks].any(), "the sink is on the side of the source"
    assert not any(side.any() for side in m.cut[top + 1 :]), "a side above the source"
    sides = zip(capacities, m.cut[1:], m.cut[:-1], strict=True)
    size = sum(float(c[np.ix_(above, ~below)].sum()) for c, above, below in sides)
    assert abs(size - m.value) <= tolerance, "the cut is not as large as the flow"
    assert abs(size - m.cut_value) <= tolerance, "the cut is not as large as it says"


def _widest(layers: Sequence[Matrix]) -> float:
    """The largest finite weight."""
    finite = [layer[np.isfinite(layer)] for layer in layers]
    return float(max((each.max(initial=0.0) for each in finite), default=0.0))


def _slack(layers: Sequence[Matrix]) -> float:
    """What two right answers may differ by: 1e-9 of the largest finite weight."""
    return 1e-9 * _widest(layers)


@pytest.fixture(scope="session")
def certify() -> Callable[..., None]:
    """Asserts that a MaxFlow proves its value: `certify(layers, m, source, sink, onto=0)`.

    `sink` is a position, or a list of them for a set.
    """
    return _certify


@pytest.fixture(scope="session")
def agree() -> Callable[..., bool]:
    """Whether two arrays of flow values on `layers` are the same: `agree(a, b, layers)`."""
    return lambda a, b, layers: np.allclose(a, b, rtol=1e-9, atol=1e-9 * min(1.0, _widest(layers)))


@pytest.fixture(scope="session")
def slack() -> Callable[..., float]:
    """What two right answers on `layers` may differ by: `slack(layers)`."""
    return _slack
