"""On uniform causal attention the corrected scores are uniform over what is seen."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.methods._receptive_field import corrected, uniform
from attnflow.methods._selection import select
from attnflow.types import random_attention

METHODS = pytest.mark.parametrize("method", [af.rollout, af.flow])
A = random_attention(5, 3, 9, seed=4, causal=True, tokens=list("abcdefghi"))


def uniform_attention(n_layers: int, n_tokens: int, dtype: Any = np.float64) -> af.Attention:
    """Every position draws evenly on itself and all earlier ones."""
    one = np.tril(np.ones((n_tokens, n_tokens))) / np.arange(1, n_tokens + 1)[:, None]
    return af.Attention(np.broadcast_to(one.astype(dtype), (n_layers, 2, *one.shape)), causal=True)


def even(n_tokens: int, without: tuple[int, ...], residual: float) -> NDArray[np.float64]:
    """The law: every position has the same score for every token it can see."""
    seen = np.tril(np.ones((n_tokens, n_tokens), dtype=bool))
    seen[:, list(without)] = False
    for position in without:
        # It keeps itself by the residual, or because nothing else is left.
        seen[position, position] = residual > 0 or not seen[position].any()
    return seen / seen.sum(axis=1, keepdims=True)


# ---- the law --------------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("residual", [0.0, 0.5])
@pytest.mark.parametrize("without", [(), (0,), (0, 4), (0, 1, 2)])
@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_attention_is_uniform_over_what_is_seen_at_every_layer(
    method: Any, residual: float, without: tuple[int, ...], head: Any, dtype: Any
):
    g = uniform_attention(6, 12, dtype).graph(residual=residual, without=without, head=head)
    t = method(g, receptive_field=True)
    expected = even(12, without, residual)
    assert t.layers == (1, 2, 3, 4, 5, 6)
    # float32 holds 1/3 to 3e-8; six layers of it, and the solver's rounding, are well below.
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    for scores in t.scores:
        assert np.allclose(scores, expected, rtol=0, atol=tolerance)


@METHODS
@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 14),
    st.integers(1, 16),
    # A residual of 1e-300 is lost in a product of layers, and with it what a position that nobody
    # may draw on sees of itself.
    st.just(0.0) | st.floats(1e-3, 0.95),
    st.sets(st.integers(0, 13), max_size=4),
)
def test_the_law_holds_for_any_size_and_residual(
    method: Any, n_layers: int, n_tokens: int, residual: float, without: set[int]
):
    out = tuple(sorted(position for position in without if position < n_tokens))
    g = uniform_attention(n_layers, n_tokens).graph(residual=residual, without=out)
    scores = method(g, receptive_field=True, layers=n_layers).scores[0]
    assert np.allclose(scores, even(n_tokens, out, residual), rtol=0, atol=1e-12)


@METHODS
def test_the_law_holds_on_layers_that_are_saturated(method: Any):
    # Two tokens and many layers: nothing in between narrows a flow any more.
    t = method(uniform_attention(20, 2), receptive_field=True)
    assert np.allclose(t.scores, [[1.0, 0.0], [0.5, 0.5]], rtol=0, atol=1e-12)


@METHODS
@pytest.mark.parametrize("asked", [{"layers": [5, 2], "queries": [8, 3]}, {"onto": 2}, {"head": 2}])
def test_the_law_holds_for_a_part(method: Any, asked: Any):
    a = af.Attention(np.repeat(uniform_attention(5, 9).weights, 2, axis=1), causal=True)
    t = method(a, receptive_field=True, **asked)
    expected = even(9, (), 0.5)[list(t.queries)]
    assert np.allclose(t.scores, expected, rtol=0, atol=1e-12)


# ---- what it is -----------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("without", [(), (0,)])
def test_scores_are_divided_by_those_of_uniform_attention(method: Any, without: tuple[int, ...]):
    plain = method(A, without=without).scores
    seen = method(uniform_attention(5, 9), without=without).scores
    expected = np.divide(plain, seen, out=np.zeros_like(plain), where=seen > 0)
    expected /= expected.sum(-1, keepdims=True)
    scores = method(A, without=without, receptive_field=True).scores
    assert np.allclose(scores, expected, rtol=0, atol=1e-12)
    assert not np.allclose(scores, plain / plain.sum(-1, keepdims=True), rtol=0, atol=1e-3)


@METHODS
def test_a_graph_gives_what_its_attention_gives(method: Any):
    assert method(A.graph(), receptive_field=True) == method(A, receptive_field=True)
    g = A.graph(residual=0.25, without=[0], head=1)
    seen = method(uniform_attention(5, 9).graph(residual=0.25, without=[0]))
    shares = corrected(method(g).scores, seen.scores)
    assert np.allclose(method(g, receptive_field=True).scores, shares, rtol=0, atol=1e-12)


@METHODS
@pytest.mark.parametrize(
    "asked", [{"queries": [8, 0]}, {"layers": [4, 1]}, {"onto": 1}, {"head": 0, "queries": 5}]
)
def test_selected_layers_and_queries_are_a_slice_of_all(method: Any, asked: Any):
    part = method(A, receptive_field=True, **asked)
    rest = {key: value for key, value in asked.items() if key in ("onto", "head")}
    whole = method(A, receptive_field=True, **rest)
    rows = [whole.layers.index(layer) for layer in part.layers]
    expected = whole.scores[rows][:, list(part.queries)]
    assert np.allclose(part.scores, expected, rtol=0, atol=1e-12)


def test_only_the_given_rows_are_computed():
    chosen = select(A.graph(), layers=[3], queries=[2], onto=1)
    even_rows = uniform(chosen)
    assert (even_rows.layers, even_rows.queries, even_rows.onto) == ((3,), (2,), 1)


@METHODS
def test_rows_sum_to_one_and_what_lies_ahead_has_score_zero(method: Any):
    scores = method(A, receptive_field=True).scores
    assert np.allclose(scores.sum(-1), 1, rtol=1e-13)
    assert not np.triu(scores, k=1).any()


@METHODS
def test_the_correction_is_recorded_and_the_default_is_none(method: Any):
    assert method(A, receptive_field=True).settings["receptive_field"] is True
    assert "receptive_field" not in method(A).settings
    assert method(A, receptive_field=False) == method(A)


def test_discarded_edges_stay_discarded():
    g = A.graph(discard_ratio=0.6, residual=0.0)
    t = af.rollout(g, receptive_field=True, layers=1)
    assert np.array_equal(t.scores[0] > 0, g.layers[0] > 0)


def test_saturation_is_that_of_the_flow_before():
    a = uniform_attention(20, 2)
    assert af.flow(a, receptive_field=True).saturated == af.flow(a).saturated
    assert af.flow(A, receptive_field=True).saturated == af.flow(A).saturated


@pytest.mark.parametrize("asked", [{}, {"head": 1}, {"layers": [4, 1]}])
def test_progress_of_both_solves_is_reported_as_one(asked: Any):
    calls: list[tuple[int, int]] = []
    _ = af.flow(A, receptive_field=True, progress=lambda *call: calls.append(call), **asked)
    done, totals = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert set(totals) == {done[-1]}
    plain: list[tuple[int, int]] = []
    _ = af.flow(A, progress=lambda *call: plain.append(call), **asked)
    assert totals[0] == 2 * plain[-1][1]


# ---- what it is not for ---------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize(
    "x",
    [
        random_attention(2, 1, 3),
        random_attention(2, 1, 3).graph(),
        af.AttentionGraph([np.tril(np.ones((3, 3)))]),
        af.AttentionGraph([np.eye(3)], settings={"causal": "yes", "residual": 0.5}),
    ],
    ids=["attention", "its graph", "a graph of unknown making", "another mark"],
)
def test_what_is_not_causal_is_refused_before_any_work(
    method: Any, x: Any, monkeypatch: pytest.MonkeyPatch
):
    def work(*_: object, **__: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("attnflow.methods._flow.flow_values", work)
    monkeypatch.setattr("attnflow.methods._rollout._compose", work)
    with pytest.raises(af.InputError, match="receptive_field=True is only for causal attention"):
        _ = method(x, receptive_field=True)


@METHODS
@pytest.mark.parametrize(
    ("layers", "marks"),
    [
        ([np.eye(3)], {"causal": True}),
        ([np.ones((2, 3))], {"causal": True, "residual": 0.5}),
    ],
)
def test_a_causal_graph_that_does_not_say_how_it_was_made_is_refused(
    method: Any, layers: Any, marks: Any
):
    with pytest.raises(
        af.InputError, match=r"needs the residual of the graph.*Build it with Attention"
    ):
        _ = method(af.AttentionGraph(layers, settings=marks), receptive_field=True)


@METHODS
def test_a_graph_that_calls_itself_causal_and_looks_ahead_is_refused(method: Any):
    g = af.AttentionGraph([np.full((3, 3), 1 / 3)], settings={"causal": True, "residual": 0})
    with pytest.raises(af.InputError, match="a position of this graph attends to a later"):
        _ = method(g, receptive_field=True)


@METHODS
@pytest.mark.parametrize("value", ["yes", 1, None])
def test_the_setting_is_true_or_false_and_nothing_else(method: Any, value: Any):
    with pytest.raises(af.InputError, match=r"receptive_field must be a bool, got .*"):
        _ = method(A, receptive_field=value)
