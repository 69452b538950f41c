import numpy as np
import pytest

import attnflow as af
from attnflow._internal.sinks import describe_sinks, sinks_of
from attnflow.types import random_attention


def test_a_sink_takes_more_than_half_of_a_layer_on_average():
    first = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    last = np.array([[0.0, 0.0, 1.0]] * 3)
    a = af.Attention([[first, np.eye(3)], [first, first], [last, last]])
    (sink, other) = a.sinks
    assert (sink.layer, sink.position) == (2, 0)
    assert sink.share == pytest.approx(1.7 / 3)
    assert (other.layer, other.position, other.share) == (3, 2, 1.0)


def test_the_share_is_the_mean_over_heads_and_queries():
    a = random_attention(4, 3, 40, seed=2)
    shares = a.weights.astype(np.float64).mean(axis=(1, 2))
    expected = {(int(l) + 1, int(k)): shares[l, k] for l, k in np.argwhere(shares > 0.5)}
    found = {(s.layer, s.position): s.share for s in a.sinks}
    assert found == pytest.approx(expected, rel=1e-6)


def test_most_attention_in_the_lowest_third_alone_is_no_sink() -> None:
    uniform = np.full((6, 1, 4, 4), 0.25)
    lowest = uniform.copy()
    lowest[:2] = np.eye(4)[1]
    assert af.Attention(lowest).sinks == ()
    middle = uniform.copy()
    middle[[0, 2]] = np.eye(4)[1]
    assert [(s.layer, s.position) for s in af.Attention(middle).sinks] == [(1, 1), (3, 1)]


def test_exactly_half_is_no_sink():
    assert af.Attention(np.full((1, 1, 2, 2), 0.5)).sinks == ()


def test_a_single_token_is_no_sink():
    assert af.Attention(np.ones((2, 1, 1, 1))).sinks == ()


def test_taking_a_sink_out_leaves_none():
    weights = np.full((1, 1, 5, 5), 0.1)
    weights[..., 0] = 0.6
    a = af.Attention(weights)
    (sink,) = a.sinks
    g = a.graph(without=sink.position, residual=0.0)
    assert np.allclose(g.layers[0][1:, 1:], 0.25)
    assert not g.layers[0][:, 0].any()


def test_layers_and_positions_can_be_counted_otherwise():
    weights = np.broadcast_to(np.eye(2)[[0, 0]], (2, 1, 2, 2))
    assert [(s.layer, s.position) for s in sinks_of(weights, layers=[3, 5], first=4)] == [
        (3, 4),
        (5, 4),
    ]


def test_tokens_in_messages_are_escaped():
    assert describe_sinks([af.Sink(1, 0, 0.75)], ["\x1b[2J"]).startswith(
        "position 0 \\x1b[2J receives 75 %"
    )


def test_uniform_causal_attention_has_no_sink_however_short() -> None:
    for n in range(2, 7):
        uniform = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
        assert af.Attention(uniform[None, None], causal=True).sinks == ()
