"""Each check of a proof on its own: it holds where it should, and fails by a hair."""

import itertools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow.maxflow import _pair, _sink, _source, _state
from attnflow.maxflow._source import new_sink_bounds
from attnflow.maxflow._state import new_workspace
from attnflow.types import random_attention

Layers = list[NDArray[np.float64]]
Solve = Callable[[tuple[int, int], tuple[int, int]], float]

SOURCE, SINK = 0, 1
TOP = (3 * 8 + SOURCE) * 8  # where the source's row starts
BLOCK = [[9, 2, 3], [4, 9, 5], [1, 2, 9]]  # every layer; the flows of depth 2 and 3 are 6 and 10


def by_lower_bound(bounds: Any, d: int) -> Any:
    """The kernel of that name, which only kernels can call."""
    return _by_lower_bound(bounds, d)


_by_lower_bound: Any = _sink._by_lower_bound
_compiled: Any = numba.njit
by_lower_bound = _compiled(by_lower_bound)


def on_workspace(function: Any) -> Any:
    """A kernel that takes a workspace in place of its state.

    It is not kept on disk: Numba would not notice when `function` changes.
    """
    open_state: Any = _state.open_state

    def call(workspace: Any, *arguments: Any) -> Any:
        return function(open_state(workspace), *arguments)

    compiled: Any = numba.njit
    return compiled(call)


adds_up = on_workspace(_source._adds_up)
solve_source = on_workspace(_source.solve_source)
mark_rewritten = on_workspace(_state.mark_rewritten)
next_depth = on_workspace(_source._next_depth)
proved = on_workspace(_sink._lower_bound)
restore = on_workspace(_state.restore)
send = on_workspace(_state.send)


def small_workspace(*, supplied: Any = 0.0, arrived: Any = 0.0) -> Any:
    """Three layers of three nodes, with what ran from the source and into the sink."""
    capacity = np.zeros((4, 8, 8))
    capacity[1:, :3, :3] = BLOCK
    workspace = new_workspace(capacity)
    workspace.supply[:] = capacity[3, SOURCE]
    workspace.supply[:3] -= supplied
    workspace.sink_residual[:] = capacity[1, :, SINK]
    workspace.sink_residual[:3] -= arrived
    return workspace


def bounded_by(bound: float) -> Any:
    """SinkBounds of a sink: nothing but a bound of all flows."""
    bounds = new_sink_bounds(4, 8)
    bounds.upper[:] = bound
    return bounds


# ---- what left, what arrived, and the bound ----------------------------------------------------


@pytest.mark.parametrize(
    ("left", "arrived", "holds"), [(3, 3, True), (3, 2, False), (2, 3, False), (4, 4, False)]
)
def test_a_flow_of_three_leaves_the_source_and_arrives(left: int, arrived: int, holds: bool):
    workspace = small_workspace(supplied=[left - 1, 0, 1], arrived=[1, arrived - 1, 0])
    assert adds_up(workspace, SINK, TOP, 3.0) == holds


def test_a_flow_that_did_not_arrive_has_no_value():
    arrived = small_workspace(arrived=[1, 2, 0])
    assert next_depth(arrived, bounded_by(3.0), SINK, SOURCE, 3, 3.0) == 3.0
    lost = small_workspace(arrived=[1, 1, 0])
    assert next_depth(lost, bounded_by(3.0), SINK, SOURCE, 3, 3.0) == -1.0


def test_a_flow_above_a_bound_has_no_proof():
    bounds = bounded_by(6.0)
    assert solve_source(small_workspace(), bounds, SINK, SOURCE, 3)
    assert bounds.upper[3, SOURCE] == 6.0
    assert not solve_source(small_workspace(), bounded_by(5.0), SINK, SOURCE, 3)


def test_a_cut_larger_than_the_flow_is_no_proof():
    bounds = new_sink_bounds(4, 8)
    assert _sink.solve_one_source(small_workspace(), bounds, SINK, SOURCE, 3)
    assert bounds.upper[3, SOURCE] == 10.0
    blind = small_workspace()
    blind.open[2] = 0  # the search sees no way on, and takes what it has visited for a cut
    assert not _sink.solve_one_source(blind, bounds, SINK, SOURCE, 3)


# ---- every edge of a flow ----------------------------------------------------------------------


