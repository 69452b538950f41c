"""`matrix`: queries as rows, tokens as columns, at one layer."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.types import random_attention

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot


def _encoder_decoder() -> af.EncoderDecoderAttention:
    generator = np.random.default_rng(0)
    shapes = ((2, 1, 3, 3), (2, 1, 2, 2), (2, 1, 2, 3))
    encoder, decoder, cross = (generator.random(shape) for shape in shapes)
    encoder, decoder, cross = (
        w / w.sum(-1, keepdims=True) for w in (encoder, np.tril(decoder), cross)
    )
    return af.EncoderDecoderAttention(
        encoder, decoder, cross, ["▁I", "▁see", "▁it"], ["▁je", "▁vois"]
    )


def _labels(ax: Any) -> tuple[list[str], list[str]]:
    rows, columns = ax.get_yticklabels(), ax.get_xticklabels()
    return [one.get_text() for one in rows], [one.get_text() for one in columns]


def test_the_title_says_that_flow_is_flat_or_saturated(attention: af.Attention) -> None:
    t = af.flow(attention)
    marks = np.zeros((3, 5), dtype=np.bool_)
    marks[1, :2], marks[2] = True, True
    flat = replace(t, flat=marks, saturated=(True, False, False))
    titles = [plot.matrix(flat, layer=layer).get_title() for layer in (1, 2, 3)]
    assert titles == [
        "Attention flow, layer 1 (saturated)",
        "Attention flow, layer 2 (flat for 2 of 5 queries)",
        "Attention flow, layer 3 (flat)",
    ]


def test_a_line_says_what_was_taken_out(attention: af.Attention) -> None:
    ax = plot.matrix(af.rollout(attention, without=[0]))
    (note,) = ax.texts
    assert (ax.get_xlabel(), note.get_text()) == ("token", "without position 0 [CLS]")
    ax.figure.canvas.draw()
    assert note.get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0
    assert note.get_window_extent().y0 >= 0
    assert plot.matrix(af.rollout(attention)).get_xlabel() == "token"


def test_cells_are_the_scores_of_the_layer(attention: af.Attention) -> None:
    t = af.rollout(attention)
    ax = plot.matrix(t, layer=2)
    (image,) = ax.images
    assert np.array_equal(image.get_array(), t.scores[1])
    assert image.origin == "upper"
    assert _labels(ax) == ([*attention.tokens], [*attention.tokens])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "token")
    assert ax.get_title() == "Attention rollout, layer 2"
    assert plot.matrix(t).get_title() == "Attention rollout, layer 3"


def test_the_diagonal_does_not_decide_the_scale(attention: af.Attention) -> None:
    t = af.rollout(attention, layers=1)
    ax = plot.matrix(t)
    others = t.scores[0][~np.eye(5, dtype=bool)]
    assert ax.images[0].get_clim() == (0.0, others.max())
    assert t.scores.max() > others.max()
    assert ax.images[0].colorbar.extend == "max"
    assert ax.images[0].colorbar.ax.get_ylabel() == "share"


def test_some_queries_are_some_rows(attention: af.Attention) -> None:
    t = af.raw(attention, queries=[3, 0])
    ax = plot.matrix(t)
    assert ax.images[0].get_array().shape == (2, 5)
    assert _labels(ax)[0] == ["is", "[CLS]"]


def test_an_encoder_decoder_is_target_by_source() -> None:
    a = _encoder_decoder()
    t = af.rollout(a)
    ax = plot.matrix(t)
    assert np.array_equal(ax.images[0].get_array(), t.scores[-1, 3:, :3])
    assert _labels(ax) == (["je", "vois"], ["I", "see", "it"])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("target token", "source token")
    own = plot.matrix(t, columns="target")
    assert np.array_equal(own.images[0].get_array(), t.scores[-1, 3:, 3:])
    assert own.get_xlabel() == "target token"
    assert plot.matrix(t, columns="all").images[0].get_array().shape == (5, 5)
    encoder = plot.matrix(t, layer=2)  # source tokens attend in the layers of the encoder
    assert np.array_equal(encoder.images[0].get_array(), t.scores[1, :3, :3])
    assert encoder.get_ylabel() == "source token"


def test_words_of_an_encoder_decoder_are_target_by_source() -> None:
    a = _encoder_decoder()
    t = af.rollout(a).to_words("I seeit\nje vois")
    assert t.settings["source_tokens"] == 2
    ax = plot.matrix(t)
    assert _labels(ax) == (["je", "vois"], ["I", "seeit"])
    assert np.array_equal(ax.images[0].get_array(), t.scores[-1, 2:, :2])


def test_names_of_many_tokens_have_their_positions_and_do_not_overlap() -> None:
    t = af.raw(random_attention(1, 1, 120, seed=0, tokens=["incomprehensible"] * 120))
    ax = plot.matrix(t)
    ax.get_figure().canvas.draw()
    rows, columns = _labels(ax)
    assert 10 < len(rows) < 120
    assert 10 < len(columns) < 120
    names = [f"{place:.0f} incomprehensible" for place in ax.get_yticks()]
    assert rows == [name if len(name) <= 18 else f"{name[:17]}…" for name in names]
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_bad_input_raises_an_error(attention: af.Attention) -> None:
    t = af.raw(attention)
    for call, message in (
        (lambda: plot.matrix(attention), "expected a TokenAttention, got Attention"),
        (lambda: plot.matrix(t, layer=9), "layer 9 was not computed"),
        (lambda: plot.matrix(t, columns="source"), "needs scores of tokens of an encoder-decoder"),
        (lambda: plot.matrix(t, columns="some"), 'columns must be "source", "target" or "all"'),
        (
            lambda: plot.matrix(af.rollout(_encoder_decoder(), queries=[0, 1])),
            "layer 6: expected queries of target tokens",
        ),
    ):
        with pytest.raises(af.InputError, match=message):
            _ = call()
    assert plt.get_fignums() == []
