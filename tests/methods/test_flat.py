"""Flat flow: all tokens but the query's own have nearly the same score."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention


def _to_itself(n_layers: int, n_tokens: int, share: float, seed: int = 0) -> NDArray[np.float64]:
    """Attention in which position 0 gives `share` to itself and the rest to all others alike."""
    weights = random_attention(n_layers, 1, n_tokens, seed=seed).weights.astype(np.float64)
    weights[:, :, 0] = (1 - share) / (n_tokens - 1)
    weights[:, :, 0, 0] = share
    return weights


def _leaving(graph: af.AttentionGraph, layer: int, query: int) -> float:
    """The weight of all edges from the query's position to others, from layer 2 to `layer`."""
    rows = [matrix[query] for matrix in graph.layers[1:layer]]
    return float(sum(row.sum() - row[query] for row in rows))


def test_a_position_that_attends_to_itself_has_flat_flow() -> None:
    a = af.Attention(_to_itself(6, 40, 0.9))
    t = af.flow(a)
    assert t.flat.dtype == np.bool_
    assert t.flat.shape == (6, 40)
    assert t.flat[-1, 0]
    assert not t.flat[:, 1:].any()
    assert not t.flat[0].any()  # edges of layer 1 are scores themselves
    assert not any(t.saturated)  # which is something else
    others = t.row(6, 0)[1:]
    assert np.median(others) == pytest.approx(_leaving(a.graph(), 6, 0), rel=0.1)
    assert np.quantile(others, 0.875) / np.quantile(others, 0.125) < 1.05


def test_the_flow_is_limited_by_what_leaves_the_querys_position() -> None:
    g = af.Attention(_to_itself(5, 12, 0.8)).graph()
    t = af.flow(g, queries=0)
    for layer in range(2, 6):
        bound = _leaving(g, layer, 0) + g.layers[0][0]
        assert (t.row(layer, 0)[1:] <= bound[1:] * (1 + 1e-9)).all()


def _is_flat(scores: NDArray[np.float64], limit: float) -> bool:
    """The definition, literally."""
    median = float(np.median(scores))
    near = [abs(score - median) <= 0.025 * median for score in scores.tolist()]
    return abs(median - limit) <= 0.1 * limit and sum(near) >= 0.75 * len(near)


def test_flat_is_what_its_definition_says() -> None:
    seen: set[bool] = set()
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        g = af.Attention(_to_itself(4, 40, share)).graph()
        t = af.flow(g, queries=[0, 5])
        for layer, flat in zip(t.layers[1:], t.flat[1:], strict=True):
            for query, mark in zip(t.queries, flat, strict=True):
                others = np.delete(t.row(layer, query), query)
                assert mark == _is_flat(others, _leaving(g, layer, query))
                seen.add(bool(mark))
    assert seen == {False, True}


def test_equal_scores_are_not_flat_where_something_else_limits_them() -> None:
    narrow = np.full((5, 5), 0.02)  # below, every token can pass on the same little
    wide = np.full((5, 5), 0.2)
    t = af.flow(af.AttentionGraph([narrow, wide, wide]), queries=0)
    assert np.ptp(t.row(3, 0)[1:]) == pytest.approx(0.0, abs=1e-9)
    assert not t.flat.any()


def test_one_query_is_flat_as_among_all() -> None:
    a = af.Attention(_to_itself(6, 40, 0.9))
    every, one = af.flow(a), af.flow(a, layers=[6, 2], queries=0)
    assert one.flat.tolist() == [[every.flat[5, 0]], [every.flat[1, 0]]]


def test_tokens_that_a_query_cannot_reach_do_not_count() -> None:
    weights = _to_itself(6, 20, 0.9)
    weights[:, :, 1:10] = 0.1
    weights[:, :, 0, 1:] = 0.1 / 9
    weights[:, :, :10, 10:] = 0.0  # the first ten attend to one another alone
    t = af.flow(af.Attention(weights), queries=0)
    assert (t.row(6, 0)[10:] == 0).all()
    assert t.flat[-1, 0]


