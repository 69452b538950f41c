"""What flow gives, what it says about saturation, and its settings."""

import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention

Agree = Callable[..., bool]
Slack = Callable[..., float]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Solver = Callable[..., Callable[[tuple[int, int], tuple[int, int]], float]]

A = random_attention(4, 3, 6, tokens=list("abcdef"))

# Random graphs are chosen by a seed. Laws have no deadline: the first example may compile.
SEEDS = st.integers(0, 9_999)
law = settings(deadline=None, max_examples=60)


# ---- the paper ------------------------------------------------------------------------------


@given(SEEDS, st.booleans())
@law
def test_layer_one_of_flow_is_layer_one_of_rollout(seed: int, causal: bool):
    a = random_attention(1 + seed % 4, 2, 1 + seed % 7, seed=seed, causal=causal)
    flow, rollout = (method(a, layers=1).scores for method in (af.flow, af.rollout))
    assert np.allclose(flow, rollout, rtol=0, atol=1e-12)


def test_attention_flows_through_its_graph():
    assert af.flow(A) == af.flow(A.graph())


@pytest.mark.parametrize("queries", [None, [3], [5, 0]])
def test_a_single_head_stands_on_the_fused_layers_below(queries: Any):
    fused, alone = A.graph().layers, A.graph(head=1).tops
    assert alone is not None
    t = af.flow(A, head=1, queries=queries)
    assert t.layers == tuple(range(1, A.n_layers + 1))
    for layer, scores in zip(t.layers, t.scores, strict=True):
        below = af.AttentionGraph([*fused[: layer - 1], alone[layer - 1]])
        expected = af.flow(below, layers=layer, queries=queries).scores[0]
        assert np.allclose(scores, expected, rtol=0, atol=1e-9)


def test_a_single_head_alone_flows_onto_a_layer_of_hidden_embeddings(fast: Solver):
    fused, alone = A.graph().layers, A.graph(head=2).tops
    assert alone is not None
    scores = af.flow(A, head=2, onto=1, layers=4).scores[0]
    assert scores.size > 0
    solve = fast([*fused[:3], alone[3]])
    for i, j in np.ndindex(scores.shape):
        assert scores[i, j] == pytest.approx(solve((4, i), (1, j)), rel=0, abs=1e-9)


def test_the_result_says_how_it_was_made():
    t = af.flow(A.graph(heads="max", residual=0.25, discard_ratio=0.1), onto=1, queries=[2])
    assert t.method == "flow"
    assert t.tokens == A.tokens
    assert t.layers == (2, 3, 4)
    assert t.queries == (2,)
    assert t.settings == {
        "heads": "max",
        "residual": 0.25,
        "discard_ratio": 0.1,
        "head": None,
        "causal": False,
        "onto": 1,
    }


def test_the_scores_are_read_only_and_nothing_of_the_graph_is_shared():
    g = A.graph()
    t = af.flow(g, layers=1)
    assert t.scores.dtype == np.float64
    assert not t.scores.flags.writeable
    assert not np.shares_memory(t.scores, g.layers[0])


def test_nodes_of_a_layer_of_another_size_are_named_by_position():
    g = af.AttentionGraph([np.ones((2, 3)), np.ones((4, 2)), np.ones((3, 4))], ["a", "b", "c"])
    assert af.flow(g, layers=3).tokens == ("a", "b", "c")
    assert af.flow(g, layers=3, onto=1).tokens == ("0", "1")
    assert af.flow(g, layers=3, onto=2).scores.shape == (1, 3, 4)


# ---- unbounded edges ------------------------------------------------------------------------


def test_a_path_of_unbounded_edges_carries_without_bound():
    layers = [[[0.5, 0.5], [0.0, np.inf]], [[0.25, 0.75], [0.0, np.inf]]]
    scores = af.flow(af.AttentionGraph(layers)).scores
    assert np.array_equal(scores[0], [[0.5, 0.5], [0.0, np.inf]])
    assert np.array_equal(scores[1], [[0.25, 0.25 + 0.75], [0.0, np.inf]])


def test_a_bounded_edge_on_every_path_bounds_the_flow():
    through = np.diag([np.inf, np.inf])
    narrow = np.array([[0.5, 0.25], [0.0, 1.0]])
    g = af.AttentionGraph([through, narrow, through, through])
    for layer in (2, 3, 4):
        assert np.array_equal(af.flow(g, layers=layer).scores[0], narrow)
    assert np.array_equal(af.flow(g, layers=4, onto=2).scores[0], through)


def test_an_edge_wider_than_all_flows_never_narrows_one():
    # The sink takes 1 + 2**-25, which is no float32; the edges above are wider than that.
    layers: list[Any] = [[[1.0], [2.0**-25]], [[5.0, 5.0]], [[5.0]]]
    for dtype in (np.float32, np.float64):
        g = af.AttentionGraph([np.array(layer, dtype=dtype) for layer in layers])
        assert af.flow(g, layers=3).scores[0, 0, 0] == 1 + 2.0**-25


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_weights_of_any_scale_are_solved(scale: float):
    unit = random_attention(5, 2, 6).graph()
    scaled = af.AttentionGraph([scale * layer for layer in unit.layers])
    assert np.allclose(af.flow(scaled).scores / scale, af.flow(unit).scores, rtol=0, atol=1e-9)


def test_unbounded_edges_leave_no_trace_in_float32():
    layers = [np.array([[0.5, np.inf], [0.1, 0.0]], dtype=np.float32)] * 3
    found = af.flow(af.AttentionGraph(layers)).scores
    wide = af.flow(af.AttentionGraph([layer.astype(np.float64) for layer in layers])).scores
    assert np.array_equal(found, wide)


