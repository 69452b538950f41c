import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention

Agree = Callable[..., bool]
Certify = Callable[..., None]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Solver = Callable[..., Callable[[tuple[int, int], tuple[int, int]], float]]

A = random_attention(4, 3, 6, tokens=list("abcdef"))
SEEDS = st.integers(0, 9_999)
law = settings(deadline=None, max_examples=100)


def pair(
    layers: Any, rng: np.random.Generator, *, onto: int | None = None
) -> tuple[tuple[int, int], int, int]:
    """A random source, sink and layer of the sink."""
    onto = int(rng.integers(len(layers))) if onto is None else onto
    top = int(rng.integers(onto + 1, len(layers) + 1))
    source = top, int(rng.integers(layers[top - 1].shape[0]))
    return source, int(rng.integers(layers[onto].shape[1])), onto


# ---- the proof ------------------------------------------------------------------------------


def test_every_value_comes_with_its_proof(
    family: Family, exact: Solver, certify: Certify, agree: Agree
):
    for seed in range(12):
        rng = np.random.default_rng([seed, 1])
        layers = family(rng)
        g, truth = af.AttentionGraph(layers), exact(layers)
        for _ in range(3):
            source, sink, onto = pair(layers, rng)
            expected = truth(source, (onto, sink))
            if expected == np.inf:
                with pytest.raises(af.InputError, match="infinite"):
                    _ = af.max_flow(g, source=source, sink=sink, onto=onto)
                continue
            m = af.max_flow(g, source=source, sink=sink, onto=onto)
            certify(layers, m, source, sink, onto)
            assert agree(m.value, expected, layers)
            assert abs(m.value - m.cut_value) <= 1e-9 * max(1.0, m.value)


@given(seed=SEEDS)
@law
def test_max_flow_and_flow_agree(any_family: Family, certify: Certify, agree: Agree, seed: int):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    g = af.AttentionGraph(layers)
    source, sink, onto = pair(layers, rng)
    score = af.flow(g, layers=source[0], queries=source[1], onto=onto).scores[0, 0, sink]
    _ = assume(np.isfinite(score))
    m = af.max_flow(g, source=source, sink=sink, onto=onto)
    certify(layers, m, source, sink, onto)
    assert agree(m.value, score, layers)


@pytest.mark.parametrize("n_tokens", [63, 64, 65, 130])
def test_layers_of_more_than_64_nodes_are_proven(n_tokens: int, certify: Certify):
    g = random_attention(4, 2, n_tokens, seed=n_tokens).graph()
    rng = np.random.default_rng(n_tokens)
    for _ in range(10):
        source, sink, onto = pair(g.layers, rng)
        m = af.max_flow(g, source=source, sink=sink, onto=onto)
        certify(g.layers, m, source, sink, onto)


@pytest.mark.parametrize("causal", [False, True])
def test_deep_attention_is_proven(causal: bool, certify: Certify):
    g = random_attention(12, 4, 24, seed=3, causal=causal).graph()
    rng = np.random.default_rng(3)
    for _ in range(20):
        source, sink, onto = pair(g.layers, rng)
        m = af.max_flow(g, source=source, sink=sink, onto=onto)
        certify(g.layers, m, source, sink, onto)


# ---- small graphs by hand -------------------------------------------------------------------


def test_the_cut_is_the_bottleneck(certify: Certify):
    # All that node 0 of layer 3 sends passes node 0 of layer 1, which takes 0.25 from token 1.
    layers = [
        np.array([[1.0, 0.25], [1.0, 1.0]]),
        np.array([[1.0, 0.0], [1.0, 0.0]]),
        np.array([[0.5, 0.5], [0.5, 0.5]]),
    ]
    m = af.max_flow(af.AttentionGraph(layers), source=(3, 0), sink=1)
    certify(layers, m, (3, 0), 1)
    assert m.value == m.cut_value == 0.25
    crossing = [
        (l, i, k)
        for l in range(3)
        for i, k in np.argwhere(np.outer(m.cut[l + 1], ~m.cut[l]) & (layers[l] > 0)).tolist()
    ]
    assert crossing == [(0, 0, 1)]


