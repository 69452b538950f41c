"""`heatmap`: tokens from left to right, layers upwards."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.types import random_attention

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot


def test_cells_are_the_scores_of_the_query(attention: af.Attention) -> None:
    t = af.rollout(attention)
    ax = plot.heatmap(t, query=2)
    (image,) = ax.images
    assert np.array_equal(image.get_array(), t.scores[:, 2])
    assert image.get_clim() == (0.0, t.scores[:, 2].max())
    assert image.origin == "lower"  # layer 1 is the lowest
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3"]
    assert [label.get_text() for label in ax.get_xticklabels()] == list(attention.tokens)


def test_layers_are_in_order_however_they_were_given(attention: af.Attention) -> None:
    t = af.rollout(attention, layers=[3, 1], queries=0)
    ax = plot.heatmap(t)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "3"]
    assert np.array_equal(ax.images[0].get_array(), t.scores[[1, 0], 0])


def test_one_query_need_not_be_named_and_several_must(attention: af.Attention) -> None:
    _ = plot.heatmap(af.raw(attention, queries=1))
    with pytest.raises(af.InputError, match="query=0"):
        _ = plot.heatmap(af.raw(attention))
    with pytest.raises(af.InputError, match="query 9 was not computed"):
        _ = plot.heatmap(af.raw(attention), query=9)
    with pytest.raises(af.InputError, match="got Attention"):
        _ = plot.heatmap(attention, query=0)


def test_saturated_layers_have_a_star() -> None:
    t = af.TokenAttention(
        [[[0.5, 0.5]], [[1.0, 1.0]]], ["a", "b"], [1, 2], [0], "flow", saturated=[False, True]
    )
    ax = plot.heatmap(t)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2*"]
    assert ax.get_ylabel() == "layer (* saturated)"


def test_the_scale_says_what_it_is_of(attention: af.Attention) -> None:
    t = af.flow(attention, queries=0)
    for shown, label in [
        (af.raw(attention, queries=0), "attention"),
        (af.rollout(attention, queries=0), "share"),
        (t, "flow"),
        (t.normalized(), "share of flow"),
    ]:
        assert plot.heatmap(shown).get_figure().axes[1].get_ylabel() == label


def test_a_colour_bar_is_drawn_unless_it_is_switched_off(attention: af.Attention) -> None:
    with_scale = plot.heatmap(af.raw(attention), query=0).get_figure()
    without = plot.heatmap(af.raw(attention), query=0, colorbar=False).get_figure()
    assert (len(with_scale.axes), len(without.axes)) == (2, 1)


def test_a_score_can_be_the_darkest(attention: af.Attention) -> None:
    ax = plot.heatmap(af.raw(attention), query=0, vmax=0.1)
    assert ax.images[0].get_clim() == (0.0, 0.1)


def test_infinite_scores_are_as_dark_as_the_largest() -> None:
    t = af.TokenAttention([[[0.5, np.inf, 0.25]]], ["a", "b", "c"], [1], [0], "flow")
    assert np.array_equal(plot.heatmap(t).images[0].get_array(), [[0.5, 0.5, 0.25]])


def test_methods_stand_side_by_side_as_shares(attention: af.Attention) -> None:
    panels = plot.compare(attention, view="heatmap", query=3)
    for ax, method in zip(panels, (af.raw, af.rollout, af.flow), strict=True):
        expected = method(attention).normalized().scores[:, 3]
        assert np.allclose(ax.images[0].get_array(), expected)
    flow = panels[2].images[0].get_array()
    assert not np.allclose(flow, af.flow(attention).scores[:, 3])  # which is above its shares
    scales = panels[0].get_figure().axes[3:]
    assert [ax.get_ylabel() for ax in scales] == ["share of attention", "share", "share of flow"]


def test_infinite_flow_with_others_takes_all_of_its_row() -> None:
    t = af.TokenAttention([[[0.5, np.inf]], [[1.0, 3.0]]], ["a", "b"], [1, 2], [0], "flow")
    (ax,) = plot.compare(t, view="heatmap")
    assert ax.images[0].get_array().tolist() == [[0.0, 1.0], [0.25, 0.75]]


def test_the_star_of_one_method_is_explained_next_to_others(attention: af.Attention) -> None:
    marks = [False, True, True]
    flow = af.TokenAttention(
        af.flow(attention).scores, attention.tokens, [1, 2, 3], range(5), "flow", saturated=marks
    )
    each = af.raw(attention), af.rollout(attention), flow
    for panels in (plot.compare(*each), plot.compare(*each, view="heatmap", query=0)):
        assert [ax.get_ylabel() for ax in panels] == ["layer", "", "layer (* saturated)"]
        assert [label.get_text() for label in panels[2].get_yticklabels()][-3:] == ["1", "2*", "3*"]


def test_512_tokens_are_numbered_and_the_figure_fits_a_screen() -> None:
    t = af.raw(random_attention(12, 1, 512, seed=0, tokens=["word"] * 512), queries=0)
    ax = plot.heatmap(t)
    figure = ax.get_figure()
    figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert 20 < len(labels) < 128
    assert labels == [f"{place:.0f} word" for place in ax.get_xticks()]
    assert max(figure.get_size_inches()) <= 16
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    for left, right in pairwise(boxes):
        assert left.x1 <= right.x0


def test_given_axes_are_used(attention: af.Attention) -> None:
    ax = Figure().subplots()
    assert plot.heatmap(af.raw(attention), query=0, ax=ax) is ax
    assert plt.get_fignums() == []
