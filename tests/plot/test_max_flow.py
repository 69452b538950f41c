"""`max_flow`: what runs over the edges, and the cut through the bottleneck."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.types import random_attention

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

PAIRS = [((3, 0), 2, 0), ((2, 1), 4, 0), ((3, 4), 0, 1), ((1, 2), 2, 0)]


def _part(ax: Any, name: str) -> Any:
    return next(each for each in ax.collections if each.get_gid() == name)


def _ends(lines: Any) -> set[tuple[float, ...]]:
    return {tuple(segment.ravel().tolist()) for segment in lines.get_segments()}


def _cut_edges(g: af.AttentionGraph, m: af.MaxFlow, onto: int, top: int) -> set[tuple[float, ...]]:
    return {
        (float(i), float(layer - onto), float(k), float(layer - onto - 1))
        for layer in range(onto + 1, top + 1)
        for i, k in np.argwhere(m.cut[layer][:, None] & ~m.cut[layer - 1][None, :]).tolist()
        if g.layers[layer - 1][i, k] > 0
    }


@pytest.mark.parametrize(("source", "sink", "onto"), PAIRS)
def test_edges_of_the_cut_are_all_there_and_crossed(
    attention: af.Attention, source: tuple[int, int], sink: int, onto: int
) -> None:
    g = attention.graph()
    m = af.max_flow(g, source=source, sink=sink, onto=onto)
    ax = plot.max_flow(g, m)
    expected = _cut_edges(g, m, onto, source[0])
    assert expected
    assert _ends(_part(ax, "cut")) == expected
    bars = _part(ax, "cut bars").get_segments()
    assert len(bars) == len(expected)
    # Each bar lies on its edge: the middle of it is a point of some edge of the cut.
    for bar in bars:
        x, y = bar.mean(axis=0)
        on = [
            abs(x - (x2 + (x1 - x2) * (y - y2) / (y1 - y2))) < 1e-9 for x1, y1, x2, y2 in expected
        ]
        assert any(on)


@pytest.mark.parametrize(("source", "sink", "onto"), PAIRS)
def test_green_edges_carry_the_rest_of_the_flow(
    attention: af.Attention, source: tuple[int, int], sink: int, onto: int
) -> None:
    g = attention.graph()
    m = af.max_flow(g, source=source, sink=sink, onto=onto)
    drawn = _ends(_part(plot.max_flow(g, m), "flow"))
    largest = max(flow.max() for flow in m.flows)
    cut = _cut_edges(g, m, onto, source[0])
    assert drawn or source[0] == onto + 1  # there the one edge is the cut
    for x1, y1, x2, _ in drawn:
        assert m.flows[onto + int(y1) - 1][int(x1), int(x2)] > 0
    for layer in range(onto + 1, source[0] + 1):
        for i, k in np.argwhere(m.flows[layer - 1] > 0.011 * largest).tolist():
            ends = (float(i), float(layer - onto), float(k), float(layer - onto - 1))
            assert (ends in drawn) != (ends in cut)


def test_nodes_on_the_sources_side_are_shaded(attention: af.Attention) -> None:
    g = attention.graph()
    m = af.max_flow(g, source=(2, 1), sink=4)
    nodes, rings = plot.max_flow(g, m).collections[-2:]
    shaded = [to_hex(face) != "#ffffff" for face in nodes.get_facecolors()]
    assert shaded == np.concatenate(m.cut[:3]).tolist()
    assert rings.get_offsets().tolist() == [[1.0, 2.0], [4.0, 0.0]]


def test_the_title_says_that_both_are_equal(attention: af.Attention) -> None:
    m = af.max_flow(attention, source=(3, 0), sink=2)
    ax = plot.max_flow(attention, m)
    assert ax.get_title() == f"0 [CLS] at layer 3 → 2 key\nflow {m.value:.3f} = cut {m.value:.3f}"
    m = af.max_flow(attention, source=(3, 0), sink=2, onto=1)
    assert (
        plot.max_flow(attention, m)
        .get_title()
        .startswith("0 [CLS] at layer 3 → 2 key at layer 1\n")
    )
    assert plot.max_flow(attention, m, title="mine").get_title() == "mine"
    legend = ax.get_legend()
    assert any("minimum cut" in text.get_text() for text in legend.get_texts())


def test_a_single_head_at_the_top_is_what_the_cut_is_of() -> None:
    g = af.AttentionGraph(
        [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]],
        tops=[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.25], [1.0, 0.0]]],
    )
    m = af.max_flow(g, source=(2, 0), sink=0)
    assert m.value == 0.25
    ax = plot.max_flow(g, m)
    assert _ends(_part(ax, "cut")) == {(0.0, 2.0, 1.0, 1.0)}
    assert len(_part(ax, "cut bars").get_segments()) == 1


def test_unbounded_edges_and_layers_of_other_sizes_can_be_drawn() -> None:
    g = af.AttentionGraph([[[np.inf, 0.5, 0.1], [0.0, 0.5, 0.2]], [[0.3, 0.7]]])
    ax = plot.max_flow(g, af.max_flow(g, source=(2, 0), sink=0))
    ax.get_figure(root=True).canvas.draw()
    assert _ends(_part(ax, "cut")) == {(1.0, 2.0, 0.25, 1.0)}


def test_a_flow_of_nothing_can_be_drawn() -> None:
    g = af.AttentionGraph([[[0.0, 0.5]]])
    ax = plot.max_flow(g, af.max_flow(g, source=(1, 0), sink=0))
    assert ax.get_title() == "position 0 at layer 1 → position 0\nflow 0.000 = cut 0.000"
    assert _ends(_part(ax, "cut")) == set()


def test_hundreds_of_cut_edges_have_no_bars() -> None:
    g = random_attention(3, 1, 120, seed=0).graph()
    ax = plot.max_flow(g, af.max_flow(g, source=(3, 0), sink=5))
    assert len(_part(ax, "cut").get_segments()) > 80
    assert all(each.get_gid() != "cut bars" for each in ax.collections)


def test_the_flow_of_another_graph_of_the_same_shape_is_refused() -> None:
    g = af.AttentionGraph([[[0.5, 0.5], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]])
    m = af.max_flow(g, source=(2, 0), sink=0)
    narrow = af.AttentionGraph([[[0.0, 1.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])
    with pytest.raises(
        af.InputError, match=r"another graph: the flow .* is 0\.5, and the capacity is 0\. Pass"
    ):
        _ = plot.max_flow(narrow, m)
    # Wider: it would carry the flow, which would be no maximum, nor its cut one of that value.
    wide = af.AttentionGraph([2 * layer for layer in g.layers])
    with pytest.raises(af.InputError, match=r"another graph: its cut is 0\.7, and .* 1\.4\. Pass"):
        _ = plot.max_flow(wide, m)
    endless = af.AttentionGraph([np.full((2, 2), np.inf), g.layers[1]])
    with pytest.raises(af.InputError, match="another graph: its cut is"):
        _ = plot.max_flow(endless, m)
    # The single head at the source's layer is what counts there, not the layer itself.
    headed = af.AttentionGraph(g.layers, tops=[g.layers[0], [[0.1, 0.9], [0.5, 0.5]]])
    with pytest.raises(af.InputError, match="another graph"):
        _ = plot.max_flow(headed, m)
    with pytest.raises(af.InputError, match="another graph"):
        _ = plot.max_flow(g, af.max_flow(headed, source=(2, 0), sink=0))
    assert plt.get_fignums() == []


def test_flows_of_every_pair_and_precision_are_of_their_own_graph() -> None:
    weights = random_attention(4, 2, 6, seed=1).weights.astype(np.float32)
    g = af.Attention(weights).graph()
    ax = Figure().subplots()
    for layer, onto in [(4, 0), (4, 2), (3, 1), (2, 1)]:
        for source, sink in [(0, 5), (5, 0), (3, 3)]:
            m = af.max_flow(g, source=(layer, source), sink=sink, onto=onto)
            assert plot.max_flow(g, m, ax=ax) is ax


def test_bad_input_raises_an_error_before_a_figure_is_made(attention: af.Attention) -> None:
    g = attention.graph()
    m = af.max_flow(g, source=(3, 0), sink=2)
    other = random_attention(3, 2, 6).graph()
    with pytest.raises(af.InputError, match="another graph"):
        _ = plot.max_flow(other, m)
    with pytest.raises(af.InputError, match="MaxFlow"):
        _ = plot.max_flow(g, m.value)
    assert plt.get_fignums() == []
    ax = Figure().subplots()
    assert plot.max_flow(g, m, ax=ax) is ax


def test_the_title_says_which_of_two_tokens_of_one_name_is_meant() -> None:
    a = random_attention(2, 1, 3, tokens=["the", "key", "the"])
    first, last = (plot.max_flow(a, af.max_flow(a, source=(2, 0), sink=k)) for k in (0, 2))
    assert first.get_title().startswith("0 the at layer 2 → 0 the\n")
    assert last.get_title().startswith("0 the at layer 2 → 2 the\n")


def test_the_legend_explains_edges_nodes_and_rings(attention: af.Attention) -> None:
    ax = plot.max_flow(attention, af.max_flow(attention, source=(1, 0), sink={1, 2}))
    count = len(ax.collections[2].get_segments())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "flow", f"minimum cut: {count} full edges", "no flow", "before the cut", "after the cut",
        "source (top), sinks (bottom)",
    ]  # fmt: skip


def test_a_set_of_tokens_is_named_and_ringed() -> None:
    a = af.random_attention(3, 2, 4, tokens=["the", "key", "is", "here"])
    ax = plot.max_flow(a, af.max_flow(a, source=(3, 0), sink={1, 3}))
    assert ax.get_title().splitlines()[0] == "0 the at layer 3 → 1 key, 3 here"
    rings: Any = ax.collections[-1]
    assert len(rings.get_offsets()) == 3  # the source and two tokens
