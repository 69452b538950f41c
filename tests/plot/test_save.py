"""`save`: files for papers; and what is told where matplotlib is missing."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.evaluate import LayerTable

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

HEADS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.mark.parametrize("kind", plot.FORMATS)
def test_the_same_picture_is_the_same_file(
    attention: af.Attention, tmp_path: Path, kind: str
) -> None:
    for name in "ab":
        plot.save(plot.graph(af.raw(attention)), tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in "ab")
    assert first.startswith(HEADS[kind])
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_fonts_of_a_pdf_are_truetype(attention: af.Attention, tmp_path: Path) -> None:
    plot.save(plot.graph(af.raw(attention)), tmp_path / "a.pdf")
    content = (tmp_path / "a.pdf").read_bytes()
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content


def test_a_figure_can_be_given_and_must_have_a_place(tmp_path: Path) -> None:
    plot.save(Figure(), tmp_path / "a.PNG")
    with pytest.raises(af.InputError, match="must end in"):
        plot.save(Figure(), tmp_path / "a.gif")
    with pytest.raises(af.InputError, match="cannot be written"):
        plot.save(Figure(), tmp_path / "no" / "a.svg")
    with pytest.raises(af.InputError, match="a figure is wanted"):
        plot.save("figure", tmp_path / "a.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.PNG"]


def test_a_missing_matplotlib_is_told_before_any_work(
    attention: af.Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    g = attention.graph()
    m = af.max_flow(g, source=(1, 0), sink=0)
    origin = af.Origin(grid=af.Grid(rows=1, columns=1, prefix=0))
    patch = af.TokenAttention([[[1.0]]], ["0"], [1], [0], "raw", origin=origin)
    table = LayerTable([[[0.5]]], ["raw"], [1], ["a"])
    calls: list[Any] = [
        lambda: plot.graph(g),
        lambda: plot.compare(attention),
        lambda: plot.heatmap(af.raw(attention), query=0),
        lambda: plot.max_flow(g, m),
        lambda: plot.image(patch, np.zeros((2, 2))),
        lambda: plot.correlation(table),
        lambda: plot.pronoun(
            af.raw(attention, queries=0),
            candidates=["the", "key"],
            probabilities={"his": 0.5, "her": 0.5},
        ),
        lambda: plot.save(Figure(), "a.svg"),
    ]
    for call in calls:
        with pytest.raises(af.MissingDependencyError, match=r'pip install "attnflow\[plot\]"'):
            call()
    assert plot.text(af.raw(attention), query=0).to_html()
