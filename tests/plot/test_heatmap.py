"""`heatmap`: tokens from left to right, layers upwards."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm, PowerNorm
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
    others = np.delete(t.scores[:, 2], 2, axis=1)  # but for what the query has of itself
    assert image.get_clim() == (0.0, others.max())
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


def test_a_line_says_what_was_taken_out_and_how_scores_are_corrected() -> None:
    causal = random_attention(3, 2, 5, causal=True, tokens=["<s>", "Ġa", "Ġb", "Ġc", "Ġd"])
    t = af.rollout(causal, queries=3, without=[0, 1], receptive_field=True)
    lines = ["without positions 0 <s>, 1 a", "corrected for the receptive field"]
    assert plot.heatmap(t).get_xlabel().splitlines() == lines
    in_rows = plot.heatmap(t, tokens="rows")
    assert (in_rows.get_xlabel(), in_rows.texts[0].get_text().splitlines()) == ("layer", lines)
    assert plot.heatmap(af.rollout(causal, queries=3)).get_xlabel() == ""


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


def _arrow(ax: Any) -> str:
    return ax.images[0].colorbar.extend


def test_neither_the_query_itself_nor_sinks_decide_the_scale() -> None:
    row = [0.45, 0.3, 0.03, 0.2, 0.02, 0.02]  # the query, a sink, a word, a sink, words
    t = af.TokenAttention([[row]], list("abcdef"), [1], [0], "rollout")
    ax = plot.heatmap(t)
    assert ax.images[0].get_clim() == (0.0, 0.03)
    assert _arrow(ax) == "max"
    plain = af.TokenAttention([[[0.1, 0.2, 0.15, 0.3, 0.25]]], list("abcde"), [1], [0], "rollout")
    assert plot.heatmap(plain).images[0].get_clim() == (0.0, 0.3)
    assert _arrow(plot.heatmap(plain)) == "neither"


def test_the_querys_own_share_alone_decides_it_where_there_is_nothing_else() -> None:
    t = af.TokenAttention([[[0.5, 0.0, 0.0]]], list("abc"), [1], [0], "rollout")
    assert plot.heatmap(t).images[0].get_clim() == (0.0, 0.5)


def test_a_column_of_another_layer_or_of_segments_is_not_the_querys_own() -> None:
    settings = {"segments": "words"}
    t = af.TokenAttention([[[0.5, 0.3, 0.2]]], list("abc"), [1], [0], "rollout", settings)
    assert plot.heatmap(t).images[0].get_clim() == (0.0, 0.5)


def test_tokens_can_be_rows(attention: af.Attention) -> None:
    t = af.rollout(attention)
    ax = plot.heatmap(t, query=2, tokens="rows")
    (image,) = ax.images
    assert np.array_equal(image.get_array(), t.scores[:, 2].T)
    assert image.get_clim() == plot.heatmap(t, query=2).images[0].get_clim()
    assert image.origin == "upper"  # the first token is at the top
    assert [label.get_text() for label in ax.get_yticklabels()] == list(attention.tokens)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("layer", "")
    with pytest.raises(af.InputError, match='tokens must be "columns" or "rows", got True'):
        _ = plot.heatmap(t, query=2, tokens=True)


def test_names_of_many_rows_do_not_overlap() -> None:
    t = af.raw(random_attention(6, 1, 200, seed=0, tokens=["incomprehensible"] * 200), queries=0)
    ax = plot.heatmap(t, tokens="rows")
    figure = ax.get_figure()
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert 20 < len(boxes) < 200
    assert all(lower.y1 <= upper.y0 for upper, lower in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_colour_map_and_norm_are_those_given(attention: af.Attention) -> None:
    t = af.rollout(attention, queries=0)
    (image,) = plot.heatmap(t, cmap="viridis").images
    assert image.get_cmap().name == "viridis"
    norm = PowerNorm(0.5)
    (image,) = plot.heatmap(t, norm=norm).images
    assert isinstance(image.norm, PowerNorm)
    assert image.norm.vmax == plot.heatmap(t).images[0].get_clim()[1]
    assert (norm.vmin, norm.vmax) == (None, None)  # the caller's is for other figures too
    (image,) = plot.heatmap(t, norm=PowerNorm(0.5, vmin=0.0, vmax=2.0)).images
    assert image.get_clim() == (0.0, 2.0)
    (image,) = plot.heatmap(t, norm="log").images
    assert image.norm(t.scores.min()) == 0.0
    assert image.get_clim()[0] == t.scores.min()


def test_zeros_can_be_drawn_on_a_logarithmic_scale() -> None:
    t = af.TokenAttention([[[0.0, 0.5, 0.25, 0.125]]], list("abcd"), [1], [1], "raw")
    ax = plot.heatmap(t, norm=LogNorm())
    ax.get_figure().canvas.draw()
    assert ax.images[0].get_clim() == (0.125, 0.25)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cmap": "greenish"}, "cmap: expected a colormap of matplotlib or its name"),
        ({"cmap": 5}, "cmap: expected a colormap of matplotlib or its name.*got 5"),
        ({"norm": "flat"}, "norm: expected a Normalize of matplotlib"),
        ({"norm": 5}, "norm: expected a Normalize of matplotlib.*got 5"),
        ({"norm": "log", "vmax": 1.0}, "expected vmax or norm, got both"),
    ],
)
def test_colours_that_do_not_exist_are_an_error(
    attention: af.Attention, settings: dict[str, Any], message: str
) -> None:
    for draw in (plot.heatmap, plot.matrix):
        with pytest.raises(af.InputError, match=message):
            _ = draw(af.raw(attention, queries=0), **settings)
    assert plt.get_fignums() == []


def test_flat_layers_of_the_query_have_a_dagger() -> None:
    flat = np.array([[False, False], [True, False]])
    t = af.TokenAttention(
        np.ones((2, 2, 2)), ["a", "b"], [1, 2], [0, 1], "flow", saturated=[False, True], flat=flat
    )
    ax = plot.heatmap(t, query=0)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2*†"]
    assert ax.get_ylabel() == "layer (* saturated, † flat)"
    assert plot.heatmap(t, query=1).get_ylabel() == "layer (* saturated)"


def test_panels_of_the_same_tokens_have_the_same_labels() -> None:
    a = random_attention(4, 2, 90, seed=0, tokens=["word"] * 90)
    for settings in ({"view": "heatmap", "query": 0}, {}):
        panels = plot.compare(af.raw(a), af.rollout(a), **settings)
        panels[0].get_figure().canvas.draw()
        first, second = ([label.get_text() for label in ax.get_xticklabels()] for ax in panels)
        assert 1 < len(first) < 90
        assert first == second
        assert panels[0].get_xticks().tolist() == panels[1].get_xticks().tolist()
        assert panels[0].get_yticks().tolist() == panels[1].get_yticks().tolist()


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


@pytest.mark.parametrize("tokens", [3, 8, 20])
def test_colour_bars_of_many_layers_are_as_high_as_the_cells(tokens: int) -> None:
    a = random_attention(30, 1, tokens, seed=0)
    panels = plot.compare(af.raw(a, queries=0), af.rollout(a, queries=0), view="heatmap")
    figure = panels[0].figure
    figure.draw_without_rendering()
    assert len(figure.axes) == 4
    for panel, bar in zip(panels, figure.axes[2:], strict=True):
        cells, box = panel.get_window_extent(), bar.get_window_extent()
        assert box.height > 0.9 * cells.height  # an arrow has the rest
        points = 72 / figure.dpi
        assert 4 < box.width * points < 16
        assert 3 < (box.x0 - cells.x1) * points < 10
