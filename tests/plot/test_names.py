"""Tokens of any kind are drawn without a warning and without being taken for formulas."""

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib import pyplot as plt

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.plot import _names as names
from attnflow.types import random_attention

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

ODD = [
    "$x_1$", "a\nb", "\t", "\N{GRINNING FACE}", "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{BOY}",
    "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}", "\N{ARABIC LETTER MEEM}",
    "\N{CJK UNIFIED IDEOGRAPH-65E5}", "_a", "\\frac{", "%", "\ud800", "", "Ġkey", "▁the", "x" * 60,
]  # fmt: skip

# How a file of each format begins and ends.
HEADS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
ENDS = {"svg": b"</svg>", "pdf": b"%%EOF", "png": b"IEND\xaeB`\x82"}


@pytest.mark.parametrize("figure", ["bar", "matrix", "heatmap", "graph"])
def test_marks_are_removed_once(figure: str) -> None:
    # A word that begins with "##", which is a mark in another family of tokenizers.
    a = random_attention(2, 1, 2, tokens=["Ġ##b", "Ġa"])
    of_one = {} if figure in ("matrix", "graph") else {"query": 0}
    ax = getattr(plot, figure)(af.raw(a), **of_one)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["##b", "a"]


@pytest.mark.parametrize("kind", plot.FORMATS)
def test_odd_tokens_are_drawn_in_every_format(kind: str) -> None:
    a = random_attention(2, 1, len(ODD), tokens=ODD)
    plain = random_attention(2, 1, len(ODD), tokens=["key"] * len(ODD))
    for draw in (lambda x: plot.graph(af.raw(x)), lambda x: plot.heatmap(af.raw(x), query=0)):
        odd, other = (_saved(draw(each), kind) for each in (a, plain))
        # Whole, and with names that are not those of the other.
        assert odd.startswith(HEADS[kind])
        assert odd.rstrip().endswith(ENDS[kind])
        assert odd != other


def _saved(ax: Any, kind: str) -> bytes:
    file = io.BytesIO()
    ax.get_figure().savefig(file, format=kind)
    return file.getvalue()


def test_labels_are_no_formulas() -> None:
    a = random_attention(1, 1, 2, tokens=["$x$", "a_b"])
    labels = plot.graph(af.raw(a)).get_xticklabels()
    assert [label.get_text() for label in labels] == ["$x$", "a_b"]
    assert not any(label.get_parse_math() for label in labels)


def test_long_names_are_cut_and_line_breaks_spelled_out() -> None:
    text, _ = names.drawable(["incomprehensibilities", "a\nb", "\ud800"])
    assert text == ["incomprehensibili…", r"a\nb", r"\ud800"]


def test_every_figure_shows_the_names_that_people_write() -> None:
    tokens = ["<s>", "ĠParis", "Ġ", "Ċ"]
    shown = ["<s>", "Paris", "␣", "⏎"]
    a = random_attention(2, 1, 4, tokens=tokens)
    g, one = a.graph(), af.raw(a, queries=1)
    figures = [
        plot.graph(g), plot.heatmap(one), plot.bar(one), plot.matrix(af.raw(a)), *plot.compare(a),
        plot.max_flow(g, af.max_flow(g, source=(2, 1), sink=1)),
    ]  # fmt: skip
    for ax in figures:
        assert [label.get_text() for label in ax.get_xticklabels()] == shown
    assert figures[-1].get_title().startswith("1 Paris at layer 2 → 1 Paris")
    for ax in (plot.heatmap(one, tokens="rows"), plot.bar(one, tokens="rows"), figures[3]):
        assert [label.get_text() for label in ax.get_yticklabels()] == shown
    odds: Any = {"candidates": ["Paris", "<s>"], "probabilities": {"a": 0.5, "b": 0.5}}
    assert len(plot.pronoun(one, **odds)) == 2


def test_plain_letters_need_no_other_font() -> None:
    text, how = names.drawable(["key"])
    assert text == ["key"]
    assert how["fontfamily"] == ["sans-serif"]


def test_a_character_that_no_font_has_is_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    text, how = names.drawable(["a\N{CUNEIFORM SIGN A}"])
    assert text == ["a\N{WHITE SQUARE}"]
    assert how["fontfamily"] == ["sans-serif"]


