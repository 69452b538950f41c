"""The picture of a page: what the page shows first, drawn."""

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import attnflow as af
from attnflow._internal.scale import largest_other
from attnflow.types import random_attention
from attnflow.view._picture import draw, picture
from sink_models import with_sink

METHODS = ["Raw attention", "Attention rollout", "Attention flow"]
ATTENTION = random_attention(3, 2, 5, tokens=["[CLS]", "the", "key", "to", "it"])
CAUSAL = random_attention(3, 2, 4, tokens=["<s>", "the", "key", "is"], causal=True)
GRID = af.Origin(grid=af.Grid(rows=2, columns=3, prefix=1))


def _panels(figure: Any) -> list[Any]:
    """The axes of the methods, without colour bars."""
    return [ax for ax in figure.axes if ax.get_title()]


def _caption(figure: Any) -> str:
    """What is written above the titles."""
    titles = "\n".join(ax.get_title() for ax in _panels(figure))
    return re.sub("|".join(METHODS), "", titles).strip()


def _last_rows(figure: Any) -> list[Any]:
    return [np.asarray(ax.images[0].get_array())[-1] for ax in _panels(figure)]


def _shares(scores: af.TokenAttention) -> Any:
    row = scores.scores[-1, 0]
    return row / row.sum()


def test_it_has_a_heat_map_of_each_method_for_the_selected_position() -> None:
    figure = draw(ATTENTION, {"query": 2})
    assert [ax.get_title().splitlines()[-1] for ax in _panels(figure)] == METHODS
    assert _caption(figure) == "From position 2 key"
    expected = [method(ATTENTION, queries=2) for method in (af.raw, af.rollout, af.flow)]
    for row, scores in zip(_last_rows(figure), expected, strict=True):
        np.testing.assert_allclose(row, _shares(scores), atol=1e-12)


def test_sinks_are_out_and_named_unless_they_are_kept() -> None:
    attention = with_sink(ATTENTION, 1)
    figure = draw(attention, {"query": 2})
    assert _caption(figure) == "From position 2 key, sinks removed: position 1 the"
    assert [row[1] for row in _last_rows(figure)] == [0, 0, 0]
    kept = draw(attention, {"query": 2, "sinks": "keep"})
    assert _caption(kept) == "From position 2 key"
    assert all(row[1] > 0.1 for row in _last_rows(kept))


def test_decoders_are_corrected_for_the_receptive_field() -> None:
    figure = draw(CAUSAL, {"sinks": "keep"})
    assert _caption(figure) == "From position 3 is, corrected for the receptive field"
    rolled = af.rollout(CAUSAL, queries=3, receptive_field=True)
    np.testing.assert_allclose(_last_rows(figure)[1], _shares(rolled), atol=1e-12)
    plain = draw(CAUSAL, {"sinks": "keep", "receptive_field": False})
    assert _caption(plain) == "From position 3 is"
    rolled = af.rollout(CAUSAL, queries=3)
    np.testing.assert_allclose(_last_rows(plain)[1], _shares(rolled), atol=1e-12)


def test_scores_are_drawn_as_they_are() -> None:
    scores = [af.raw(ATTENTION, queries=[1, 2]), af.flow(ATTENTION, queries=1, without=3)]
    figure = draw(scores, {})
    assert [ax.get_title().splitlines()[-1] for ax in _panels(figure)] == [METHODS[0], METHODS[2]]
    assert _caption(figure) == "From position 1 the, without position 3 to"


def test_an_image_is_drawn_as_its_patches() -> None:
    attention = af.Attention(random_attention(3, 2, 7).weights, origin=GRID)
    figure = draw(attention, {"layer": 2, "sinks": "keep"})
    assert len(figure.axes) == 3
    assert [np.asarray(ax.images[1].get_array()).shape for ax in figure.axes] == [(2, 3)] * 3
    for ax, method in zip(figure.axes, METHODS, strict=True):
        assert f"{method}, layer 2" in ax.get_title()
    grid = af.rollout(attention, queries=0).to_grid(0)[1]
    drawn = np.asarray(figure.axes[1].images[1].get_array())
    # The scale ends at the largest score but for sinks; the query is no patch.
    top = largest_other(grid.reshape(1, -1), np.zeros(grid.size, dtype=bool))
    np.testing.assert_allclose(drawn, np.minimum(grid, top), atol=1e-12)
    assert len(np.unique(drawn)) > 1


def test_saturated_flow_of_an_image_is_marked() -> None:
    attention = af.Attention(random_attention(12, 2, 7).weights, origin=GRID)
    assert af.flow(attention, queries=0).saturated[-1]
    assert draw(attention, {}).axes[2].get_title() == "Attention flow, layer 12 (saturated)"


def _explanation() -> Any:
    shipped = af.paper.load()
    return af.explain(shipped.model, shipped.tokenizer, "the key to the cabinets")


def _encoder_decoder() -> Any:
    source, decoder = random_attention(2, 2, 5), random_attention(2, 2, 3, causal=True)
    cross = source.weights[:, :, :3]
    return af.EncoderDecoderAttention(source.weights, decoder.weights, cross)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ATTENTION,
        lambda: CAUSAL,
        CAUSAL.graph,
        lambda: ATTENTION.graph(head=1),
        lambda: af.AttentionGraph([np.full((2, 3), 1 / 3), np.full((4, 2), 0.5)]),
        lambda: {"attention": ATTENTION, "mine": ATTENTION.graph()},
        lambda: af.rollout(ATTENTION),
        lambda: random_attention(2, 2, 70),
        lambda: random_attention(30, 1, 4),
        lambda: random_attention(2, 1, 3, tokens=["$a_b$", "</b>", "\u732b"]),
        _explanation,
        _encoder_decoder,
    ],
    ids=[
        "attention", "decoder", "decoder graph", "head", "uneven graph", "edges", "scores", "long",
        "deep", "names", "explanation", "encoder-decoder",
    ],
)  # fmt: skip
def test_every_input_has_a_picture_that_fits_a_notebook(make: Callable[[], Any]) -> None:
    drawn = picture(make(), {})
    assert drawn is not None
    assert len(drawn) < 150_000
    with Image.open(io.BytesIO(drawn)) as image:
        assert image.format == "PNG"
        assert 650 <= image.width <= 1200
        assert 220 <= image.height <= 900


def test_the_prediction_is_written_above() -> None:
    assert re.fullmatch(
        r"singular 0\.\d{3}, from position 0 \[CLS\]", _caption(draw(_explanation(), {}))
    )


def test_pyplot_does_not_know_the_figure() -> None:
    from matplotlib import pyplot as plt

    before = plt.get_fignums()
    _ = picture(ATTENTION, {})
    assert plt.get_fignums() == before


def test_the_same_input_gives_the_same_picture() -> None:
    assert picture(ATTENTION, {}) == picture(ATTENTION, {})
