"""`graph` and `compare`: edges as strong as scores, layer above layer."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.types import random_attention
from sink_models import with_sink

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

METHODS = (af.raw, af.rollout, af.flow)


def _edges(ax: Any) -> dict[tuple[float, ...], tuple[float, float]]:
    """Ends of each line (x1, y1, x2, y2) → its width and opacity."""
    (lines,) = ax.collections[:1]
    widths, colours = lines.get_linewidths(), lines.get_colors()
    return {
        tuple(np.round(segment, 6).ravel().tolist()): (float(width), float(colour[3]))
        for segment, width, colour in zip(lines.get_segments(), widths, colours, strict=True)
    }


def test_an_edge_stands_for_a_score_of_the_layer_above(attention: af.Attention) -> None:
    scores = af.rollout(attention).scores
    edges = _edges(plot.graph(af.rollout(attention), vmax=scores.max()))
    seen = np.argwhere(scores >= 0.02 * scores.max())
    assert len(edges) == len(seen)
    for layer, i, j in seen.tolist():
        assert (float(i), layer + 1.0, float(j), float(layer)) in edges


def test_stronger_edges_are_wider_and_more_opaque(attention: af.Attention) -> None:
    scores = af.raw(attention).scores
    edges = _edges(plot.graph(af.raw(attention), vmax=scores.max()))
    by_score = sorted(
        (scores[int(y) - 1, int(x1), int(x2)], *looks) for (x1, y, x2, _), looks in edges.items()
    )
    for (_, width, opacity), (_, wider, denser) in pairwise(by_score):
        assert wider >= width
        assert denser >= opacity
    assert by_score[-1][1] > 2 * by_score[0][1]


def test_rows_of_flow_are_drawn_as_shares(attention: af.Attention) -> None:
    t = af.flow(attention)
    drawn, expected = _edges(plot.graph(t)), _edges(plot.graph(t.normalized()))
    assert drawn.keys() == expected.keys() != set()
    assert np.allclose(list(drawn.values()), list(expected.values()))


def test_the_strongest_are_on_top(attention: af.Attention) -> None:
    (lines,) = plot.graph(af.raw(attention)).collections[:1]
    widths = lines.get_linewidths()
    assert np.array_equal(widths, np.sort(widths))


def test_tokens_are_labels_below_and_layers_at_the_side(attention: af.Attention) -> None:
    ax = plot.graph(af.raw(attention))
    assert [label.get_text() for label in ax.get_xticklabels()] == list(attention.tokens)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["input", "1", "2", "3"]
    assert ax.get_ylim()[0] < ax.get_ylim()[1]  # the input is the lowest
    nodes = ax.collections[-1].get_offsets()
    assert len(nodes) == 4 * 5


def test_saturated_layers_have_a_star() -> None:
    t = af.flow(random_attention(12, 2, 5, seed=0))
    assert set(t.saturated) == {False, True}
    ax = plot.graph(t)
    expected = [f"{layer}{'*' * mark}" for layer, mark in zip(t.layers, t.saturated, strict=True)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["input", *expected]
    assert ax.get_ylabel() == "layer (* saturated)"
    assert plot.graph(af.rollout(random_attention(12, 2, 5, seed=0))).get_ylabel() == "layer"


def test_only_computed_queries_have_edges(attention: af.Attention) -> None:
    edges = _edges(plot.graph(af.rollout(attention, queries=2)))
    assert {ends[0] for ends in edges} == {2.0}


def test_layers_of_different_sizes_are_spread_over_the_width() -> None:
    g = af.AttentionGraph([np.ones((2, 4)), np.ones((1, 2))], list("abcd"))
    edges = _edges(plot.graph(g))
    assert len(edges) == 2 * 4 + 2
    assert (1.5, 2.0, 0.5, 1.0) in edges
    assert (2.5, 1.0, 3.0, 0.0) in edges


def test_unbounded_edges_are_dotted_and_take_no_strength() -> None:
    g = af.AttentionGraph([[[0.4, 0.0], [0.0, np.inf]]])
    weighed, carried, _ = plot.graph(g).collections
    assert len(weighed.get_segments()) == len(carried.get_segments()) == 1
    assert weighed.get_linewidths()[0] > carried.get_linewidths()[0]


def test_an_encoder_decoder_is_drawn() -> None:
    reads, writes, draws = (
        each / each.sum(-1, keepdims=True)
        for each in (np.ones((2, 1, 3, 3)), np.tril(np.ones((2, 1, 2, 2))), np.ones((2, 1, 2, 3)))
    )
    both = af.EncoderDecoderAttention(reads, writes, draws, ["I", "see", "it"], ["je", "le"])
    for ax in (*plot.compare(both), plot.graph(both.graph())):
        labels = [label.get_text() for label in ax.get_xticklabels()]
        assert labels == ["I", "see", "it", "je", "le"]
        assert len(ax.get_yticklabels()) == 1 + 2 + 2 * 2


def test_infinite_scores_take_all_of_their_row() -> None:
    t = af.TokenAttention([[[1.0, np.inf], [1.0, 1.0]]], ["a", "b"], [1], [0, 1], "flow")
    edges = _edges(plot.graph(t))
    assert edges[0.0, 1.0, 1.0, 0.0] == max(edges.values())
    assert (0.0, 1.0, 0.0, 0.0) not in edges


def test_nothing_at_all_can_be_drawn() -> None:
    ax = plot.graph(af.AttentionGraph([[[0.0, 0.0]]]))
    ax.get_figure(root=True).canvas.draw()
    assert _edges(ax) == {}


def test_nothing_at_all_can_be_compared() -> None:
    panels = plot.compare(af.AttentionGraph([np.zeros((2, 2)), np.zeros((2, 2))]))
    assert [_edges(ax) for ax in panels] == [{}, {}, {}]


def test_thousands_of_edges_are_thinned_out() -> None:
    a = random_attention(2, 1, 200, seed=0)
    (lines,) = plot.graph(a.graph(residual=0.0), vmax=1e-6).collections[:1]
    assert len(lines.get_segments()) == 20_000


def test_edges_far_wider_than_the_widest_are_as_wide_as_it() -> None:
    (lines,) = plot.graph(af.AttentionGraph([np.eye(2)]), vmax=1e-320).collections[:1]
    assert len(set(lines.get_linewidths())) == 1


@pytest.mark.parametrize("n", [12, 15, 18, 20])
def test_strong_edges_of_a_sentence_leave_most_of_the_paper_white(n: int) -> None:
    W = np.full((n, n), 0.05)
    W[:, 0] = 0.4
    ax = plot.graph(af.AttentionGraph([W] * 6), vmax=0.4)
    canvas = ax.figure.canvas
    canvas.draw()
    left, bottom, right, top = ax.get_window_extent().extents.astype(int)
    darkest = np.asarray(canvas.buffer_rgba())[::-1, :, :3].min(axis=-1)
    assert 0.05 < (darkest[bottom:top, left:right] < 128).mean() < 0.35


def test_weak_edges_among_more_nodes_are_paler_and_strong_ones_are_not() -> None:
    looks: list[tuple[float, float]] = []
    for n in (5, 18, 30):
        W = np.zeros((n, n))
        W[0, 1], W[1, 2] = 0.1, 0.5
        edges = _edges(plot.graph(af.AttentionGraph([W])))
        looks.append((edges[0.0, 1.0, 1.0, 0.0][1], edges[1.0, 1.0, 2.0, 0.0][1]))
    (few, strong), (more, as_strong), (most, still_strong) = looks
    assert few > more > most
    assert strong == as_strong == still_strong


def test_nodes_of_many_layers_do_not_touch() -> None:
    ax = plot.graph(af.AttentionGraph([np.full((5, 5), 0.2)] * 200))
    *_, nodes = ax.collections
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    assert nodes.get_sizes()[0] ** 0.5 < points / 200


def test_each_method_has_its_colour_and_title(attention: af.Attention) -> None:
    panels = plot.compare(attention)
    assert [ax.get_title() for ax in panels] == [
        "Raw attention", "Attention rollout", "Attention flow",
    ]  # fmt: skip
    colours = [to_hex(ax.collections[0].get_colors()[0]).upper() for ax in panels]
    assert colours == [plot.COLOURS[name] for name in ("raw", "rollout", "flow")]


def test_panels_share_one_scale(attention: af.Attention) -> None:
    t = af.raw(attention), af.rollout(attention)
    panels = plot.compare(*t)
    largest = [one.scores.max() for one in t]
    widest = [max(width for width, _ in _edges(ax).values()) for ax in panels]
    assert largest[0] != largest[1]
    assert (widest[0] > widest[1]) == (largest[0] > largest[1])


def _widths(ax: Any, layer: int) -> dict[tuple[int, int], float]:
    """(above, below) → width of each edge of a layer."""
    found = {ends: looks[0] for ends, looks in _edges(ax).items() if ends[1] == layer}
    return {(round(x1), round(x2)): width for (x1, _, x2, _), width in found.items()}


def test_edges_to_oneself_and_to_a_sink_are_no_wider_than_the_largest_other() -> None:
    W = np.full((6, 6), 0.02)
    W[:, 0] = 0.6
    np.fill_diagonal(W, 0.3)
    W[2, 4] = 0.1
    widths = _widths(plot.graph(af.AttentionGraph([W])), 1)
    assert widths[2, 4] == widths[3, 3] == widths[3, 0] == max(widths.values())
    assert widths[2, 1] == pytest.approx(0.3 + 0.2 * (widths[2, 4] - 0.3))


@pytest.mark.parametrize("scale", ["figure", "layer"])
@pytest.mark.parametrize("n_tokens", [12, 30])
def test_a_single_strong_edge_is_the_widest(n_tokens: int, scale: str) -> None:
    W = np.full((n_tokens, n_tokens), 0.02)
    W[:, 9] = 0.019  # the others to this node are below the median of the layer
    W[2, 9] = 0.4
    W[:5, 3] = 0.03
    ax = plot.graph(af.AttentionGraph([W]), scale=scale)
    widths = _widths(ax, 1)
    assert widths.pop((2, 9)) > 5 * max(widths.values())
    assert not ax.get_xlabel()


def _grey(ax: Any) -> set[tuple[float, ...]]:
    """The ends of the edges behind those of the method."""
    behind = [lines for lines in ax.collections if lines.get_zorder() < 1]
    return {tuple(line.ravel().tolist()) for lines in behind for line in lines.get_segments()}


def _sunk(n_above: int, n_below: int = 30, sink: int = 4) -> Any:
    """Weights with many strong edges to one node."""
    W = np.full((n_above, n_below), 0.02)
    W[:, sink] = 0.5
    return W


@pytest.mark.parametrize("scale", ["figure", "layer"])
def test_edges_to_a_sink_among_many_nodes_are_grey_and_named(scale: str) -> None:
    W = _sunk(30)
    W[2, 9] = 0.4  # one large edge does not make a sink, and is the widest
    ax = plot.graph(af.AttentionGraph([W], tokens=["a"] * 30), scale=scale)
    widths = _widths(ax, 1)
    assert 4 not in {below for _, below in widths}
    assert widths.pop((2, 9)) > 5 * max(widths.values(), default=0.1)
    assert _grey(ax) == {(float(above), 1.0, 4.0, 0.0) for above in range(30)}
    assert ax.get_xlabel() == "grey: edges to position 4 a, which would cover others"
    few = plot.graph(af.AttentionGraph([W[:20, :20]]), scale=scale)
    assert not _grey(few)
    assert not few.get_xlabel()


def test_weak_edges_to_a_sink_are_drawn_down_to_the_same_weight_as_others() -> None:
    W = _sunk(30)
    W[2, 9], W[7, 4], W[8, 4] = 0.4, 0.009, 0.007
    above = {above for above, *_ in _grey(plot.graph(af.AttentionGraph([W])))}
    assert above == set(range(30)) - {8}


def _causal(n_tokens: int, previous: float) -> Any:
    """Uniform causal attention, with more to the previous token."""
    weights = np.tril(np.ones((n_tokens, n_tokens)))
    weights *= (1 - previous) / weights.sum(axis=1, keepdims=True)
    weights[range(1, n_tokens), range(n_tokens - 1)] += previous
    weights[0, 0] = 1.0
    return weights


@pytest.mark.parametrize("scale", ["figure", "layer"])
def test_the_last_tokens_of_a_causal_graph_are_no_sinks(scale: str) -> None:
    ax = plot.graph(af.AttentionGraph([_causal(30, 0.3)]), scale=scale)
    assert not _grey(ax)
    assert not ax.get_xlabel()
    widths = _widths(ax, 1)
    assert widths[29, 28] > 0.5 * max(widths.values())


def test_edges_of_a_single_query_are_no_edges_to_sinks() -> None:
    row = np.full(30, 0.02)
    row[[4, 9]] = 0.5, 0.4
    t = af.TokenAttention([[row]], [f"t{at}" for at in range(30)], [1], [7], "raw")
    ax = plot.graph(t)
    assert not _grey(ax)
    assert not ax.get_xlabel()
    widths = _widths(ax, 1)
    assert widths[7, 4] == max(widths.values())


def test_sinks_of_layers_with_other_nodes_have_the_names_of_their_layer() -> None:
    tokens = [f"t{at}" for at in range(25)]
    other = af.AttentionGraph([_sunk(30, 25), _sunk(10, 30, sink=6)], tokens)
    names = "positions 4 t4, 6 of layer 1"
    assert plot.graph(other).get_xlabel() == f"grey: edges to {names}, which would cover others"
    # Ten nodes are few, also below a row of many.
    assert _grey(plot.graph(af.AttentionGraph([_sunk(30, 10)]))) == set()


def test_layers_can_have_scales_of_their_own() -> None:
    peaked, even = np.full((5, 5), 0.05), np.full((5, 5), 0.04)
    peaked[1, 3], even[1, 3] = 0.8, 0.042
    g = af.AttentionGraph([peaked, even])
    one, own = plot.graph(g), plot.graph(g, scale="layer")
    assert _widths(one, 2)[1, 3] < 0.4 * _widths(one, 1)[1, 3]
    for layer in (1, 2):  # what is above the median of its layer, in full width
        assert set(_widths(own, layer)) == {(1, 3)}
    assert _widths(own, 2)[1, 3] == _widths(own, 1)[1, 3] == _widths(one, 1)[1, 3]


def test_a_layer_of_nearly_equal_weights_has_thin_edges() -> None:
    weights = np.full((5, 5), 0.2)
    weights[1, 3] = 0.201
    g = af.AttentionGraph([weights])
    one, own = (_widths(plot.graph(g, scale=scale), 1) for scale in ("figure", "layer"))
    assert set(own) == {(1, 3)}
    assert own[1, 3] < 0.5 * one[1, 3]


def test_a_layer_of_equal_weights_has_no_pattern() -> None:
    g = af.AttentionGraph([np.full((4, 4), 0.25) + 1e-12 * np.eye(4)[::-1]])
    assert _edges(plot.graph(g, scale="layer")) == {}


def test_panels_can_have_a_scale_in_each_layer(attention: af.Attention) -> None:
    panels = plot.compare(attention, scale="layer")
    for ax, method in zip(panels, (af.raw, af.rollout, af.flow), strict=True):
        assert _edges(ax) == _edges(plot.graph(method(attention), scale="layer"))


def test_positions_can_be_left_out_and_raw_attention_has_no_residual(
    attention: af.Attention,
) -> None:
    panels = plot.compare(attention, without=[0])
    expected = [m(attention, without=[0]) for m in (af.raw, af.rollout, af.flow)]
    for ax, drawn in zip(panels, plot.compare(*expected), strict=True):
        assert _edges(ax) == _edges(drawn) != {}
    raw, rollout = (_edges(ax) for ax in panels[:2])
    others = [ends for ends in raw if ends[0] != 0.0]  # position 0 has no other key
    assert others
    assert all(ends[2] != 0.0 for ends in others)
    assert (0.0, 1.0, 0.0, 0.0) in rollout  # the residual
    assert _edges(plot.compare(attention.graph(without=[0]))[0]) != raw  # which has it in raw too


@pytest.mark.parametrize("settings", [{}, {"view": "heatmap", "query": 4}])
def test_sinks_are_left_out_and_said_unless_they_are_kept(settings: dict[str, Any]) -> None:
    sunk = with_sink(random_attention(3, 2, 5, tokens=["<s>", "a", "b", "c", "d"]), 0)
    panels = plot.compare(sunk, **settings)
    line = "without the attention sink at position 0 <s>; without=() keeps it"
    assert [ax.get_xlabel() for ax in panels] == [line, "", ""]
    kept = plot.compare(sunk, without=(), **settings)
    chosen = plot.compare(sunk, without=0, **settings)
    assert {ax.get_xlabel() for ax in (*kept, *chosen)} == {""}

    def drawn(ax: Any) -> Any:
        return ax.images[0].get_array().tolist() if ax.images else _edges(ax)

    for ax, same, other in zip(panels, chosen, kept, strict=True):
        assert drawn(ax) == drawn(same) != drawn(other)


def test_causal_attention_is_corrected_for_its_receptive_field_and_said() -> None:
    causal = random_attention(3, 2, 5, causal=True)
    panels = plot.compare(causal)
    assert panels[0].get_xlabel().startswith("corrected for the receptive field")
    corrected = [method(causal, receptive_field=True) for method in (af.rollout, af.flow)]
    for ax, same in zip(panels, plot.compare(af.raw(causal), *corrected), strict=True):
        assert _edges(ax) == _edges(same)
    plain = plot.compare(causal, receptive_field=False)
    assert plain[0].get_xlabel() == ""
    assert _edges(plain[1]) == _edges(plot.compare(*(m(causal) for m in METHODS))[1])
    assert _edges(plain[1]) != _edges(panels[1])


def test_a_line_says_what_was_taken_out_of_given_scores(attention: af.Attention) -> None:
    t = af.rollout(attention, without=[0])
    assert plot.graph(t).get_xlabel() == "without position 0 [CLS]"
    assert plot.graph(af.rollout(attention)).get_xlabel() == ""


def test_flat_layers_have_a_dagger() -> None:
    flat = np.array([[False, False], [True, True]])
    t = af.TokenAttention(np.ones((2, 2, 2)), ["a", "b"], [1, 2], [0, 1], "flow", flat=flat)
    ax = plot.graph(t)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["input", "1", "2†"]
    assert ax.get_ylabel() == "layer († flat)"
    some = af.TokenAttention(
        np.ones((1, 2, 2)), ["a", "b"], [1], [0, 1], "flow", flat=np.array([[True, False]])
    )
    assert plot.graph(some).get_ylabel() == "layer"


def test_given_axes_are_used_and_no_figure_is_made(attention: af.Attention) -> None:
    figure = Figure()
    axes = figure.subplots(1, 3)
    assert plot.compare(attention, ax=axes) == tuple(axes)
    assert plot.graph(af.raw(attention), ax=axes[0]) is axes[0]
    assert plt.get_fignums() == []


def test_the_current_figure_stays_when_axes_are_given(attention: af.Attention) -> None:
    mine, other = plt.figure(), plt.figure()
    _ = plot.graph(af.raw(attention), ax=mine.subplots())
    assert plt.gcf() is other


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (plot.graph, "x.graph()"),
        (lambda a: plot.graph(af.raw(a), vmax=0), "above 0"),
        (lambda a: plot.graph(af.raw(a), vmax=np.nan), "above 0"),
        (lambda a: plot.graph(af.raw(a), vmax="a"), "vmax must be a number above 0"),
        (lambda a: plot.graph(af.raw(a), ax="here"), "figure.subplots()"),
        (lambda _: plot.compare(), "got nothing"),
        (lambda a: plot.compare(a, a), "several methods"),
        (lambda a: plot.compare(a, view="pie"), "heatmap"),
        (lambda a: plot.compare(a, query=0), 'view="heatmap"'),
        (lambda a: plot.compare(af.raw(a), without=[0]), "without=[0] needs one attention"),
        (lambda a: plot.compare(af.raw(a), receptive_field=True), "receptive_field=True needs one"),
        (lambda a: plot.compare(a.graph(), without=0), "attention.graph(without=[0])"),
        (lambda a: plot.compare(a, scale="all"), 'scale must be "figure" or "layer"'),
        (lambda a: plot.compare(a, view="heatmap", query=0, scale="layer"), 'view="graph"'),
        (lambda a: plot.graph(af.raw(a), scale=2), 'scale must be "figure" or "layer"'),
        (lambda a: plot.graph(af.raw(a), scale="layer", vmax=1), 'scale="figure"'),
        (lambda a: plot.compare(a, titles=["one"]), "expected 3 titles"),
        (
            lambda a: plot.compare(a, ax=[Figure().subplots()]),
            "expected 3 axes, one for each panel, got 1",
        ),
    ],
)
def test_bad_input_raises_an_error(attention: af.Attention, call: Any, message: str) -> None:
    with pytest.raises(af.InputError, match=re.escape(message)):
        _ = call(attention)
    assert plt.get_fignums() == []


def test_segments_are_no_rows_of_nodes() -> None:
    t = af.TokenAttention(
        [[[0.5, 0.5]]], ["one", "two"], [1], [0], "rollout", settings={"segments": "words"}
    )
    with pytest.raises(af.InputError, match="heatmap"):
        _ = plot.graph(t)
    assert plot.heatmap(t).images
