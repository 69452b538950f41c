"""`pronoun`: two candidates over the layers, beside two probabilities."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

WORDS = ["The", "author", "saw", "Sa", "##ra", "[MASK]"]
ODDS = {"his": 0.3, "her": 0.1}


@pytest.fixture
def views() -> list[af.TokenAttention]:
    rng = np.random.default_rng(0)
    methods: Any = ("raw", "rollout", "flow")
    return [
        af.TokenAttention(rng.random((4, 1, 6)), WORDS, [1, 2, 3, 4], [5], each) for each in methods
    ]


def test_marks_are_the_scores_and_pieces_are_added_up(views: list[af.TokenAttention]) -> None:
    _, *panels = plot.pronoun(*views, candidates={"author": 1, "Sara": (3, 4)}, probabilities=ODDS)
    for view, ax in zip(views, panels, strict=True):
        lines, first, second = ax.collections
        scores = view.scores[:, 0]
        rows = np.arange(4.0)
        assert np.allclose(first.get_offsets(), np.stack([scores[:, 1], rows], 1))
        assert np.allclose(second.get_offsets(), np.stack([scores[:, 3:5].sum(1), rows], 1))
        assert len(lines.get_segments()) == 4
        assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "3", "4"]


def test_layers_where_flow_is_saturated_or_flat_are_marked(views: list[af.TokenAttention]) -> None:
    marks = {"saturated": (False, False, True, False), "flat": [[False], [True], [False], [False]]}
    views[2] = replace(views[2], **{name: np.array(mark) for name, mark in marks.items()})
    _, *panels = plot.pronoun(*views, candidates=["author", "saw"], probabilities=ODDS)
    labels = [[label.get_text() for label in ax.get_yticklabels()] for ax in panels]
    assert labels == [["1", "2", "3", "4"], ["1", "2", "3", "4"], ["1", "2†", "3*", "4"]]
    explained = ["layer", "", "layer (* saturated, † flat)"]
    assert [ax.get_ylabel() for ax in panels] == explained


def test_bars_are_shares_of_both_and_say_the_probability(views: list[af.TokenAttention]) -> None:
    bars, *_ = plot.pronoun(*views, candidates=["author", "saw"], probabilities=ODDS)
    heights = [bar.get_height() for bar in bars.patches]
    assert heights == pytest.approx([0.75, 0.25])
    assert bars.get_ylabel() == "share of the two"
    assert [text.get_text() for text in bars.texts] == ["0.75", "0.25"]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["his\n0.3", "her\n0.1"]
    assert bars.get_xlabel() == "probability"


def test_numbers_below_the_bars_do_not_overlap(views: list[af.TokenAttention]) -> None:
    odds = {"his": 3.1e-05, "her": 7.7e-06}
    bars, *_ = plot.pronoun(*views, candidates=["author", "saw"], probabilities=odds)
    bars.get_figure(root=True).canvas.draw()
    first, second = (label.get_window_extent() for label in bars.get_xticklabels())
    assert first.x1 < second.x0


def test_each_panel_says_what_its_numbers_are(views: list[af.TokenAttention]) -> None:
    settings: dict[str, Any] = {"candidates": ["author", "saw"], "probabilities": ODDS}
    _, *panels = plot.pronoun(*views, views[2].normalized(), **settings)
    labels = ["attention", "share", "flow", "share of flow"]
    assert [ax.get_xlabel() for ax in panels] == labels


def test_a_pronoun_has_the_colour_of_its_candidate(views: list[af.TokenAttention]) -> None:
    bars, *panels = plot.pronoun(*views, candidates=["author", "saw"], probabilities=ODDS)
    assert len(bars.patches) == 2
    for bar, marks in zip(bars.patches, panels[0].collections[1:], strict=True):
        assert np.allclose(bar.get_facecolor(), marks.get_facecolors()[0])


def test_given_axes_are_used_and_the_title_is_their_figures(
    views: list[af.TokenAttention],
) -> None:
    parts: Any = Figure(layout="constrained").subfigures(2, 1)
    upper = parts[0]
    axes = upper.subplots(1, 4)
    drawn = plot.pronoun(
        *views, candidates=["author", "saw"], probabilities=ODDS, title="a $5 book", ax=axes
    )
    assert drawn == tuple(axes)
    assert upper.get_suptitle() == "a $5 book"
    upper.get_figure(root=True).canvas.draw()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"candidates": ["author", "Sara"]}, "'Sara' is not among the tokens"),
        ({"candidates": ["author"]}, "two different words"),
        ({"candidates": "ab"}, "two different words"),
        ({"candidates": ["saw", "saw"]}, "two different words"),
        ({"candidates": [1, 2]}, "two different words"),
        ({"candidates": 5}, "candidates: expected two different words.* got 5"),
        ({"candidates": None}, "candidates: expected two different words.* got None"),
        ({"candidates": {"a": 1, "b": None}}, "must be integers, got None"),
        ({"probabilities": None}, "probabilities: expected two pronouns.* got None"),
        ({"probabilities": 5}, "probabilities: expected two pronouns.* got 5"),
        ({"probabilities": "x"}, "probabilities: expected two pronouns.* got 'x'"),
        ({"probabilities": {"a": "x", "b": 0.5}}, "two pronouns"),
        ({"candidates": {"a": 1, "b": 9}}, "positions from 0 to 5"),
        ({"candidates": {"a": 1, "b": ()}}, "positions from 0 to 5"),
        ({"probabilities": {"his": 0.2}}, "two pronouns"),
        ({"probabilities": {"his": 0.0, "her": 0.0}}, "not both 0"),
        ({"query": 2}, "query 2 was not computed"),
    ],
)
def test_bad_input_raises_an_error(
    views: list[af.TokenAttention], changed: dict[str, Any], message: str
) -> None:
    settings: dict[str, Any] = {"candidates": ["author", "saw"], "probabilities": ODDS} | changed
    with pytest.raises(af.InputError, match=message):
        _ = plot.pronoun(*views, **settings)
    with pytest.raises(af.InputError, match="got nothing"):
        _ = plot.pronoun(**settings)