# ---- saturation -----------------------------------------------------------------------------


@given(seed=SEEDS)
@law
def test_a_layer_is_saturated_where_all_queries_have_the_same_scores(
    any_family: Family, seed: int, slack: Slack
):
    g = af.AttentionGraph(any_family(np.random.default_rng(seed)))
    for number in range(1, g.n_layers + 1):
        t = af.flow(g, layers=number)
        assert len(t.saturated) == 1
        if len(t.queries) > 1 and (t.scores == t.scores[:, :1]).all():
            assert t.saturated == (True,)
        elif len(t.queries) > 1 and not np.allclose(
            t.scores, t.scores[:, :1], rtol=0, atol=10 * slack(g.layers)
        ):
            assert t.saturated == (False,)


def test_deep_attention_is_saturated_from_some_layer_on():
    g = random_attention(16, 4, 10, seed=1).graph()
    t = af.flow(g)
    assert not t.saturated[0]
    assert t.saturated[-1]
    assert t.saturated == tuple(sorted(t.saturated))
    # Whatever the layers between do, the bottom layer alone decides.
    expected = np.minimum(1.0, g.layers[0].sum(axis=0))
    assert np.allclose(t.scores[-1], expected, rtol=0, atol=1e-9)


def test_layers_that_do_not_mix_are_never_saturated():
    assert af.flow(af.AttentionGraph([np.eye(3)] * 5)).saturated == (False,) * 5


@pytest.mark.parametrize("exponent", [-40, 40])
def test_saturation_does_not_depend_on_the_scale_of_the_weights(exponent: int):
    layers = random_attention(16, 4, 10, seed=1).graph().layers
    scaled = [np.ldexp(layer, exponent) for layer in layers]
    marks = af.flow(af.AttentionGraph(layers)).saturated
    assert set(marks) == {False, True}
    assert af.flow(af.AttentionGraph(scaled)).saturated == marks


def test_saturation_is_about_the_queries_that_were_computed():
    same = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    g = af.AttentionGraph([same])
    assert af.flow(g, queries=[0, 1]).saturated == (True,)
    assert af.flow(g, queries=[0, 2]).saturated == (False,)
    assert af.flow(g).saturated == (False,)


def test_saturation_is_given_for_each_layer_in_the_given_order():
    t = af.flow(random_attention(16, 4, 10, seed=1).graph(), layers=[16, 1, 15])
    assert t.saturated == (True, False, True)


def test_one_query_is_saturated_where_nothing_between_could_raise_it():
    ends = np.array([[0.25, 0.75], [0.5, 0.5]])
    narrow, wide = np.array([[0.1, 0.0], [0.0, 0.1]]), np.ones((2, 2))
    assert af.flow(af.AttentionGraph([ends, narrow, ends]), queries=0).saturated[-1] is False
    t = af.flow(af.AttentionGraph([ends, wide, ends]), queries=0)
    assert np.array_equal(t.row(3, 0), [0.75, 1.0])  # column sums, as far as the row sum reaches
    assert t.saturated[-1] is True


def test_one_query_of_deep_attention_is_saturated_as_all_are():
    g = random_attention(16, 4, 10, seed=1).graph()
    whole, one = af.flow(g), af.flow(g, queries=0)
    assert np.array_equal(one.scores, whole.scores[:, :1])
    assert one.saturated[-1]
    assert not one.saturated[0]


# ---- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", [1, 2]])
def test_threads_that_are_not_a_number_from_one_up_are_refused(threads: Any):
    with pytest.raises(af.InputError, match="threads"):
        _ = af.flow(A, threads=threads)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"layers": 5}, "layers must be 1 to 4, got 5"),
        ({"queries": 6}, "queries must be 0 to 5 in layer 1, got 6"),
        ({"onto": 4}, "onto must be 0 to 3, got 4"),
        ({"onto": [0, 1]}, "onto"),
        ({"head": 3}, "head"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_range(asked: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.flow(A, **asked)


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize("queries", [None, [0]])
def test_progress_goes_up_to_the_end_in_the_calling_thread(threads: Any, queries: Any):
    calls: list[tuple[int, int]] = []
    callers: set[int] = set()

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        callers.add(threading.get_ident())

    a = random_attention(6, 2, 20)
    t = af.flow(a, threads=threads, queries=queries, progress=progress)
    assert callers == {threading.get_ident()}
    done, totals = zip(*calls, strict=True)
    assert len(set(totals)) == 1
    assert list(done) == sorted(set(done) | {done[0]})
    assert calls[-1] == (totals[0], totals[0])
    assert t == af.flow(a, queries=queries)


@pytest.mark.parametrize(
    "asked",
    [{"layers": 1}, {"layers": [1, 2]}, {"head": 1}, {"head": 1, "layers": [4, 1]}, {"onto": 3}],
)
def test_progress_ends_at_the_total_for_every_selection(asked: Any):
    calls: list[tuple[int, int]] = []
    _ = af.flow(A, progress=lambda *call: calls.append(call), **asked)
    assert calls
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1]


def test_an_error_in_progress_ends_the_work():
    def progress(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _ = af.flow(A, progress=progress)
    assert af.flow(A).scores.shape == (4, 6, 6)
    with pytest.raises(af.InputError, match=r"progress: expected a function .* got 5"):
        _ = af.flow(A, progress=cast("Any", 5))
