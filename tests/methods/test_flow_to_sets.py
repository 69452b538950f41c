"""Flow to a set of tokens: `max_flow(sink={…})` and `flow(groups=…)`."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention
from exact_flow import ExactFlows, terminals
from fuzz_flow import FAMILIES

Agree = Callable[..., bool]
Certify = Callable[..., None]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Solver = Callable[..., Callable[[tuple[int, int], tuple[int, int]], float]]

A = random_attention(4, 3, 6, tokens=list("abcdef"))
WORDS = {"ab": [0, 1], "f": [5], "bcd": (1, 2, 3)}
SEEDS = st.integers(0, 9_999)
law = settings(deadline=None, max_examples=60)


def with_super_sink(layers: Any, groups: Any, onto: int = 0) -> list[Any]:
    """The layers above `onto`, and below them one node for each group, joined without bound."""
    member = np.zeros((layers[onto].shape[1], len(groups)))
    for number, group in enumerate(groups):
        member[list(group), number] = np.inf
    return [member, *layers[onto:]]


def some_groups(rng: np.random.Generator, size: int) -> list[list[int]]:
    """All positions, one of them, and two sets that may overlap."""
    several = [rng.permutation(size)[: rng.integers(1, size + 1)].tolist() for _ in range(2)]
    return [list(range(size)), [int(rng.integers(size))], *several]


# ---- other solvers --------------------------------------------------------------------------


def test_the_flow_to_a_set_is_the_flow_to_a_node_below_it(
    family: Family, exact: Solver, certify: Certify, agree: Agree
):
    for seed in range(6):
        rng = np.random.default_rng([seed, 2])
        layers = family(rng)
        onto = int(rng.integers(len(layers)))
        groups = some_groups(rng, layers[onto].shape[1])
        truth = exact(with_super_sink(layers, groups, onto))
        g = af.AttentionGraph(layers)
        top = int(rng.integers(onto + 1, len(layers) + 1))
        query = int(rng.integers(len(layers[top - 1])))
        t = af.flow(g, layers=top, queries=query, onto=onto, groups=groups)
        for number, group in enumerate(groups):
            expected = truth((top - onto + 1, query), (0, number))
            assert agree(t.scores[0, 0, number], expected, layers)
            if np.isfinite(expected):
                m = af.max_flow(g, source=(top, query), sink=group, onto=onto)
                certify(layers, m, (top, query), group, onto)
                assert agree(m.value, expected, layers)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_sets_are_right_for_weights_of_any_size(
    family: Callable[[np.random.Generator], Any], certify: Certify
):
    for seed in range(25):
        rng = np.random.default_rng([seed, 3])
        layers = family(rng)
        groups = some_groups(rng, layers[0].shape[1])
        truth, top = ExactFlows(with_super_sink(layers, groups)), len(layers)
        scores = af.flow(af.AttentionGraph(layers), layers=top, groups=groups).scores[0]
        for query, number in np.ndindex(scores.shape):
            true = truth.value((top + 1, query), (0, number))
            if true == np.inf:
                assert scores[query, number] == np.inf
                continue
            allowed = sum(terminals(layers, (top, query), (0, j)) for j in groups[number])
            allowed = min(allowed, float(layers[-1][query].sum()), np.finfo(float).max)
            error = abs(scores[query, number] - float(true))
            assert error <= 1e-9 * (allowed if allowed < np.inf else float(true))
        query = int(rng.integers(len(layers[-1])))
        if scores[query, 2] < np.inf:
            m = af.max_flow(af.AttentionGraph(layers), source=(top, query), sink=groups[2])
            certify(layers, m, (top, query), groups[2])


@pytest.mark.parametrize("n_tokens", [63, 130])
def test_sets_of_many_tokens_agree_with_another_solver(
    n_tokens: int, fast: Solver, certify: Certify
):
    g = random_attention(4, 2, n_tokens, seed=n_tokens).graph()
    groups = [list(range(0, n_tokens, 2)), list(range(5)), [0, n_tokens - 1]]
    solve = fast(with_super_sink(g.layers, groups))
    t = af.flow(g, groups=groups, queries=[0, 7])
    for layer, (place, query), number in itertools.product(
        t.layers, enumerate(t.queries), range(3)
    ):
        expected = solve((layer + 1, query), (0, number))
        assert t.scores[layer - 1, place, number] == pytest.approx(expected, rel=0, abs=1e-9)
    m = af.max_flow(g, source=(4, 7), sink=groups[1])
    certify(g.layers, m, (4, 7), groups[1])
    assert np.delete(m.cut[0], groups[1]).all()  # all nodes of this layer but those of the set


def test_an_encoder_decoder_takes_groups_of_source_and_target():
    decoder = np.tril(np.random.default_rng(0).random((3, 3)) + 0.1)
    decoder /= decoder.sum(axis=1, keepdims=True)
    cross = np.random.default_rng(1).random((3, 4)) + 0.1
    cross /= cross.sum(axis=1, keepdims=True)
    encoder = random_attention(2, 1, 4).weights
    a = af.EncoderDecoderAttention(
        encoder, [[decoder]] * 2, [[cross]] * 2, list("abcd"), list("xyz")
    )
    g = a.graph()
    groups = {"source": range(4), "target": range(4, 7), "all": range(7)}
    t = af.flow(a, layers=g.n_layers, queries=[4, 5, 6], groups=groups)
    truth = ExactFlows(with_super_sink(g.layers, groups.values()))
    for place, query in enumerate(t.queries):
        expected = [truth.value((g.n_layers + 1, query), (0, number)) for number in range(3)]
        assert np.allclose(t.scores[0, place], [float(x) for x in expected], rtol=1e-9, atol=0)
    # A source token of the top layer comes from the encoder's top by unbounded edges.
    assert np.allclose(af.flow(a, layers=g.n_layers, queries=0, groups=groups).scores, [1, 0, 1])


# ---- laws -----------------------------------------------------------------------------------


@given(seed=SEEDS)
@law
def test_a_group_of_one_token_is_the_token(any_family: Family, seed: int, agree: Agree):
    layers = any_family(np.random.default_rng(seed))
    g = af.AttentionGraph(layers)
    singles = [[j] for j in range(g.sizes[0])]
    found = af.flow(g, layers=g.n_layers, groups=singles)
    tokens = af.flow(g, layers=g.n_layers)
    assert agree(found.scores, tokens.scores, layers)
    assert found.tokens == tokens.tokens
    assert found.saturated == tokens.saturated


def test_a_set_of_one_token_is_the_token_to_the_last_bit():
    one, other = (af.max_flow(A, source=(4, 1), sink=sink) for sink in (3, {3}))
    assert one == other


@given(seed=SEEDS)
@law
def test_a_larger_set_receives_no_less_and_no_more_than_the_sum(
    any_family: Family, seed: int, slack: Callable[..., float]
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    g = af.AttentionGraph(layers)
    order = rng.permutation(g.sizes[0]).tolist()
    nested = [order[:count] for count in range(1, len(order) + 1)]
    scores = af.flow(g, layers=g.n_layers, groups=nested).scores[0]
    _ = assume(np.isfinite(scores).all())
    assert (np.diff(scores, axis=1) >= -slack(layers)).all()
    tokens = af.flow(g, layers=g.n_layers).scores[0][:, order]
    assert (scores <= np.cumsum(tokens, axis=1) * (1 + 1e-9) + slack(layers)).all()


@pytest.mark.parametrize("causal", [False, True])
def test_all_tokens_receive_the_whole_row_of_attention(causal: bool):
    a = random_attention(6, 2, 9, seed=1, causal=causal)
    t = af.flow(a, groups={"all": range(9)})
    assert np.allclose(t.scores, 1.0, rtol=0, atol=1e-9)
    assert af.max_flow(a, source=(6, 4), sink=range(9)).value == pytest.approx(1.0, abs=1e-9)


def test_the_order_of_positions_and_of_groups_does_not_matter():
    t = af.flow(A, groups=[[3, 0, 4], [1]])
    u = af.flow(A, groups=[{1}, np.array([0, 3, 4])])
    assert np.array_equal(t.scores, u.scores[..., ::-1])
    assert af.max_flow(A, source=(4, 0), sink=[3, 0]) == af.max_flow(A, source=(4, 0), sink={0, 3})


def test_the_number_of_threads_does_not_change_a_bit():
    one, two = (af.flow(A, groups=WORDS, threads=threads).scores for threads in (1, 2))
    assert np.array_equal(one, two)


# ---- by hand --------------------------------------------------------------------------------


def test_tokens_that_share_an_edge_share_its_capacity(certify: Certify):
    # Both tokens are reached over node 0 of layer 1, which the source takes 0.5 from.
    layers = [np.array([[0.4, 0.4, 0.2]]), np.array([[0.5]])]
    g = af.AttentionGraph(layers)
    t = af.flow(g, layers=2, groups=[[0], [1], [0, 1], [0, 2]])
    assert np.allclose(t.scores, [[[0.4, 0.4, 0.5, 0.5]]], rtol=0, atol=1e-15)
    m = af.max_flow(g, source=(2, 0), sink={0, 1})
    certify(layers, m, (2, 0), [0, 1])
    assert np.allclose(m.flows[0], [[0.4, 0.1, 0.0]], rtol=0, atol=1e-15)
    assert [side.tolist() for side in m.cut] == [[False, False, True], [False], [True]]


def test_one_layer_and_two_have_sets_too(certify: Certify):
    layers = [np.array([[0.25, 0.5, np.inf], [1.0, 0.0, 2.0]]), np.array([[0.5, 0.25]])]
    g = af.AttentionGraph(layers)
    m = af.max_flow(g, source=(1, 1), sink=[0, 2])
    certify(layers, m, (1, 1), [0, 2])
    assert m.value == 3.0
    m = af.max_flow(g, source=(2, 0), sink=[1, 2])
    certify(layers, m, (2, 0), [1, 2])
    assert m.value == 0.75
    with pytest.raises(af.InputError, match="from node 0 to nodes 0, 2 is infinite"):
        _ = af.max_flow(g, source=(1, 0), sink=[0, 2])
    assert af.flow(g, layers=1, groups=[[0, 2], [0, 1]]).scores.tolist() == [
        [[np.inf, 0.75], [3.0, 1.0]]
    ]


def test_a_sum_of_weights_beyond_float64_is_not_called_infinite():
    huge = np.finfo(float).max
    g = af.AttentionGraph([np.full((2, 2), huge), np.eye(2)])
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = af.flow(g, groups=[[0, 1]])
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = af.max_flow(g, source=(2, 0), sink=[0, 1])


# ---- with the other settings ----------------------------------------------------------------


def test_groups_compose_with_layers_queries_and_onto():
    whole = af.flow(A, onto=1, groups=WORDS)
    t = af.flow(A, layers=[4, 2], queries=[5, 0], onto=1, groups=WORDS)
    assert np.array_equal(t.scores, whole.scores[[2, 0]][:, [5, 0]])
    assert t.layers == (4, 2)
    assert t.queries == (5, 0)


def test_groups_compose_with_a_head_and_with_excluded_positions():
    several: list[dict[str, Any]] = [{"head": 1}, {"without": [0]}]
    for options in several:
        t = af.flow(A, groups=WORDS, **options)
        g = A.graph(**options)
        for layer, (name, group) in itertools.product(t.layers, WORDS.items()):
            m = af.max_flow(g, source=(layer, 2), sink=group)
            found = t.row(layer, 2)[t.tokens.index(name)]
            assert found == pytest.approx(m.value, rel=0, abs=1e-9)


def test_progress_counts_groups():
    calls: list[tuple[int, int]] = []
    _ = af.flow(A, groups=WORDS, progress=lambda *call: calls.append(call))
    assert calls[-1] == (18, 18)


def test_receptive_field_makes_visible_groups_of_uniform_attention_equal():
    uniform = np.tril(np.ones((6, 6)))
    uniform /= uniform.sum(axis=1, keepdims=True)
    a = af.Attention(np.broadcast_to(uniform, (3, 2, 6, 6)), causal=True)
    t = af.flow(a, groups=[[0, 1, 2], [3], [4, 5]], receptive_field=True)
    assert np.allclose(t.scores[:, 5], 1 / 3, rtol=0, atol=1e-9)
    assert np.allclose(t.scores[:, 3], [0.5, 0.5, 0.0], rtol=0, atol=1e-9)
    assert t.settings["receptive_field"] is True


def test_saturation_is_that_of_the_groups():
    a = random_attention(12, 3, 6, seed=2)
    t = af.flow(a, groups=WORDS)
    same = [bool(np.allclose(rows, rows[:1], rtol=1e-9, atol=0)) for rows in t.scores]
    assert list(t.saturated) == same
    assert same[-1]
    assert not same[0]
    # With one query: whether every score is at its ceiling.
    single = af.flow(a, queries=2, groups=WORDS)
    takes = a.graph().layers[0].sum(axis=0)
    ceilings = [min(1.0, float(takes[list(group)].sum())) for group in WORDS.values()]
    at_ceiling = [bool(np.allclose(row[0], ceilings, rtol=1e-9, atol=0)) for row in single.scores]
    assert list(single.saturated) == [False, *at_ceiling[1:]]
    assert any(at_ceiling)
    assert not all(at_ceiling[1:])


# ---- the result -----------------------------------------------------------------------------


def test_the_result_has_the_names_and_positions_of_the_groups():
    t = af.flow(A, groups=WORDS)
    assert t.tokens == ("ab", "f", "bcd")
    assert t.settings["segments"] == ((0, 1), (5,), (1, 2, 3))
    assert t.method == "flow"
    assert "segments" not in af.flow(A).settings
    assert af.flow(A, groups=[[1, 0], [5]]).tokens == ("a b", "f")
    long = af.flow(random_attention(1, 1, 60), groups=[range(60)]).tokens[0]
    assert len(long) == 40
    assert long.endswith("…")


def test_groups_are_segments_to_what_reads_results(tmp_path: Any):
    origin = af.Origin(text="abcdef", spans=tuple((i, i + 1) for i in range(6)))
    t = af.flow(dataclasses.replace(A, origin=origin), groups=WORDS)
    assert t.origin is None
    with pytest.raises(af.InputError, match=r"got scores of segments.*without groups"):
        _ = t.to_words("abcdef")
    t.save(tmp_path / "t.npz")
    assert af.TokenAttention.load(tmp_path / "t.npz") == t


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups: expected at least one group, got none. Leave it out for tokens"),
        ({}, "groups: expected at least one group, got none"),
        ([[]], "group 0: expected at least one position, got none"),
        ({"a": []}, "group 'a': expected at least one position, got none"),
        ([[0], [1, 1]], r"group 1: expected distinct positions, got \(1, 1\)"),
        ({"a": [0, 6]}, "group 'a' must be 0 to 5, got 6"),
        ([[0, -1]], "group 0 must be 0 to 5, got -1"),
        ([[0, True]], "group 0 must be integers"),
        ([[0.0]], "group 0 must be integers"),
        ([["a"]], "group 0 must be integers"),
        (
            [0, 1],
            r"expected a list of lists of positions, as in \[\[0, 1\], \[2\]\].*got 0 as group 0",
        ),
        ({"a": 3}, "expected a list of lists of positions.*got 3 as group 'a'"),
        (["ab"], "expected a list of lists of positions.*got 'ab' as group 0"),
        ("words", "expected a list of lists of positions.*got 'words'"),
        ({frozenset({0})}, "expected a list of lists of positions"),
        (3, "expected a list of lists of positions.*got 3"),
        ({1: [0]}, "the names of groups must be strings, got 1"),
    ],
)
def test_bad_groups_are_refused(groups: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.flow(A, groups=groups)


def test_groups_are_positions_of_the_layer_onto():
    g = af.AttentionGraph([np.ones((2, 5)), np.ones((3, 2))])
    assert af.flow(g, layers=2, groups=[[4]]).scores.shape == (1, 3, 1)
    with pytest.raises(af.InputError, match="group 0 must be 0 to 1, got 4"):
        _ = af.flow(g, onto=1, groups=[[4]])
