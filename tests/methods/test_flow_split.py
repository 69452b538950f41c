"""One maximum flow to all tokens, and its split by least squares or by a log barrier."""

import dataclasses
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow.maxflow import _interior, _split
from attnflow.types import random_attention
from fuzz_flow import FAMILIES

Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
OBJECTIVES: list[Any] = ["squares", "log_barrier"]

A = random_attention(4, 3, 6, tokens=list("abcdef"))
each_objective = pytest.mark.parametrize("objective", OBJECTIVES)


def split_of(layers: Any, **options: Any) -> af.FlowSplit:
    return af.flow_split(af.AttentionGraph(layers), **options)


# ---- proofs ---------------------------------------------------------------------------------


def assert_feasible(layers: Any, split: af.FlowSplit, sources: Sequence[int]) -> None:
    """Assert a flow from the top to the input, and that its values are what arrives."""
    tolerance = 1e-8 * split.value
    assert [f.shape for f in split.flows] == [np.shape(layer) for layer in layers]
    for f, capacity in zip(split.flows, layers, strict=True):
        assert np.isfinite(f).all()
        assert f.min() >= 0
        assert (f <= capacity).all()
    for above, below in zip(split.flows[1:], split.flows, strict=False):
        assert np.abs(above.sum(axis=0) - below.sum(axis=1)).max() <= tolerance
    assert not np.delete(split.flows[-1], sources, axis=0).any()
    assert np.array_equal(split.values, split.flows[0].sum(axis=0))
    assert abs(split.flows[-1].sum() - split.values.sum()) <= tolerance


def edges_of(layers: Any, split: af.FlowSplit, sources: Sequence[int]) -> Any:
    """Nodes above and below, flow and capacity of each edge; sources are node 0, sinks node 1."""
    parts: list[Any] = []
    start = 2
    for number, (layer, flow) in enumerate(zip(layers, split.flows, strict=True)):
        i, k = np.nonzero(layer)
        top, lowest = number == len(layers) - 1, number == 0
        kept = np.isin(i, sources) if top else np.ones(len(i), dtype=bool)
        i, k = i[kept], k[kept]
        above = np.zeros_like(i) if top else start + i
        below = np.ones_like(k) if lowest else start - np.shape(layer)[1] + k
        parts.append((above, below, flow[i, k], np.asarray(layer, dtype=np.float64)[i, k]))
        start += len(layer)
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def assert_least_squares(layers: Any, split: af.FlowSplit, sources: Sequence[int]) -> None:
    """Assert that no cycle of the residual graph lowers the sum of squares.

    A flow is of least cost if and only if there is none (Klein 1967). One more unit on an edge
    costs f, and one less gains it. Bellman and Ford find a cycle if there is one.
    """
    above, below, flow, capacity = edges_of(layers, split, sources)
    tolerance = 1e-8 * split.value
    room, used = flow < capacity - tolerance, flow > tolerance
    tails = np.concatenate([above[room], below[used]])
    heads = np.concatenate([below[room], above[used]])
    costs = np.concatenate([flow[room], -flow[used]]) + 2 * tolerance
    distances = np.zeros(max(above.max(), below.max()) + 1)
    for _ in range(len(distances) + 1):
        before = distances.copy()
        np.minimum.at(distances, heads, distances[tails] + costs)
        if np.array_equal(before, distances):
            return
    raise AssertionError("a cycle lowers the sum of squares")


def assert_barrier(layers: Any, split: af.FlowSplit, sources: Sequence[int], mu: float) -> None:
    """Assert that potentials explain the flow: the gradient is zero along every path and cycle."""
    above, below, flow, capacity = edges_of(layers, split, sources)
    on_paths = flow > 0
    above, below, flow, capacity = (x[on_paths] for x in (above, below, flow, capacity))
    gradient, scale = mu / (capacity - flow) - mu / flow, mu / (capacity - flow) + mu / flow
    rows, count = np.arange(len(flow)), int(max(above.max(), below.max())) + 1
    incidence = np.zeros((len(flow), count))
    incidence[rows, above] += 1
    incidence[rows, below] -= 1
    # The potential of the sources is one, that of the sinks zero.
    known = (gradient - incidence[:, 0]) / scale
    potentials = np.linalg.lstsq(incidence[:, 2:] / scale[:, None], known, rcond=None)[0]
    error = incidence[:, 2:] @ potentials / scale[:, None][:, 0] - known
    assert np.abs(error).max() <= 1e-6