@pytest.mark.parametrize(
    "graph",
    [
        af.AttentionGraph([np.eye(3)] * 4),  # nothing leaves
        af.Attention(_to_itself(6, 2, 0.9)).graph(),  # one other token has one score
        af.AttentionGraph([np.full((4, 6), 0.1), np.full((4, 4), 0.1)]),  # other positions
        random_attention(8, 2, 6, seed=1).graph(),
        random_attention(8, 2, 6, seed=1, causal=True).graph(),
    ],
)
def test_other_flow_is_not_flat(graph: af.AttentionGraph) -> None:
    assert not af.flow(graph).flat.any()


def test_raw_and_rollout_are_never_flat() -> None:
    a = af.Attention(_to_itself(6, 40, 0.9))
    assert not af.raw(a).flat.any()
    assert not af.rollout(a).flat.any()


def test_groups_without_the_query_are_flat_together() -> None:
    a = af.Attention(_to_itself(6, 40, 0.9))
    groups = {"own": [0, 1], "some": [2, 3], "more": [4, 5, 6]}
    assert af.flow(a, queries=0, groups=groups).flat[-1, 0]
    assert not af.flow(a, queries=0, groups={"own": [0, 1], "some": [2, 3]}).flat.any()


def test_one_head_at_the_top_has_its_own_limit() -> None:
    both = np.concatenate([_to_itself(6, 40, 0.9), _to_itself(6, 40, 0.2, seed=1)], axis=1)
    a = af.Attention(both)
    for head in (0, 1):
        g = a.graph(head=head)
        t = af.flow(g, queries=0)
        for layer, mark in zip(t.layers[1:], t.flat[1:, 0], strict=True):
            top = g.top(layer)[0]
            limit = _leaving(g, layer - 1, 0) + top.sum() - top[0]
            assert mark == _is_flat(t.row(layer, 0)[1:], limit)


def test_the_mark_stays_with_words_shares_files_and_the_correction(tmp_path: Any) -> None:
    a = af.Attention(_to_itself(6, 40, 0.9), [f"w{place}" for place in range(40)])
    t = af.flow(a, queries=[0, 1])
    assert t.flat[-1].tolist() == [True, False]
    assert np.array_equal(t.normalized().flat, t.flat)
    text = " ".join(["w0w1", *a.tokens[2:]])
    assert not t.to_words(text).flat.any()  # a word of a flat and another token
    summed = " ".join([*a.tokens[:5], "w5w6", *a.tokens[7:]])
    assert not t.to_words(summed).flat.any()  # one score is the sum of two
    single = af.flow(a, queries=0).to_words(" ".join(a.tokens))
    assert single.flat[-1].tolist() == [True]
    t.save(tmp_path / "t.npz")
    assert af.TokenAttention.load(tmp_path / "t.npz") == t
    assert np.array_equal(af.TokenAttention.load(tmp_path / "t.npz").flat, t.flat)


def test_flags_of_another_shape_are_an_error() -> None:
    with pytest.raises(af.InputError, match=r"flat: expected booleans of shape \(1, 1\)"):
        _ = af.TokenAttention([[[1.0]]], ["a"], [1], [0], "flow", flat=[True])
    with pytest.raises(af.InputError, match="flat: expected booleans"):
        _ = af.TokenAttention([[[1.0]]], ["a"], [1], [0], "flow", flat=[[1]])


def test_notebooks_say_that_flow_is_flat() -> None:
    a = af.Attention(_to_itself(6, 40, 0.9))
    assert ", flat</caption>" in af.flow(a, queries=0)._repr_html_()
    assert "not saturated, flat for 1 of 40 queries</caption>" in af.flow(a)._repr_html_()
    assert "flat" not in af.flow(a, layers=1)._repr_html_()
