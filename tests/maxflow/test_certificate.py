"""The certificate that every flow here is tested with does catch a wrong answer."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

Certify = Callable[..., None]

# From node 0 of layer 2 to node 0 of layer 0: 0.25 over node 0 and 0.5 over node 1 of layer 1.
LAYERS = [np.array([[0.25, 1.0], [0.75, 1.0]]), np.array([[0.5, 0.5], [1.0, 1.0]])]
SOURCE, SINK = (2, 0), 0


def proof() -> Any:
    return SimpleNamespace(
        value=0.75,
        flows=(np.array([[0.25, 0.0], [0.5, 0.0]]), np.array([[0.25, 0.5], [0.0, 0.0]])),
        cut=(np.array([False, True]), np.array([True, False]), np.array([True, False])),
        cut_value=0.75,
    )


def too_large(m: Any) -> None:
    m.value = m.cut_value = 0.8


def too_small(m: Any) -> None:
    m.value = 0.5
    m.flows[0][0, 0] = m.flows[1][0, 0] = 0.0


def over_capacity(m: Any) -> None:
    m.value = 1.0
    m.flows[0][0, 0] = m.flows[1][0, 0] = 0.5


def below_zero(m: Any) -> None:
    m.flows[0][0] = 0.5, -0.25


def lost_on_the_way(m: Any) -> None:
    m.flows[1][0, 0] = 0.5


def from_another_source(m: Any) -> None:
    m.flows[1][:, 0] = 0.0, 0.25


def into_another_sink(m: Any) -> None:
    m.flows[0][1] = 0.25, 0.25


def cut_elsewhere(m: Any) -> None:
    m.cut[1][:] = True


def source_cut_off(m: Any) -> None:
    m.cut[2][:] = False


def sink_not_cut_off(m: Any) -> None:
    m.cut[0][:] = True


def another_cut_value(m: Any) -> None:
    m.cut_value = 0.7


def a_matrix_too_few(m: Any) -> None:
    m.flows = m.flows[:1]


def a_side_too_few(m: Any) -> None:
    m.cut = m.cut[1:]


FAULTS = [
    (too_large, "the value is not what the source sends"),
    (too_small, "the cut is not as large as the flow"),
    (over_capacity, "a flow above its capacity"),
    (below_zero, "a flow below zero"),
    (lost_on_the_way, "layer 1 gains or loses"),
    (from_another_source, "another node sends"),
    (into_another_sink, "another node receives"),
    (cut_elsewhere, "the cut is not as large as the flow"),
    (source_cut_off, "the source is not on its own side"),
    (sink_not_cut_off, "the sink is on the side of the source"),
    (another_cut_value, "the cut is not as large as it says"),
    (a_matrix_too_few, "flows of other shapes"),
    (a_side_too_few, "a cut of other shapes"),
]


def test_a_proof_is_accepted(certify: Certify):
    certify(LAYERS, proof(), SOURCE, SINK)


@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_a_fault_is_found(certify: Certify, fault: Callable[[Any], None], reason: str):
    result = proof()
    fault(result)
    with pytest.raises(AssertionError, match=reason):
        certify(LAYERS, result, SOURCE, SINK)


def test_an_unbounded_edge_cannot_be_cut(certify: Certify):
    layers = [LAYERS[0].copy(), LAYERS[1]]
    layers[0][0, 0] = np.inf
    with pytest.raises(AssertionError, match="the cut is not as large as the flow"):
        certify(layers, proof(), SOURCE, SINK)


def test_what_lies_above_the_source_stays_empty(certify: Certify):
    layers = [*LAYERS, np.array([[1.0, 1.0]])]
    m = proof()
    m.flows = (*m.flows, np.zeros((1, 2)))
    m.cut = (*m.cut, np.array([False]))
    certify(layers, m, SOURCE, SINK)
    m.flows[2][0, 1] = 0.5
    with pytest.raises(AssertionError, match="outside of the layers between"):
        certify(layers, m, SOURCE, SINK)
    m.flows[2][0, 1] = 0.0
    m.cut[3][0] = True
    with pytest.raises(AssertionError, match="a side above the source"):
        certify(layers, m, SOURCE, SINK)


def test_the_peers_agree_with_exact_arithmetic(
    family: Callable[..., Any], peer: Any, exact: Callable[..., Any], agree: Callable[..., bool]
):
    for seed in range(3):
        rng = np.random.default_rng([seed, 7])
        layers = peer.rounded(family(rng))
        theirs, truth = peer.on(layers), exact(layers)
        for _ in range(3):
            l = int(rng.integers(1, len(layers) + 1))
            onto = int(rng.integers(0, l))
            source = l, int(rng.integers(layers[l - 1].shape[0]))
            sink = onto, int(rng.integers(layers[onto].shape[1]))
            assert agree(theirs(source, sink), truth(source, sink), layers)
