"""A value without proof is a SolverError, never a number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow.maxflow import _network, _pair, _sink, _state, _values
from attnflow.types import random_attention

G = random_attention(6, 2, 8, seed=2).graph()
Solved = tuple[list[NDArray[np.float64]], list[NDArray[np.bool_]]]


def nothing_flows(flows: list[Any], _cut: list[Any]) -> None:
    for flow in flows:
        flow[:] = 0.0


def over_capacity(flows: list[Any], _cut: list[Any]) -> None:
    for flow in flows:
        np.multiply(flow, 2.0, out=flow)


def backwards(flows: list[Any], _cut: list[Any]) -> None:
    for flow in flows:
        np.negative(flow, out=flow)


def lost_on_the_way(flows: list[Any], _cut: list[Any]) -> None:
    flows[1][:] = 0.0


def cut_elsewhere(_flows: list[Any], cut: list[Any]) -> None:
    for side in cut:
        side[:] = ~side


FAULTS = [
    (nothing_flows, "the flow is 0 and the cut"),
    (over_capacity, "layer 1 carries more than its capacity"),
    (backwards, "layer 1 carries more than its capacity"),
    (lost_on_the_way, "nodes of layer 1 keep"),
    (cut_elsewhere, r"the flow is \S+ and the cut"),
]


@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
@pytest.mark.parametrize(("layer", "solver"), [(2, "_shallow"), (6, "_deep")])
def test_a_pair_without_proof_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
    layer: int,
    solver: str,
    fault: Callable[..., None],
    reason: str,
):
    correct: Callable[..., Solved] = getattr(_pair, solver)

    def faulty(*arguments: Any) -> Solved:
        flows, cut = correct(*arguments)
        fault(flows, cut)
        return flows, cut

    assert af.max_flow(G, source=(layer, 0), sink=1).value > 0
    monkeypatch.setattr(_pair, solver, faulty)
    with pytest.raises(af.SolverError, match=reason):
        _ = af.max_flow(G, source=(layer, 0), sink=1)


# Solvers that start from a wrong workspace: residual capacities are wrong, or a bit set hides edges
# that could carry something. Layer 3 is the narrowest, so that it matters.

NARROW = af.AttentionGraph([layer / (1 + 3 * (l == 2)) for l, layer in enumerate(G.layers)])


def less_residual(workspace: Any, edges: Any) -> None:
    workspace.residual[edges] = np.floor(workspace.residual[edges] / 64)


def more_residual(workspace: Any, edges: Any) -> None:
    workspace.residual[edges] += workspace.capacity.max()


def hidden_edges(workspace: Any, edges: Any) -> None:
    for layer, above, below in np.argwhere(edges).tolist():
        workspace.open[layer, above, below // 64] &= ~(np.uint64(1) << np.uint64(below % 64))


def start_wrong(monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None], edges: Any) -> None:
    correct = _state.new_workspace

    def faulty(capacity: Any) -> Any:
        workspace = correct(capacity)
        # A pair has one layer more, below all others.
        below = len(capacity) - len(edges)
        fault(workspace, np.pad(edges, [(below, 0), (0, 0), (0, 0)]))
        return workspace

    monkeypatch.setattr(_state, "new_workspace", faulty)


@pytest.mark.parametrize("fault", [less_residual, more_residual])
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_without_proof_are_an_error(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None], threads: int
):
    edges = np.zeros((7, 8, 8), dtype=bool)
    edges[3] = True
    start_wrong(monkeypatch, fault, edges)
    with pytest.raises(af.SolverError, match="has no proof"):
        _ = af.flow(NARROW, threads=threads)
    with pytest.raises(af.SolverError, match="has no proof"):
        _ = af.max_flow(NARROW, source=(6, 0), sink=1)


@pytest.mark.parametrize("fault", [less_residual, more_residual, hidden_edges])
def test_scores_are_right_or_an_error(fault: Callable[..., None]):
    expected = af.flow(NARROW).scores
    caught = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        edges = rng.random((7, 8, 8)) < rng.choice([0.01, 0.1, 0.5])
        with pytest.MonkeyPatch.context() as patch:
            start_wrong(patch, fault, edges)
            try:
                scores = af.flow(NARROW, threads=1).scores
            except af.SolverError:
                caught += 1
            else:
                assert np.allclose(scores, expected, rtol=0, atol=1e-9)
    assert caught > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_one_sink_raises_an_error_for_all(
    monkeypatch: pytest.MonkeyPatch, threads: int
):
    correct = _sink.solve_sink

    def faulty(workspace: Any, bounds: Any, sink: int, *rest: Any) -> Any:
        return -1 if sink == 5 else correct(workspace, bounds, sink, *rest)

    monkeypatch.setattr(_sink, "solve_sink", faulty)
    with pytest.raises(af.SolverError, match=r"to node 5 has no proof.*please report"):
        _ = af.flow(G, threads=threads)


# ---- rounding ---------------------------------------------------------------------------------


def test_what_no_grid_proves_is_solved_as_a_pair(monkeypatch: pytest.MonkeyPatch):
    expected = af.flow(G).scores
    pairs = 0
    solve_pair = _values.solve_pair

    def counted(*arguments: Any) -> Any:
        nonlocal pairs
        pairs += 1
        return solve_pair(*arguments)

    monkeypatch.setattr(_values, "solve_pair", counted)
    for module in (_network, _values):
        monkeypatch.setattr(module, "TOLERANCE", 1e-20)
    assert np.allclose(af.flow(G).scores, expected, rtol=1e-9, atol=0)
    assert pairs > 0
    monkeypatch.setattr(_pair, "TOLERANCE", 1e-20)  # nor does the cut of a pair
    with pytest.raises(af.SolverError, match="has no proof: the flow is"):
        _ = af.flow(G)


def test_a_flow_above_its_bound_is_an_error(monkeypatch: pytest.MonkeyPatch):
    correct = _values._Table._uncertain

    def faulty(*arguments: Any) -> Any:
        uncertain = correct(*arguments)
        uncertain["bound"] /= 2
        return uncertain

    g = af.AttentionGraph([np.full((3, 3), weight) for weight in (1.0, 1e-25, 1.0)])
    assert np.allclose(af.flow(g).scores[2], 9e-25, rtol=1e-9, atol=0)
    monkeypatch.setattr(_values._Table, "_uncertain", faulty)
    with pytest.raises(af.SolverError, match="exceeds a cut"):
        _ = af.flow(g)