def test_one_edge_is_its_own_flow(certify: Certify):
    layers = [np.array([[0.25, 0.75]])]
    m = af.max_flow(af.AttentionGraph(layers), source=(1, 0), sink=1)
    certify(layers, m, (1, 0), 1)
    assert m.value == 0.75
    assert np.array_equal(m.flows[0], [[0.0, 0.75]])


def test_nothing_runs_between_nodes_that_are_not_connected(certify: Certify):
    layers = [np.eye(3)] * 3
    m = af.max_flow(af.AttentionGraph(layers), source=(3, 0), sink=2)
    certify(layers, m, (3, 0), 2)
    assert m.value == m.cut_value == 0.0
    assert not any(flow.any() for flow in m.flows)


def test_the_paths_around_the_pair_stay_empty(certify: Certify):
    g = A.graph()
    m = af.max_flow(g, source=(3, 2), sink=4, onto=1)
    certify(g.layers, m, (3, 2), 4, onto=1)
    assert not m.flows[0].any()
    assert not m.flows[3].any()
    assert not m.cut[4].any()


def test_unbounded_edges_are_never_cut(certify: Certify):
    layers = [
        np.array([[np.inf, 0.5], [0.25, np.inf]]),
        np.array([[0.5, 0.125], [0.0, np.inf]]),
        np.array([[np.inf, 1.0], [0.0, np.inf]]),
    ]
    m = af.max_flow(af.AttentionGraph(layers), source=(3, 0), sink=0)
    certify(layers, m, (3, 0), 0)
    assert m.value == 0.75  # 0.5 straight down, 0.25 by node 1 of layer 1


def test_edges_without_bound_that_miss_the_sink_are_never_cut(certify: Certify):
    through = np.diag([np.inf, np.inf])
    for layers in ([through] * 2, [through] * 3, [np.eye(2), through, through]):
        for sink in (0, 1):
            if sink == 1 and layers[0] is through:
                continue  # without bound
            m = af.max_flow(af.AttentionGraph(layers), source=(len(layers), 1), sink=sink)
            certify(layers, m, (len(layers), 1), sink)
            assert m.value == sink


def test_an_edge_wider_than_all_flows_is_cut_only_for_what_it_is(certify: Certify):
    # The flow is all that the sink takes; the wide edges beside it are no minimum cut.
    layers = [np.array([[0.25], [0.5]]), np.array([[3.0, 3.0]]), np.array([[3.0]])]
    m = af.max_flow(af.AttentionGraph(layers), source=(3, 0), sink=0)
    certify(layers, m, (3, 0), 0)
    assert m.value == m.cut_value == 0.75


def test_the_single_head_of_a_graph_is_its_top_layer(certify: Certify):
    g = A.graph(head=1)
    assert g.tops is not None
    m = af.max_flow(g, source=(3, 2), sink=4)
    certify([*g.layers[:2], g.tops[2], g.layers[3]], m, (3, 2), 4)
    assert m.value == pytest.approx(af.flow(A, head=1).row(3, 2)[4], rel=0, abs=1e-9)


# ---- what it takes and gives ----------------------------------------------------------------


def test_attention_is_taken_by_its_graph():
    m, n = (af.max_flow(x, source=(4, 1), sink=2) for x in (A, A.graph()))
    assert m.value == n.value
    assert len(m.flows) == len(n.flows) == A.n_layers
    assert len(m.cut) == len(n.cut) == A.n_layers + 1
    assert all(map(np.array_equal, m.flows, n.flows))
    assert all(map(np.array_equal, m.cut, n.cut))


def test_numbers_of_numpy_are_taken():
    position: Any = np.int64(2)
    m = af.max_flow(A, source=(position, position), sink=position)
    assert m.value == af.max_flow(A, source=(2, 2), sink=2).value


def test_bytes_are_no_positions():
    sink: Any = b"\x00"
    with pytest.raises(af.InputError, match="sink must be an integer, or a set of integers, got b"):
        _ = af.max_flow(A, source=(2, 2), sink=sink)


def test_the_same_pair_gives_the_same_bits_again():
    m, n = (af.max_flow(A, source=(4, 0), sink=5) for _ in range(2))
    assert m.value == n.value
    assert len(m.flows) == len(n.flows) == A.n_layers
    assert len(m.cut) == len(n.cut) == A.n_layers + 1
    assert all(map(np.array_equal, m.flows, n.flows))
    assert all(map(np.array_equal, m.cut, n.cut))