@pytest.mark.parametrize("query", [None, 0])
def test_the_split_by_squares_is_proved_on_every_family(family: Family, query: int | None):
    for seed in range(8):
        layers = family(np.random.default_rng([seed, 4]))
        sources = range(len(layers[-1])) if query is None else [query]
        try:
            split = split_of(layers, query=query)
        except af.InputError as reason:
            assert "infinite" in str(reason)  # noqa: PT017 - any other message is wrong
            continue
        assert_feasible(layers, split, sources)
        assert abs(split.values.sum() - split.value) <= 1e-8 * split.value
        if split.value:
            assert_least_squares(layers, split, sources)


@pytest.mark.parametrize("query", [None, 0])
def test_the_split_by_barrier_is_proved_on_every_family(family: Family, query: int | None):
    for seed in range(8):
        layers = family(np.random.default_rng([seed, 5]))
        sources = range(len(layers[-1])) if query is None else [query]
        try:
            split = split_of(layers, query=query, objective="log_barrier")
        except af.InputError as reason:
            assert "infinite" in str(reason)  # noqa: PT017 - any other message is wrong
            continue
        assert_feasible(layers, split, sources)
        assert -1e-8 <= 1 - split.values.sum() / max(split.value, 1e-300) <= 2e-8 or not split.value
        if split.value:
            mu = 0.01 * split.value
            wide = split_of(layers, query=query, objective="log_barrier", mu=mu)
            assert_feasible(layers, wide, sources)
            assert_barrier(layers, wide, sources, mu)


@each_objective
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_weights_of_any_size_have_a_split(
    family: Callable[[np.random.Generator], Any], objective: Any
):
    for seed in range(15):
        layers = family(np.random.default_rng([seed, 6]))
        if np.isinf(sum(float(layer.max()) for layer in layers)):
            continue  # the family of the tests above has unbounded edges
        split = split_of(layers, objective=objective)
        sources = range(len(layers[-1]))
        # The smallest floats of all are multiples of 5e-324.
        if split.value > 1e-290:
            assert_feasible(layers, split, sources)
            assert split.values.sum() == pytest.approx(split.value, rel=2e-8)


@each_objective
def test_weights_from_1e_12_to_1_have_a_split(objective: Any):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        layers = [10 ** rng.uniform(-12, 0, (8, 8)) for _ in range(5)]
        split = split_of(layers, query=2, objective=objective)
        assert_feasible(layers, split, [2])
        assert split.values.sum() == pytest.approx(split.value, rel=2e-8)
        if objective == "squares":
            assert_least_squares(layers, split, [2])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_many_tokens_has_a_split(causal: bool):
    g = random_attention(6, 2, 40, seed=1, causal=causal).graph()
    split = af.flow_split(g)
    assert_feasible(g.layers, split, range(40))
    assert_least_squares(g.layers, split, range(40))
    barrier = af.flow_split(g, objective="log_barrier")
    assert_feasible(g.layers, barrier, range(40))
    assert barrier.value == split.value
    for found in (split, barrier):
        assert found.values.sum() == pytest.approx(split.value, rel=1e-8)
    assert np.abs(split.values - barrier.values).max() > 1e-3  # they differ


# ---- by hand --------------------------------------------------------------------------------

# One source. Node 0 passes 0.6 on, half to each token; node 1 passes 0.4 on, and no more than 0.1
# of it to token 0.
BY_HAND = [[[0.5, 0.5], [0.1, 0.5]], [[0.6, 0.4]]]


