import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import attnflow as af

INF = np.inf


def softmax(*shape: int, seed: int, causal: bool = False) -> NDArray[np.float64]:
    scores = 2 * np.random.default_rng(seed).standard_normal(shape)
    if causal:
        scores[..., np.triu(np.ones(shape[-2:], dtype=bool), k=1)] = -INF
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


def attention(
    layers: tuple[int, int] = (2, 3), tokens: tuple[int, int] = (4, 3), **settings: Any
) -> af.EncoderDecoderAttention:
    """Random attention; encoder and decoder differ in layers, heads and tokens."""
    (below, above), (s, t) = layers, tokens
    return af.EncoderDecoderAttention(
        softmax(below, 2, s, s, seed=1),
        softmax(above, 3, t, t, seed=2, causal=True),
        softmax(above, 3, t, s, seed=3),
        **settings,
    )


# Two source tokens a and b, two target tokens <s> and c, one layer each, one head.
BY_HAND = af.EncoderDecoderAttention(
    encoder=[[[[0.5, 0.5], [0.0, 1.0]]]],
    decoder=[[[[1.0, 0.0], [0.5, 0.5]]]],
    cross=[[[[0.5, 0.5], [1.0, 0.0]]]],
    source=["a", "b"],
    target=["<s>", "c"],
)


# ---- a graph worked out by hand -------------------------------------------------------------


def test_the_graph_by_hand_has_these_edges():
    g = BY_HAND.graph()
    encoder = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, INF, 0], [0, 0, 0, INF]]
    decoder = [[INF, 0, 0, 0], [0, INF, 0, 0], [0, 0, 1, 0], [0, 0, 0.25, 0.75]]
    cross = [[INF, 0, 0, 0], [0, INF, 0, 0], [0.25, 0.25, 0.5, 0], [0.5, 0, 0, 0.5]]
    assert g.tokens == ("a", "b", "<s>", "c")
    assert np.array_equal(g.layers, [encoder, decoder, cross])


def test_the_rollout_by_hand_has_these_scores():
    t = af.rollout(BY_HAND)
    first = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    second = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.25, 0.75]]
    # <s>: a quarter of a and of b as they are now, half of itself.
    # c: half of a, half of itself, which has become a quarter <s>.
    third = [
        [0.75, 0.25, 0, 0],
        [0, 1, 0, 0],
        [0.25 * 0.75, 0.25 * 0.25 + 0.25 * 1, 0.5, 0],
        [0.5 * 0.75, 0.5 * 0.25, 0.5 * 0.25, 0.5 * 0.75],
    ]
    assert np.array_equal(t.scores, [first, second, third])


def test_the_flow_by_hand_has_these_values():
    t = af.flow(BY_HAND)
    first = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, INF, 0], [0, 0, 0, INF]]
    second = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.25, 0.75]]
    # <s> to b: 0.25 by way of a, whose edge to b is as wide, and 0.25 by way of b.
    # c to b: 0.5 goes to a, of which 0.25 can go on to b.
    third = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0.25, 0.5, 0.5, 0], [0.5, 0.25, 0.25, 0.5]]
    assert np.array_equal(t.scores, [first, second, third])


def test_raw_attention_by_hand_is_that_of_each_layer():
    t = af.raw(BY_HAND)
    assert np.array_equal(t.row(1, 0), [0.5, 0.5, 0, 0])
    assert np.array_equal(t.row(2, 3), [0, 0, 0.5, 0.5])
    assert np.array_equal(t.row(3, 2), [0.5, 0.5, 0, 0])
    assert np.array_equal(t.row(3, 0), [1, 0, 0, 0])  # carried along


# ---- random attention -----------------------------------------------------------------------