def flow_over_one_edge(amount: float, sent: float, *, by_row: bool) -> Any:
    """A path over node 2 of layer 2 and node 0 of layer 1, whose edge has a capacity of one."""
    workspace = small_workspace(supplied=[0, 0, sent], arrived=[sent, 0, 0])
    if by_row:
        workspace.residual[2, 2, 0] -= amount
        mark_rewritten(workspace, 2, 2)
    else:
        send(workspace, 2, 2, 0, amount)
    return workspace


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("amount", [-1.0, 0.0, 1.0, 2.0])
def test_an_edge_carries_between_nothing_and_its_capacity(amount: float, by_row: bool):
    workspace = flow_over_one_edge(amount, amount, by_row=by_row)
    assert restore(workspace, 3, SINK, SOURCE) == (0.0 <= amount <= 1.0)
    assert np.array_equal(workspace.residual, workspace.capacity)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize(("amount", "sent"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_node_passes_on_what_it_gets(amount: float, sent: float, by_row: bool):
    workspace = flow_over_one_edge(amount, sent, by_row=by_row)
    assert not restore(workspace, 3, SINK, SOURCE)
    assert not workspace.balance.any()


# ---- flows without a search --------------------------------------------------------------------


def least_cut(row: Any, lower: Any, most: float) -> float:
    """The least of max(lower over S) + sum(row outside of S) over all sets S, at most `most`."""
    for side in itertools.product([False, True], repeat=len(row)):
        inside = np.array(side)
        most = min(most, lower[inside].max(initial=0.0) + row[~inside].sum())
    return most


def test_what_a_layer_proves_for_the_next_is_the_least_of_all_cuts():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([2, 5, 8]))  # below eight there is padding, a node that proves nothing
        capacity = np.zeros((4, 8, 8))
        capacity[3, SOURCE, :n] = rng.integers(0, rng.choice([2, 6]), n)  # at times the least cut
        bounds = new_sink_bounds(4, 8)
        bounds.lower[2, :n] = rng.integers(0, 10, n)
        bounds.upper[0] = rng.integers(0, 30)
        order = by_lower_bound(bounds, 2)
        assert (np.diff(bounds.lower[2, order]) <= 0).all()
        assert sorted(order) == list(range(8))
        expected = least_cut(capacity[3, SOURCE, :n], bounds.lower[2, :n], bounds.upper[0, 0])
        assert proved(new_workspace(capacity), bounds, 3, SOURCE, order) == expected


@pytest.mark.parametrize(("off", "is_rounded"), [(1e-12, True), (2e-11, True), (1e-10, False)])
def test_a_flow_is_rounded_up_to_what_source_and_sink_allow_only_if_it_nearly_is(
    off: float, is_rounded: bool
):
    chain = [np.ones((1, 1)) for _ in range(8)]
    chain[1] *= 1 - off
    scores = af.flow(af.AttentionGraph(chain)).scores[2:, 0, 0]
    assert scores.shape == (6,)
    if is_rounded:
        assert (scores == 1.0).all()
    else:
        assert (scores < 1.0).all()
        assert np.allclose(scores, 1 - off, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_saturated_layer_are_equal_to_the_bit(seed: int):
    g = random_attention(14, 4, 16, seed=seed).graph()
    top = af.flow(g).scores[-1]
    into = g.layers[0].sum(axis=0)
    # What a source sends is a row that sums to one, but for the last bits.
    fills_the_sink = into < 1 - 1e-9
    assert fills_the_sink.any()
    assert np.allclose(top, np.minimum(into, 1.0), rtol=0, atol=1e-9)
    assert (top[:, fills_the_sink] == top[0, fills_the_sink]).all()


def test_rows_that_differ_a_little_keep_their_values(fast: Callable[[Layers], Solve]):
    # Saturated but for 1e-3 to 1e-5, which is no rounding.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, n_layers = int(rng.integers(3, 8)), int(rng.integers(7, 13))
        off = 10.0 ** -rng.integers(3, 6)
        layers: Layers = []
        for _ in range(n_layers):
            layer = rng.integers(0, 3, (n, n)) + np.eye(n)
            layer *= (1 - off * rng.random((n, n))) / layer.sum(axis=1, keepdims=True)
            layers.append(layer)
        scores = af.flow(af.AttentionGraph(layers)).scores
        value = fast(layers)
        for l in (6, n_layers):
            truth = [[value((l, i), (0, j)) for j in range(n)] for i in range(n)]
            assert np.allclose(scores[l - 1], truth, rtol=0, atol=1e-9), (seed, l)


# ---- pairs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lowered", [[0, 1, 2, 3, 4, 5], [0], [2], [5]])
def test_a_pair_with_a_gap_of_a_millionth_is_refused(
    monkeypatch: pytest.MonkeyPatch, lowered: list[int]
):
    g = random_attention(6, 2, 8, seed=2).graph()
    correct = _pair._deep

    def with_gap(gap: float) -> Callable[..., Any]:
        def faulty(*arguments: Any) -> Any:
            flows, cut = correct(*arguments)
            for layer in lowered:
                flows[layer] *= 1 - gap
            return flows, cut

        return faulty

    monkeypatch.setattr(_pair, "_deep", with_gap(1e-12))
    assert af.max_flow(g, source=(6, 0), sink=1).value > 0.1
    monkeypatch.setattr(_pair, "_deep", with_gap(1e-6))
    with pytest.raises(af.SolverError, match="has no proof"):
        _ = af.max_flow(g, source=(6, 0), sink=1)
