"""`bar`: a group for each token, a bar for each method."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.types import random_attention

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

TOKENS = ["the", "key", "to", "the", "cabinets"]


def _scores(row: list[float], method: Any = "rollout", query: int = 0) -> af.TokenAttention:
    return af.TokenAttention([[row]], TOKENS, [6], [query], method)


ROW = [0.125, 0.25, 0.125, 0.25, 0.25]


def _heights(ax: Any) -> list[list[float]]:
    return [[float(bar.get_height()) for bar in group] for group in ax.containers]


def test_equal_words_have_bars_of_their_own() -> None:
    ax = plot.bar(_scores(ROW))
    assert _heights(ax) == [ROW]
    assert [label.get_text() for label in ax.get_xticklabels()] == TOKENS
    places = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert places == pytest.approx(range(5))


def test_several_methods_stand_side_by_side_as_shares() -> None:
    flow = _scores([0.5, 1.0, 0.5, 1.0, 1.0], "flow")
    importance = af.Importance([0.0, 0.75, -0.25, 0.0, 0.0], TOKENS, "blank_out")
    ax = plot.bar(_scores(ROW), flow, importance)
    assert _heights(ax) == [ROW, ROW, [0.0, 0.75, -0.25, 0.0, 0.0]]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["Attention rollout", "Attention flow", "Blank-out"]
    assert ax.get_ylabel() == "share"
    assert ax.get_title() == "Layer 6, from position 0 the"
    left = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(left))


def test_scores_can_be_drawn_as_they_are() -> None:
    flow = _scores([0.5, 1.0, 0.5, 1.0, 1.0], "flow")
    ax = plot.bar(_scores(ROW), flow, shares=False)
    assert _heights(ax)[1] == [0.5, 1.0, 0.5, 1.0, 1.0]
    assert ax.get_ylabel() == "score"
    assert plot.bar(flow).get_ylabel() == "flow"
    assert plot.bar(flow, shares=True).get_ylabel() == "share"


def test_words_have_bars(attention: af.Attention) -> None:
    t = af.rollout(attention, queries=0).to_words("[CLS] the key is here")
    ax = plot.bar(t)
    assert _heights(ax)[0] == pytest.approx(np.minimum(t.row(3, 0), ax.patches[0].get_height()))


def test_layer_and_query_are_chosen(attention: af.Attention) -> None:
    t = af.raw(attention)
    ax = plot.bar(t, query=3, layer=2, vmax=1.0)
    assert _heights(ax)[0] == t.row(2, 3).tolist()
    assert ax.get_title() == "Raw attention, layer 2, from position 3 is"
    with pytest.raises(af.InputError, match="query=0"):
        _ = plot.bar(t)
    with pytest.raises(af.InputError, match="layer 9 was not computed"):
        _ = plot.bar(t, query=0, layer=9)


def test_what_the_query_has_of_itself_does_not_decide_the_scale() -> None:
    row = [0.8, 0.05, 0.05, 0.04, 0.06]
    ax = plot.bar(_scores(row))
    assert _heights(ax)[0] == pytest.approx([0.06, 0.05, 0.05, 0.04, 0.06])
    assert ax.get_ylim()[1] < 0.08
    triangles = [c for c in ax.collections if len(c.get_offsets())]
    assert [len(c.get_offsets()) for c in triangles] == [1]
    assert [text.get_text() for text in ax.texts] == ["0.80"]
    assert _heights(plot.bar(_scores(row), vmax=1.0)) == [row]


def test_an_important_token_is_drawn_in_full() -> None:
    values = [0.0, 0.9, 0.01, 0.02, 0.01]
    ax = plot.bar(af.Importance(values, TOKENS, "blank_out"))
    assert _heights(ax) == [values]
    assert ax.get_ylabel() == "importance"
    assert ax.get_title() == "Blank-out"


def test_tokens_can_be_rows() -> None:
    ax = plot.bar(_scores(ROW), tokens="rows")
    assert [float(bar.get_width()) for bar in ax.patches] == ROW
    assert [label.get_text() for label in ax.get_yticklabels()] == TOKENS
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first token is at the top
    assert ax.get_xlabel() == "share"


def test_results_of_one_method_have_names_and_colours_of_their_own() -> None:
    norms = af.TokenAttention([[ROW]], TOKENS, [6], [0], "rollout", settings={"edges": "norms"})
    ax = plot.bar(_scores(ROW), norms)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["Attention rollout", "Attention rollout, norms"]
    colours = [to_hex(group[0].get_facecolor()) for group in ax.containers]
    assert len(set(colours)) == 2
    mine = plot.bar(_scores(ROW), norms, labels=["$a$", "_b"]).get_legend()
    assert [text.get_text() for text in mine.get_texts()] == ["$a$", "_b"]


def test_the_legend_says_that_flow_is_flat() -> None:
    flow = af.TokenAttention([[ROW]], TOKENS, [6], [0], "flow", flat=[[True]])
    ax = plot.bar(_scores(ROW), flow)
    assert ax.get_legend().get_texts()[1].get_text() == "Attention flow (flat)"
    assert plot.bar(flow).get_title() == "Attention flow (flat), layer 6, from position 0 the"


def test_a_token_that_was_taken_out_has_a_dash_and_a_line_names_it(attention: af.Attention) -> None:
    t = af.rollout(attention, queries=2, without=[0])
    for tokens in ("columns", "rows"):
        ax = plot.bar(t, tokens=tokens)
        assert [text.get_text() for text in ax.texts if text.get_text() == "-"] == ["-"]
        (dash,) = (text for text in ax.texts if text.get_text() == "-")
        assert sorted(dash.get_position()) == [0.0, 0.0]
        notes = [ax.get_xlabel(), *(text.get_text() for text in ax.texts)]
        assert notes.count("without position 0 [CLS]") == 1
    # The query itself keeps what it has through the residual connection, which raw has not.
    for method, dashes in ((af.rollout, 0), (af.flow, 0), (af.raw, 1)):
        own = plot.bar(method(attention, queries=0, without=[0]))
        assert [text.get_text() for text in own.texts].count("-") == dashes
    assert not plot.bar(af.rollout(attention, queries=2)).get_xlabel()


def test_a_line_about_some_results_names_them(attention: af.Attention) -> None:
    scores = [
        af.raw(attention, queries=2),
        af.rollout(attention, queries=2, without=[0]),
    ]
    assert plot.bar(*scores).get_xlabel() == "without position 0 [CLS]: Attention rollout"


def test_words_do_not_take_the_positions_of_tokens_that_were_taken_out(
    attention: af.Attention,
) -> None:
    t = af.rollout(attention, queries=2, without=[0]).to_words("[CLS] the key is here")
    ax = plot.bar(t)
    assert ax.get_xlabel() == "without token 0"
    assert "-" not in [text.get_text() for text in ax.texts]


def test_infinite_scores_and_zeros_are_drawn() -> None:
    ax = plot.bar(_scores([np.inf, 0.25, 0.5, 0.0, 0.0], "flow", query=3))
    assert _heights(ax)[0] == [0.5, 0.25, 0.5, 0.0, 0.0]
    plot.bar(_scores([0.0] * 5)).get_figure().canvas.draw()


def test_names_of_many_tokens_do_not_overlap() -> None:
    t = af.raw(random_attention(2, 1, 120, seed=0, tokens=["incomprehensible"] * 120), queries=0)
    ax = plot.bar(t, af.raw(random_attention(2, 1, 120, seed=1, tokens=t.tokens), queries=0))
    ax.get_figure().canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert 20 < len(boxes) < 120
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    assert len(ax.patches) == 240


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (plot.bar, "expected token attention or importance, got nothing"),
        (lambda: plot.bar("flow"), "expected token attention or importance, got str"),
        (
            lambda: plot.bar(_scores(ROW), af.Importance([0.1], ["key"], "blank_out")),
            "results 0 and 1 are of different tokens",
        ),
        (
            lambda: plot.bar(af.Importance([0.1], ["key"], "blank_out"), query=0),
            "query and layer need token attention",
        ),
        (lambda: plot.bar(_scores(ROW), labels=["a", "b"]), "labels: expected 1 labels"),
        (lambda: plot.bar(_scores(ROW), tokens="line"), 'tokens must be "columns" or "rows"'),
        (lambda: plot.bar(_scores(ROW), shares="no"), "shares must be"),
    ],
)
def test_bad_input_raises_an_error(call: Any, message: str) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = call()
    assert plt.get_fignums() == []


def test_a_line_below_names_the_answers_that_importance_is_for(attention: af.Attention) -> None:
    values, tokens = [0.1, 0.2, 0.3, 0.4, 0.5], attention.tokens
    about = {"score": "logit_difference", "target_name": "Ġhis", "other_name": "Ġher"}
    one = af.Importance(values, tokens, "logit_contributions", about)
    ax = plot.bar(one)
    assert ax.get_ylabel() == "importance"
    assert ax.get_xlabel() == "importance for his against her (difference of logits)"
    other = af.Importance(values, tokens, "blank_out", about)
    shared = plot.bar(af.rollout(attention, queries=0), one, other)
    assert shared.get_xlabel() == ax.get_xlabel()
    mine = af.Importance(values, tokens, "blank_out", {"score": "probability", "target_name": 1})
    assert plot.bar(one, mine).get_xlabel().splitlines() == [
        "importance for his against her (difference of logits): Logit contributions",
        "importance for 1 (probability): Blank-out",
    ]
    assert not plot.bar(af.Importance(values, tokens, "mine")).get_xlabel()