@pytest.mark.parametrize("residual", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("heads", ["mean", "max"])
def test_rollout_is_what_the_blocks_compute_one_after_the_other(residual: float, heads: Any):
    a = attention()
    fused = [getattr(w, heads)(1) for w in (a.encoder, a.decoder, a.cross)]
    encoder, decoder, cross = (w / w.sum(-1, keepdims=True) for w in fused)
    read = np.eye(4)  # source positions over source tokens
    for weights in encoder:
        read = (1 - residual) * weights @ read + residual * read
    written = np.hstack([np.zeros((3, 4)), np.eye(3)])  # target positions over all tokens
    for own, across in zip(decoder, cross, strict=True):
        written = (1 - residual) * own @ written + residual * written
        drawn = np.hstack([across @ read, np.zeros((3, 3))])
        written = (1 - residual) * drawn + residual * written
    scores = af.rollout(a.graph(residual=residual, heads=heads), layers=a.n_layers).scores[0]
    assert np.allclose(scores[:4], np.hstack([read, np.zeros((4, 3))]), rtol=0, atol=1e-14)
    assert np.allclose(scores[4:], written, rtol=0, atol=1e-14)


@pytest.mark.parametrize("without", [(), (0,), (0, 4), (0, 1, 2, 3)])
def test_rollout_rows_are_distributions_at_every_layer(without: tuple[int, ...]):
    scores = af.rollout(attention(), without=without).scores
    assert scores.min() >= 0
    assert np.allclose(scores.sum(-1), 1, rtol=1e-13)


def test_target_tokens_are_carried_through_the_encoder_and_source_tokens_through_the_decoder():
    a = attention()
    t = af.rollout(a)
    for layer in (1, 2):
        assert np.array_equal(t.scores[layer - 1, 4:], np.eye(7)[4:])
    for layer in range(3, 9):
        assert np.array_equal(t.scores[layer - 1, :4], t.scores[1, :4])


@pytest.mark.parametrize("without", [(), (1, 5)])
def test_flow_agrees_with_networkx(exact: Callable[..., Any], without: tuple[int, ...]):
    g = attention(layers=(2, 2)).graph(without=without)
    truth = exact(g.layers)
    for layer in (2, 3, 5, 6):
        scores = af.flow(g, layers=layer).scores[0]
        expected = [[truth((layer, i), (0, j)) for j in range(7)] for i in range(7)]
        assert np.allclose(scores, expected, rtol=0, atol=1e-12)


def test_carried_edges_never_narrow_a_flow():
    # Everything of the target comes from one source token, which eight layers carry along.
    one = np.ones((1, 1, 1, 1))
    a = af.EncoderDecoderAttention(one, np.ones((4, 1, 1, 1)), np.ones((4, 1, 1, 1)))
    g = a.graph(residual=0.75)
    carried = [layer[0, 0] for layer in g.layers[1:]]
    assert carried == [INF] * 8
    # Four cross-attention edges of 0.25 each lead to it, and all is passed on in between.
    assert np.isclose(af.flow(g, layers=9, queries=1).row(9, 1)[0], 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_selected_layers_and_queries_are_a_slice_of_all(method: Any):
    a = attention()
    part, whole = method(a, layers=[8, 4], queries=[6, 1]), method(a)
    assert np.allclose(part.scores, whole.scores[[7, 3]][:, [6, 1]], rtol=0, atol=1e-12)


def test_max_flow_explains_a_target_token(certify: Callable[..., None]):
    a = attention()
    m = af.max_flow(a, source=(8, 6), sink=0)
    certify(a.graph().layers, m, (8, 6), 0)
    assert m.value == pytest.approx(af.flow(a, layers=8, queries=6).row(8, 6)[0], abs=1e-9)


# ---- settings of the graph ------------------------------------------------------------------


def test_the_graph_says_how_it_was_made():
    origin = af.Origin(spans=tuple((i, i + 1) for i in range(7)), generated=2)
    g = attention(origin=origin).graph(heads="max", residual=0.25, without=[5, 0])
    assert dict(g.settings) == {
        "heads": "max",
        "residual": 0.25,
        "discard_ratio": 0.0,
        "without": (0, 5),
        "head": None,
        "causal": False,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "source_tokens": 4,
    }
    assert g.origin == origin
    assert g.n_layers == attention().n_layers == 8


def test_excluded_positions_of_source_and_target_receive_no_attention():
    g = attention().graph(without=[1, 4], residual=0.0)
    assert len(g.layers) == 8
    for number, layer in enumerate(g.layers, start=1):
        for position in (1, 4):
            column = np.delete(layer[:, position], position)
            assert not column.any(), (number, position)
            # Itself it may carry along; the first target token sees nothing but itself.
            assert layer[position, position] in (0.0, 1.0, INF)


def test_a_target_token_with_no_source_left_draws_on_itself():
    g = attention().graph(without=range(4), residual=0.25)
    assert len(g.layers[3::2]) == 3
    for cross in g.layers[3::2]:
        assert np.array_equal(cross[4:], np.eye(7)[4:])


def test_discarding_drops_the_smallest_share_of_cross_attention_as_well():
    a = attention()
    cross = a.graph(discard_ratio=0.5, residual=0.0).layers[3]
    fused = a.cross[0].mean(0)
    smallest = np.argsort(fused, axis=None)[:6]  # floor(0.5 * 3 * 4)
    kept = fused.copy()
    kept.flat[smallest] = 0.0
    rows = np.arange(3)
    kept[rows, fused.argmax(1)] = fused[rows, fused.argmax(1)]
    assert np.allclose(cross[4:, :4], kept / kept.sum(1, keepdims=True), rtol=1e-14, atol=0)


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_a_single_head_of_three_kinds_of_attention_is_refused(method: Any):
    with pytest.raises(af.InputError, match="head must be None for an EncoderDecoderAttention"):
        _ = method(attention(), head=0)


@pytest.mark.parametrize("method", [af.rollout, af.flow])
def test_an_encoder_decoder_has_no_causal_receptive_field(method: Any):
    with pytest.raises(af.InputError, match="only for causal attention, got an encoder-decoder"):
        _ = method(attention(), receptive_field=True)


def test_heads_without_a_key_in_common_are_named_with_their_block():
    crossed = np.array([[np.eye(2), np.eye(2)[::-1]]])
    plain = np.eye(2)[None, None]
    for a, place in (
        (af.EncoderDecoderAttention(crossed, plain, plain), "encoder layer 1, query 0"),
        (af.EncoderDecoderAttention(plain, plain, crossed), "decoder layer 1, cross-attention, q"),
    ):
        with pytest.raises(af.InputError, match=place):
            _ = a.graph(heads="min")


def test_positions_taken_out_count_over_source_and_target():
    with pytest.raises(af.InputError, match="without: expected positions 0 to 6, got 7"):
        _ = attention().graph(without=7)


# ---- what comes in --------------------------------------------------------------------------


def test_what_a_hugging_face_model_gives_is_read():
    a = attention()
    encoder, decoder, cross = (
        tuple(torch.tensor(layer[None]) for layer in part)
        for part in (a.encoder, a.decoder, a.cross)
    )
    assert af.EncoderDecoderAttention(encoder, decoder, cross) == a


def test_weights_that_are_handed_over_are_not_copied():
    parts = [np.array(w) for w in (attention().encoder, attention().decoder, attention().cross)]
    for part in parts:
        part.setflags(write=False)
    a = af.EncoderDecoderAttention(*parts)
    for mine, theirs in zip((a.encoder, a.decoder, a.cross), parts, strict=True):
        assert mine is theirs


S = softmax(1, 1, 4, 4, seed=1)
T = softmax(1, 1, 3, 3, seed=2, causal=True)
C = softmax(1, 1, 3, 4, seed=3)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((S, T, C[:, :, :2]), "cross: expected 3 queries .* and 4 keys .* got 2 and 4"),
        ((S, T, softmax(1, 1, 4, 3, seed=3)), "cross: expected 3 queries .* got 4 and 3"),
        ((S, T, S), "cross: expected 3 queries .* got 4 and 4"),
        ((S, T, np.concatenate([C, C])), "cross: expected 1 layers, as many as decoder, got 2"),
        ((S, S, S), r"layer 1 \(decoder\[0\]\), head 0, query 0 attends to key 1, a later one"),
        ((S, C, C), "decoder: expected as many keys as queries, got 3 queries and 4 keys"),
        ((S, T, 2 * C), r"layer 1 \(cross\[0\]\), head 0, query .: .* got 2, an error of 1"),
        ((S, T, -C), r"layer 1 \(cross\[0\]\), head 0, query 0: .* got -"),
        ((None, T, C), "encoder: expected attention weights, got None"),
        ((S, T, None), "cross: expected attention weights, got None"),
        ((S, T, [None]), r"cross\[0\]: expected attention weights, got None"),
        ((S[0], T, C), r"encoder: expected 4 axes .* got shape \(1, 4, 4\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(parts: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.EncoderDecoderAttention(*parts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": ["a"]}, "source: expected 4, one per position, got 1"),
        ({"target": "abc"}, "target must be a list of 3 strings, got 'abc'"),
        ({"averaged": "no"}, "averaged must be a bool, got 'no'"),
        (
            {"origin": af.Origin(spans=((0, 1),))},
            "origin: expected 7 spans, one per position, got 1",
        ),
        ({"origin": af.Origin(generated=3)}, "less than the 3 target positions, got 3"),
    ],
)
def test_what_else_does_not_fit_is_refused(settings: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = attention(**settings)


def test_the_mean_of_all_heads_is_a_single_head_and_cannot_be_undone():
    a = af.EncoderDecoderAttention(S, T, C, averaged=True)
    assert a.graph() == af.EncoderDecoderAttention(S, T, C).graph()
    with pytest.raises(af.InputError, match="holds only the mean of the heads"):
        _ = a.graph(heads="max")
    with pytest.raises(
        af.InputError, match=r"encoder: expected one head, .* with averaged=True, got 2"
    ):
        _ = attention(averaged=True)


# ---- the record -----------------------------------------------------------------------------


def test_tokens_and_predicting_count_over_source_and_target():
    a = attention(source=list("abcd"), target=["<s>", "x", "y"], origin=af.Origin(generated=2))
    assert a.tokens == ("a", "b", "c", "d", "<s>", "x", "y")
    assert a.n_tokens == 7
    assert a.predicting == (4, 5)
    assert attention().predicting == ()


def test_sinks_are_found_in_the_layers_of_the_graph():
    last, first = np.eye(2)[[1, 1]], np.eye(2)[[0, 0]]
    a = af.EncoderDecoderAttention(
        encoder=[[last]],
        decoder=[[np.array([[1, 0], [0.5, 0.5]])], [first]],
        cross=[[last], [np.eye(2)]],
    )
    assert a.sinks == (af.Sink(1, 1, 1.0), af.Sink(3, 1, 1.0), af.Sink(4, 2, 1.0))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_files_and_copies_give_back_the_same(tmp_path: Path, suffix: str):
    named = attention(source=list("abcd"), target=["<s>", "x", "y"], origin=af.Origin(generated=1))
    for number, a in enumerate((named, af.EncoderDecoderAttention(S, T, C, averaged=True))):
        path = tmp_path / f"{number}{suffix}"
        a.save(path)
        for b in (
            af.EncoderDecoderAttention.load(path),
            copy.deepcopy(a),
            pickle.loads(pickle.dumps(a)),  # noqa: S301
        ):
            assert b == a
            assert hash(b) == hash(a)
            assert not b.cross.flags.writeable


def test_what_differs_is_not_equal():
    a = attention()
    assert a != attention(source=list("abcd"))
    assert a != attention(origin=af.Origin())
    assert a != af.EncoderDecoderAttention(a.encoder, a.decoder, a.cross[::-1])
    assert a != "attention"


def test_it_is_frozen_and_read_only():
    a: Any = attention()
    with pytest.raises(AttributeError):
        a.averaged = True
    with pytest.raises(ValueError, match="read-only"):
        a.cross[0, 0, 0, 0] = 1.0


def test_a_file_of_one_text_says_who_reads_it(tmp_path: Path):
    af.Attention(S).save(tmp_path / "a.npz")
    with pytest.raises(af.InputError, match=r"expected encoder, .*Attention\.load reads it"):
        _ = af.EncoderDecoderAttention.load(tmp_path / "a.npz")


def test_it_shows_its_sizes():
    a = attention(target=["<s>", "x", "y"])
    assert (
        repr(a) == "EncoderDecoderAttention(encoder_layers=2, decoder_layers=3, source=4, target=3)"
    )
    html = a._repr_html_()
    assert "<th>encoder</th><td>2 layers, 2 heads</td>" in html
    assert "<th>cross</th><td>3 layers, 3 heads</td>" in html
    assert "<th>target</th><td>3: &lt;s&gt; x y</td>" in html
    assert "<s>" not in html
    mean = af.EncoderDecoderAttention(S, T, C, averaged=True)
    assert "averaged=True" in repr(mean)
    assert "<td>1 layers, the mean of all heads</td>" in mean._repr_html_()