def test_squares_divide_equally_as_far_as_edges_allow():
    split = split_of(BY_HAND)
    assert split.value == pytest.approx(1.0, rel=1e-12)
    assert np.allclose(split.flows[0], [[0.3, 0.3], [0.1, 0.3]], rtol=0, atol=1e-10)
    assert np.allclose(split.values, [0.4, 0.6], rtol=0, atol=1e-10)


def test_squares_prefer_many_edges_to_one():
    # To token 0 over three nodes of layer 1, which take a, b and b: a = b.
    layers = [[[1.0], [1.0], [1.0]], [[1.0, 1.0, 1.0]], [[0.6]]]
    assert np.allclose(split_of(layers).flows[1], 0.2, rtol=0, atol=1e-10)


@pytest.mark.parametrize("mu", [1e-6, 0.25, 10.0])
def test_the_barrier_of_one_edge_has_a_closed_form(mu: float):
    # 1 + mu / f − mu / (u − f) = 0 with u = 1
    expected = (1 - 2 * mu + np.sqrt((1 - 2 * mu) ** 2 + 4 * mu)) / 2
    split = split_of([[[1.0]]], objective="log_barrier", mu=mu)
    assert split.value == 1.0
    assert split.values == pytest.approx([expected], rel=1e-9)
    assert split.settings["mu"] == mu


def test_a_small_barrier_centres_the_maximum_flow():
    # x of what node 0 passes on, 0.6, goes to token 0. Both edges are then equally hard to move.
    split = split_of([[[0.5, 1.0]], [[0.6]]], objective="log_barrier")
    x = split.values[0]
    slope = 1 / x - 1 / (0.5 - x) - 1 / (0.6 - x) + 1 / (1.0 - (0.6 - x))
    assert slope == pytest.approx(0.0, abs=1e-5)
    assert split.values.sum() == pytest.approx(0.6, rel=1e-8)
    assert np.allclose(split_of([[[0.5, 1.0]], [[0.6]]]).values, 0.3, rtol=0, atol=1e-10)


def test_all_positions_share_the_edges():
    # Both positions of layer 2 use node 0, which passes one on; each alone has one as well.
    layers = [[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [1.0, 0.0]]]
    split = split_of(layers)
    assert split.value == 1.0
    assert np.allclose(split.values, [0.25, 0.75], rtol=0, atol=1e-10)
    assert np.allclose(split.flows[1], [[0.5, 0.0], [0.5, 0.0]], rtol=0, atol=1e-10)


@each_objective
def test_a_graph_without_a_path_has_no_flow(objective: Any):
    layers = [np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])]
    split = split_of(layers, objective=objective)
    assert split.value == 0.0
    assert not split.values.any()
    assert [flow.shape for flow in split.flows] == [(2, 2), (2, 2)]


# ---- another solver -------------------------------------------------------------------------