def test_names_are_flat_slanted_or_upright_by_the_available_space() -> None:
    def turn(count: int, token: str) -> float:
        a = random_attention(1, 1, count, tokens=[token] * count)
        ax = plot.heatmap(af.raw(a), query=0)
        return float(ax.get_xticklabels()[0].get_rotation())

    assert turn(5, "a") == 0
    assert turn(5, "cabinets") == 45
    assert turn(90, "cabinets") == 90


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 7, 30, 90, 200])
@pytest.mark.parametrize("name", ["cabinets", "WMW", "key", "\N{CJK UNIFIED IDEOGRAPH-65E5}" * 3])
def test_names_never_overlap(count: int, name: str) -> None:
    a = random_attention(1, 1, count, tokens=[name] * count)
    for ax in (plot.graph(af.raw(a)), plot.heatmap(af.raw(a), query=0)):
        figure = ax.get_figure()
        figure.canvas.draw()
        labels = ax.get_xticklabels()
        boxes = [label.get_window_extent() for label in labels]
        assert len(boxes) > 1
        # Slanted ones may lie beside each other: there the distance of the lines counts.
        slanted = labels[0].get_rotation() == 45
        for left, right in pairwise(boxes):
            if slanted:
                height = 1.2 * labels[0].get_fontsize() * figure.dpi / 72
                assert (right.x1 - left.x1) * 2**-0.5 >= 0.9 * height
            else:
                assert left.x1 <= right.x0


# Inches: one column of a paper.
COLUMN = (3.3, 2.2)


def _named(ax: Any) -> list[int]:
    return [round(place) for place in ax.get_xticks()]


@pytest.mark.parametrize("strongest", [0, 1, 16, 31, 38, 39])
def test_where_not_all_names_fit_the_strongest_column_keeps_its_own(strongest: int) -> None:
    weights = np.full((2, 1, 40, 40), 0.5 / 39)
    weights[..., strongest] = 0.5
    a = af.Attention(weights, [f"w{place}" for place in range(40)])
    figure = plt.figure(figsize=COLUMN, layout="constrained")
    g = a.graph()
    m = af.max_flow(g, source=(2, 0), sink=strongest)
    for draw in (
        lambda ax: plot.heatmap(af.raw(a), query=3, ax=ax),
        lambda ax: plot.graph(af.raw(a), ax=ax),
        lambda ax: plot.graph(g, ax=ax),
        lambda ax: plot.max_flow(g, m, ax=ax),
    ):
        figure.clear()
        ax = draw(figure.subplots())
        labels = [label.get_text() for label in ax.get_xticklabels()]
        assert len(labels) < 40
        assert f"{strongest} w{strongest}" in labels


def test_names_are_given_from_the_strongest_down() -> None:
    scores = np.random.default_rng(0).random(60)
    t = af.TokenAttention([[scores]], ["word"] * 60, [1], [0], "rollout")
    _, ax = plt.subplots(figsize=COLUMN, layout="constrained")
    named = _named(plot.heatmap(t, ax=ax))
    apart = min(right - left for left, right in pairwise(named))
    assert 1 < len(named) < 60
    for place in set(range(60)) - set(named):
        # Who has none stands beside a stronger one.
        assert any(abs(place - other) < apart and scores[other] > scores[place] for other in named)


@pytest.mark.slow
def test_panels_side_by_side_have_names_that_do_not_overlap() -> None:
    a = random_attention(6, 1, 31, seed=0, tokens=["hospital"] * 31)
    for settings in ({}, {"view": "heatmap", "query": 0}):
        panels = plot.compare(a, **settings)
        panels[0].get_figure().canvas.draw()
        assert len(panels) == 3
        for ax in panels:
            boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
            assert len(boxes) > 1
            assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("draw", "inches", "count"),
    [("heatmap", 3.3, 15), ("graph", 3.3, 18), ("heatmap", 6.9, 40), ("graph", 6.9, 40)],
)
def test_every_name_is_shown_up_to_what_the_guide_says(
    draw: str, inches: float, count: int
) -> None:
    t = af.rollout(random_attention(12, 1, count, tokens=["cabinets"] * count))
    _, ax = plt.subplots(figsize=(inches, 2.2), layout="constrained")
    settings = {"query": 0} if draw == "heatmap" else {}
    labels = getattr(plot, draw)(t, ax=ax, **settings).get_xticklabels()
    assert [label.get_text() for label in labels] == ["cabinets"] * count
