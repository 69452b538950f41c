"""Tokens of any kind are drawn without a warning and without being taken for formulas."""

import io
from itertools import pairwise
from typing import Any

import pytest
from matplotlib import font_manager

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.plot import _names as names
from attnflow.synthetic import random_attention

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
    text, _ = names.shown(["incomprehensibilities", "a\nb", "\ud800"])
    assert text == ["incomprehensibili…", r"a\nb", r"\ud800"]


def test_plain_letters_need_no_other_font() -> None:
    text, how = names.shown(["key"])
    assert text == ["key"]
    assert how["fontfamily"] == ["sans-serif"]


def test_a_character_that_no_font_has_is_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    text, how = names.shown(["a\N{CUNEIFORM SIGN A}"])
    assert text == ["a\N{WHITE SQUARE}"]
    assert how["fontfamily"] == ["sans-serif"]


def test_names_are_flat_slanted_or_upright_by_the_room_there_is() -> None:
    def turn(count: int, token: str) -> float:
        a = random_attention(1, 1, count, tokens=[token] * count)
        ax = plot.heatmap(af.raw(a), query=0)
        return float(ax.get_xticklabels()[0].get_rotation())

    assert turn(5, "a") == 0
    assert turn(5, "cabinets") == 45
    assert turn(90, "cabinets") == 90


@pytest.mark.parametrize("count", [1, 2, 7, 30, 90, 200])
@pytest.mark.parametrize("name", ["cabinets", "WMW", "key", "\N{CJK UNIFIED IDEOGRAPH-65E5}" * 3])
def test_names_never_overlap(count: int, name: str) -> None:
    a = random_attention(1, 1, count, tokens=[name] * count)
    for ax in (plot.graph(af.raw(a)), plot.heatmap(af.raw(a), query=0)):
        figure = ax.get_figure()
        figure.canvas.draw()
        labels = ax.get_xticklabels()
        boxes = [label.get_window_extent() for label in labels]
        # Slanted ones may lie beside each other: there the distance of the lines counts.
        slanted = labels[0].get_rotation() == 45
        for left, right in pairwise(boxes):
            if slanted:
                height = 1.2 * labels[0].get_fontsize() * figure.dpi / 72
                assert (right.x1 - left.x1) * 2**-0.5 >= 0.9 * height
            else:
                assert left.x1 <= right.x0