def test_a_max_flow_is_frozen_and_its_arrays_are_read_only():
    m = af.max_flow(A, source=(4, 0), sink=5)
    assert isinstance(m, af.MaxFlow)
    assert isinstance(m.value, float)
    assert isinstance(m.cut_value, float)
    assert isinstance(m.flows, tuple)
    assert isinstance(m.cut, tuple)
    for array in (*m.flows, *m.cut):
        assert not array.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.value = 1.0  # pyright: ignore[reportAttributeAccessIssue]


def test_a_max_flow_has_a_short_repr():
    m = af.max_flow(random_attention(6, 2, 40), source=(6, 0), sink=5)
    assert repr(m).startswith("MaxFlow(")
    assert f"{m.value:.6g}" in repr(m)
    assert len(repr(m)) < 100
    assert "\n" not in repr(m)


def test_a_graph_does_not_share_its_memory_with_the_flow():
    g = A.graph()
    m = af.max_flow(g, source=(1, 0), sink=0)
    assert not any(np.shares_memory(flow, layer) for flow in m.flows for layer in g.layers)


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"source": (5, 0)}, "the layer of source must be 1 to 4, got 5"),
        ({"source": (0, 0)}, "the layer of source must be 1 to 4, got 0"),
        ({"source": (-1, 0)}, "the layer of source must be 1 to 4, got -1"),
        ({"source": (4, 6)}, "the position of source must be 0 to 5, got 6"),
        ({"source": (4, -1)}, "the position of source must be 0 to 5, got -1"),
        ({"source": 4}, "source"),
        ({"source": (4,)}, r"source: expected a layer and a position, as in \(4, 0\), got \(4,\)"),
        ({"source": {4, 0}}, "source: expected a layer and a position"),
        ({"source": frozenset({4, 0})}, "source: expected a layer and a position"),
        ({"source": (4, 0, 0)}, "source"),
        ({"source": (4, 0.5)}, "source"),
        ({"source": "40"}, "source"),
        ({"sink": 6}, "sink"),
        ({"sink": -1}, "sink"),
        ({"sink": 1.0}, "sink"),
        ({"sink": "a"}, "sink"),
        ({"sink": []}, "sink: expected at least one position, got none"),
        ({"sink": set()}, "sink: expected at least one position, got none"),
        ({"sink": [0, 3, 3]}, r"sink: expected distinct positions, got \(0, 3, 3\)"),
        ({"sink": {0, 6}}, "sink must be 0 to 5, got 6"),
        ({"sink": [-1, 0]}, "sink must be 0 to 5, got -1"),
        ({"sink": True}, "sink must be an integer, or a set of integers, got True"),
        ({"sink": [0, True]}, "sink must be an integer, or a set of integers"),
        ({"sink": np.ones(6, dtype=bool)}, "sink must be an integer, or a set of integers"),
        ({"sink": [0, 1.0]}, "sink must be an integer, or a set of integers"),
        ({"sink": [[0, 1]]}, "sink must be an integer, or a set of integers"),
        ({"sink": None}, "sink must be an integer, or a set of integers, got None"),
        ({"onto": 4}, "onto must be 0 to 3, got 4"),
        ({"onto": -1}, "onto must be 0 to 3, got -1"),
        ({"source": (2, 0), "onto": 2}, "the layer of source above onto=2 must be 3 to 4, got 2"),
        ({"source": (2, 0), "onto": 3}, "the layer of source above onto=3 must be 4, got 2"),
    ],
)
def test_a_pair_that_is_not_there_is_refused(asked: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.max_flow(A, **({"source": (4, 0), "sink": 0} | asked))


def test_anything_but_attention_or_a_graph_is_refused_with_how_to_wrap_it():
    array: Any = np.eye(3)
    with pytest.raises(
        af.InputError, match=r"expected an Attention or AttentionGraph, got ndarray"
    ):
        _ = af.max_flow(array, source=(1, 0), sink=0)


def test_a_pair_without_bound_has_no_maximum():
    g = af.AttentionGraph([np.diag([np.inf, np.inf])] * 3)
    with pytest.raises(af.InputError, match="infinite"):
        _ = af.max_flow(g, source=(3, 1), sink=1)
    assert af.max_flow(g, source=(3, 1), sink=0).value == 0.0