def reference(layers: Any, objective: Any, mu: float, value: float) -> NDArray[np.float64]:
    """The values by SciPy's SLSQP, from the problem as it is written down; all positions."""
    from scipy.optimize import minimize

    capacity = np.concatenate([np.ravel(layer) for layer in layers])
    shapes = [np.shape(layer) for layer in layers]
    ends = np.cumsum([0, *(a * b for a, b in shapes)])

    def matrices(f: Any) -> list[Any]:
        return [f[a:b].reshape(s) for a, b, s in zip(ends, ends[1:], shapes, strict=False)]

    def surplus(f: Any) -> Any:
        flows = matrices(f)
        pairs = zip(flows[1:], flows, strict=False)
        kept = [above.sum(axis=0) - below.sum(axis=1) for above, below in pairs]
        fixed = [] if objective == "log_barrier" else [[flows[-1].sum() - value]]
        return np.concatenate([*kept, *fixed])

    def cost(f: Any) -> float:
        if objective == "squares":
            return float(f @ f)
        barrier = np.log(f).sum() + np.log(capacity - f).sum()
        return -float(matrices(f)[-1].sum() + mu * barrier)

    inside = [(1e-9 * u, (1 - 1e-9) * u) for u in capacity]
    result = minimize(
        cost,
        capacity / 3,
        bounds=[(0, u) for u in capacity] if objective == "squares" else inside,
        constraints={"type": "eq", "fun": surplus},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return matrices(result.x)[0].sum(axis=0)


@each_objective
def test_small_graphs_agree_with_a_literal_reference(objective: Any):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        layers = [rng.random((3, 3)) + 0.05 for _ in range(3)]
        mu = 0.02
        options = {} if objective == "squares" else {"mu": mu}
        split = split_of(layers, objective=objective, **options)
        expected = reference(layers, objective, mu, split.value)
        assert np.allclose(split.values, expected, rtol=0, atol=2e-5)


# ---- laws -----------------------------------------------------------------------------------


@each_objective
def test_the_order_of_tokens_and_nodes_does_not_matter(objective: Any):
    rng = np.random.default_rng(1)
    layers = [layer.astype(np.float64) for layer in random_attention(5, 2, 9).graph().layers]
    orders = [rng.permutation(9) for _ in range(6)]
    moved = [layer[np.ix_(orders[l + 1], orders[l])] for l, layer in enumerate(layers)]
    for query in (None, 4):
        there = None if query is None else int(np.flatnonzero(orders[5] == query)[0])
        one = split_of(layers, query=query, objective=objective)
        other = split_of(moved, query=there, objective=objective)
        assert np.allclose(other.values, one.values[orders[0]], rtol=1e-8, atol=1e-8)


@each_objective
def test_the_start_of_the_search_does_not_matter(objective: Any, monkeypatch: pytest.MonkeyPatch):
    expected = af.flow_split(A, objective=objective)
    start = _interior._Solver.__init__

    def elsewhere(self: Any, edges: Any, *rest: Any) -> None:
        start(self, edges, *rest)
        rng = np.random.default_rng(0)
        now = self._now
        flow = edges.capacity * rng.uniform(0.01, 0.99, len(now.flow))
        factors = (rng.uniform(0.1, 10, len(now.flow)) for _ in range(2))
        low, high = (
            multiplier * factor for multiplier, factor in zip(now[2:], factors, strict=True)
        )
        self._now = now._replace(flow=flow, room=edges.capacity - flow, low=low, high=high)

    monkeypatch.setattr(_interior._Solver, "__init__", elsewhere)
    found = af.flow_split(A, objective=objective)
    for one, other in zip(found.flows, expected.flows, strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-8)


@each_objective
@pytest.mark.parametrize("factor", [1e-200, 1e-3, 7.0, 1e200])
def test_a_factor_scales_the_split(objective: Any, factor: float):
    layers = [layer.astype(np.float64) for layer in A.graph().layers]
    one = split_of(layers, objective=objective)
    many = split_of([factor * layer for layer in layers], objective=objective)
    assert np.allclose(many.values, factor * one.values, rtol=1e-7, atol=0)


def test_a_query_of_attention_gives_away_all_it_has():
    for layer, query in ((1, 3), (4, 0)):
        split = af.flow_split(A, layer=layer, query=query)
        assert split.value == pytest.approx(1.0, rel=1e-9)
        assert split.values.sum() == pytest.approx(1.0, rel=1e-8)
    assert np.allclose(
        af.flow_split(A, layer=1, query=3).values, A.graph().layers[0][3], rtol=0, atol=1e-9
    )


def test_the_values_never_exceed_the_flow_to_a_token_or_a_set():
    split, flow = af.flow_split(A, query=2), af.flow(A, layers=4, queries=2)
    assert (split.values <= flow.scores[0, 0] + 1e-9).all()
    both = af.max_flow(A, source=(4, 2), sink=[1, 4]).value
    assert split.values[[1, 4]].sum() <= both + 1e-9


def test_a_barrier_takes_at_most_what_is_promised():
    for mu in (1e-9, 1e-5, 1e-3):
        split = af.flow_split(A, objective="log_barrier", mu=mu)
        missing = split.value - split.values.sum()
        assert 0 < missing <= 2 * mu * 4 * 36


# ---- with the other settings ----------------------------------------------------------------


def test_layer_query_onto_head_and_without_select_the_graph():
    for options in ({}, {"head": 1}, {"without": [0]}):
        settings: dict[str, Any] = options
        g = A.graph(**settings)
        split = af.flow_split(A, layer=3, query=2, onto=1, **settings)
        alone = split_of([g.layers[1], g.top(3)], query=2)
        assert np.allclose(split.values, alone.values, rtol=0, atol=1e-10)
        assert split.tokens == A.tokens
        assert len(split.flows) == 4
        assert not split.flows[0].any()
        assert not split.flows[3].any()
        for name, value in {"layer": 3, "query": 2, "onto": 1, "objective": "squares"}.items():
            assert split.settings[name] == value
        assert split.settings["residual"] == 0.5
        assert "mu" not in split.settings


def test_layers_may_differ_in_size():
    rng = np.random.default_rng(0)
    layers = [rng.random((2, 5)), rng.random((4, 2)), rng.random((3, 4))]
    split = split_of(layers)
    assert_feasible(layers, split, range(3))
    assert_least_squares(layers, split, range(3))
    assert len(split.values) == 5


@each_objective
def test_unbounded_edges_of_an_encoder_decoder_carry_what_they_get(objective: Any):
    cross = np.full((1, 1, 2, 3), 1 / 3)
    decoder = [[[[1.0, 0.0], [0.5, 0.5]]]]
    encoder = random_attention(2, 1, 3).weights
    a = af.EncoderDecoderAttention(encoder, decoder, cross, list("abc"), list("xy"))
    layers = a.graph().layers
    assert any(np.isinf(layer).any() for layer in layers)
    for query in (None, 4):
        split = af.flow_split(a, query=query, objective=objective)
        sources = range(5) if query is None else [query]
        assert_feasible(layers, split, sources)
        assert split.values.sum() == pytest.approx(split.value, rel=2e-8)
        if objective == "squares":
            assert_least_squares(layers, split, sources)
    assert split.value == pytest.approx(1.0, rel=1e-9)


def test_an_infinite_flow_has_no_split():
    g = af.AttentionGraph([np.diag([np.inf, 1.0])] * 3)
    with pytest.raises(af.InputError, match="infinite"):
        _ = af.flow_split(g)
    assert np.allclose(af.flow_split(g, query=1).values, [0.0, 1.0], rtol=0, atol=1e-10)


# ---- the result -----------------------------------------------------------------------------


def test_the_result_is_frozen_and_read_only_and_can_be_pickled():
    split = af.flow_split(A, query=1)
    assert isinstance(split, af.FlowSplit)
    assert not any(array.flags.writeable for array in (split.values, *split.flows))
    with pytest.raises(dataclasses.FrozenInstanceError):
        split.value = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    assert pickle.loads(pickle.dumps(split)) == split  # noqa: S301 - its own bytes
    assert repr(split) == "FlowSplit('squares', value=1, tokens=6)"
    assert "<th>0</th><td>a</td>" in split._repr_html_()


def test_a_result_needs_one_value_per_token():
    with pytest.raises(af.InputError, match="values: expected one number per token"):
        _ = af.FlowSplit(1.0, [[1.0]], ["a"], [])
    with pytest.raises(af.InputError, match="tokens: expected 1"):
        _ = af.FlowSplit(1.0, [1.0], ["a", "b"], [])


@each_objective
def test_a_search_that_ends_early_is_an_error(objective: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_interior, "_MOST_STEPS", 3)
    with pytest.raises(af.SolverError, match=r"the split has no proof.*please report"):
        _ = af.flow_split(A, objective=objective)


def test_a_flow_above_its_capacity_would_be_seen(monkeypatch: pytest.MonkeyPatch):
    correct = _split.solve_interior

    def faulty(*arguments: Any, **options: Any) -> Any:
        found = correct(*arguments, **options)
        return found._replace(flow=2 * found.flow)

    monkeypatch.setattr(_split, "solve_interior", faulty)
    with pytest.raises(af.SolverError, match=r"more than its capacity.*2 leaves the sources"):
        _ = af.flow_split(A, query=0)


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"layer": 5}, "layer must be 1 to 4, got 5"),
        ({"layer": 0}, "layer must be 1 to 4, got 0"),
        ({"layer": [4]}, "layer must be an integer"),
        ({"layer": True}, "layer must be an integer, got True"),
        ({"layer": 2, "onto": 2}, "layer must be 3 to 4, got 2"),
        ({"onto": 4}, "onto must be 0 to 3, got 4"),
        ({"query": 6}, "query must be 0 to 5, got 6"),
        ({"query": -1}, "query must be 0 to 5, got -1"),
        ({"query": [0]}, "query must be an integer"),
        ({"objective": "cubes"}, "objective: expected squares or log_barrier, got 'cubes'"),
        ({"objective": None}, "objective: expected squares or log_barrier, got None"),
        ({"objective": ["squares"]}, "objective: expected squares or log_barrier"),
        ({"mu": 0.1}, 'mu must be None for objective="squares"'),
        ({"objective": "log_barrier", "mu": 0}, "mu must be a number above 0, got 0"),
        ({"objective": "log_barrier", "mu": -1.0}, "mu must be a number above 0, got -1.0"),
        ({"objective": "log_barrier", "mu": np.inf}, "mu must be a number above 0, got inf"),
        ({"objective": "log_barrier", "mu": np.nan}, "mu must be a number above 0, got nan"),
        (
            {"objective": "log_barrier", "mu": 1e300},
            "mu must be 1e-290 to 1e.250 times the maximum",
        ),
        ({"objective": "log_barrier", "mu": 1e-315}, "mu must be 1e-290 .* flow, .* got 1e-315"),
        ({"objective": "log_barrier", "mu": True}, "mu must be a number above 0, got True"),
        ({"objective": "log_barrier", "mu": "small"}, "mu must be a number above 0, got 'small'"),
    ],
)
def test_bad_settings_are_refused(asked: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.flow_split(A, **asked)


def test_weights_that_leave_no_room_for_a_barrier_are_an_input_error():
    g = af.AttentionGraph([1e-320 * layer for layer in A.graph().layers])
    with pytest.raises(
        af.InputError, match=r"too small for a barrier: the maximum flow is \S+e-32"
    ):
        _ = af.flow_split(g, objective="log_barrier")
    assert af.flow_split(g).values.sum() == pytest.approx(af.flow_split(g).value, rel=0.01)


@pytest.mark.parametrize("mu", [1e-300, 1e-160, 1e160])
def test_barriers_of_extreme_weights_give_no_warnings(mu: float):
    split = af.flow_split(A, objective="log_barrier", mu=mu)
    share = split.values.sum() / split.value
    assert 0 < share < 0.9 if mu > 1 else share == pytest.approx(1, rel=1e-8)


def test_anything_but_attention_or_a_graph_is_refused():
    array: Any = np.eye(3)
    with pytest.raises(af.InputError, match="expected an Attention or AttentionGraph, got ndarray"):
        _ = af.flow_split(array)


def test_memory_that_does_not_suffice_is_an_error_before_any_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("attnflow.methods._flow_split.available_bytes", lambda: 2**29)
    # 240 bytes for each of 3 · 1,000² edges.
    graph = af.AttentionGraph([np.full((1000, 1000), 0.001)] * 3)
    needed = r"about 0\.7 GiB of memory for layers of 1,000 positions, and 0\.5 GiB are available"
    with pytest.raises(af.InputError, match=f"flow_split needs {needed}"):
        _ = af.flow_split(graph)
    # A triangle has half as many edges, of 200 bytes each, and all pairs count, with 40.
    causal = af.AttentionGraph([np.tri(1000) / 1000] * 3)
    assert af.flow_split(graph, layer=1, query=0).value == pytest.approx(1)
    monkeypatch.setattr("attnflow.methods._flow_split.available_bytes", lambda: 2**28)
    with pytest.raises(af.InputError, match=r"needs about 0\.4 GiB of memory"):
        _ = af.flow_split(causal)
