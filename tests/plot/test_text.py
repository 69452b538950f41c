"""`text`: tokens on a background as strong as their scores."""

import re
import subprocess
import sys
from typing import Any, cast

import pytest

import attnflow as af
from attnflow import plot
from attnflow.plot import _palette as palette

EVIL = "</span><img src=x onerror=alert(1)>"


def _text(*scores: float, tokens: list[str] | None = None) -> plot.ColouredText:
    names = tokens or [f"t{number}" for number in range(len(scores))]
    return plot.text(af.TokenAttention([[list(scores)]], names, [6], [0], "rollout"))


def test_tokens_are_escaped() -> None:
    page = _text(0.5, 0.5, tokens=[EVIL, '"&'])._repr_html_()
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert "&quot;&amp;" in page


def test_the_largest_score_has_the_methods_colour_and_zero_is_white() -> None:
    behind = re.findall(r"background:(#\w+)", _text(0.0, 0.2, 0.4).to_html())
    assert behind[0] == "#FFFFFF"
    assert behind[2] == plot.COLOURS["rollout"]
    assert behind[1] not in (behind[0], behind[2])


def test_neither_the_query_itself_nor_a_sink_decides_the_colours() -> None:
    behind = re.findall(r"background:(#\w+)", _text(0.6, 0.3, 0.04, 0.02, 0.04).to_html())
    assert behind[0] == behind[1] == behind[2] == behind[4] == plot.COLOURS["rollout"]
    assert behind[3] not in (behind[2], "#FFFFFF")


def test_tokens_have_the_names_that_people_write() -> None:
    shown = _text(0.5, 0.5, tokens=["ĠParis", "Ġ"])
    assert "Paris[0.50] ␣[0.50]" in shown.to_terminal(colour=False)
    assert "from position 0 Paris" in shown.caption
    assert "Ġ" not in shown.to_html()


@pytest.mark.parametrize("mark", ["flat", "saturated"])
def test_the_caption_says_that_flow_is_flat_or_saturated(mark: str) -> None:
    marks: Any = {"flat": {"flat": [[True]]}, "saturated": {"saturated": [True]}}[mark]
    t = af.TokenAttention([[[0.5, 0.5]]], ["a", "b"], [6], [0], "flow", **marks)
    assert plot.text(t).caption == f"Attention flow, layer 6 ({mark}), from position 0 a"


def test_the_caption_says_what_was_taken_out_and_from_which_score_colours_are_full() -> None:
    settings = {"without": (1,), "receptive_field": True}
    t = af.TokenAttention([[[0.7, 0.0, 0.3]]], [*"abc"], [6], [0], "rollout", settings)
    assert plot.text(t).caption == (
        "Attention rollout, layer 6, from position 0 a, without position 1 b, "
        "corrected for the receptive field, full colour from 0.3"
    )


def test_text_is_readable_on_every_background() -> None:
    for name in (*plot.COLOURS.values(), "#000000", "#777777"):
        for strength in range(101):
            behind = palette.tint(name, strength / 100)
            assert palette.contrast(palette.ink_on(behind), behind) >= 4.5


def test_a_terminal_gets_24_bit_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    caption, line = _text(0.0, 1.0).to_terminal().split("\n")
    assert caption == "Attention rollout, layer 6, from position 0 t0"
    assert "\x1b[48;2;255;255;255m" in line
    assert "\x1b[48;2;213;94;0m" in line
    assert line.endswith("\x1b[0m")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_without_colours_there_are_numbers(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert _text(0.25, 0.75).to_terminal().endswith("\nt0[0.25] t1[0.75]")


def test_control_characters_cannot_act() -> None:
    for shown in (
        _text(1.0, tokens=["\x1b[2J\n"]).to_terminal(colour=False),
        _text(1.0, tokens=["\x1b[2J\n"]).to_html(),
    ):
        assert "\x1b" not in shown
        assert r"\x1b[2J⏎" in shown


def test_the_last_layer_is_shown_by_default() -> None:
    t = af.TokenAttention([[[0.9, 0.1]], [[0.2, 0.8]]], ["a", "b"], [2, 1], [1], "raw")
    assert plot.text(t).scores == (0.9, 0.1)
    assert plot.text(t, layer=1).scores == (0.2, 0.8)
    with pytest.raises(af.InputError, match="layer 5 was not computed"):
        _ = plot.text(t, layer=5)


def test_infinite_scores_and_zeros_have_colours_too() -> None:
    assert plot.COLOURS["rollout"] in _text(float("inf"), 0.5).to_html()
    assert "#FFFFFF" in _text(0.0, 0.0).to_html()


def test_matplotlib_is_not_needed() -> None:
    code = (
        "import sys\nsys.modules['matplotlib'] = None\n"
        "import attnflow as af\nfrom attnflow import plot\n"
        "t = af.TokenAttention([[[1.0]]], ['a'], [1], [0], 'raw')\n"
        "assert 'Raw attention' in plot.text(t).to_html()\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


def test_other_types_than_token_attention_raise_an_error() -> None:
    with pytest.raises(af.InputError, match="expected a TokenAttention, got NoneType"):
        _ = plot.text(cast("Any", None))
