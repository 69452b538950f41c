"""`save`: files for papers; and the error where matplotlib is missing."""

import importlib.util
import re
import threading
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.evaluate import LayerTable
from attnflow.paper import PaperFigure

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
    with pytest.raises(af.InputError, match="expected a Figure or Axes"):
        plot.save("figure", tmp_path / "a.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.PNG"]


def test_axes_of_one_figure_can_be_given_together(attention: af.Attention, tmp_path: Path) -> None:
    panels = plot.compare(attention)
    plot.save(panels, tmp_path / "tuple.svg")
    plot.save(list(panels), tmp_path / "list.svg")
    plot.save(np.array(panels).reshape(3, 1), tmp_path / "array.svg")
    plot.save(panels[0], tmp_path / "one.svg")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_what_has_no_single_figure_raises_an_error_with_the_fix(
    attention: af.Attention, tmp_path: Path
) -> None:
    t = af.raw(attention)
    two = plot.graph(t), plot.graph(t)
    with pytest.raises(af.InputError, match=r"got 2 axes of 2 figures\. Call save once"):
        plot.save(two, tmp_path / "a.svg")
    with pytest.raises(af.InputError, match="got 0 axes of 0 figures"):
        plot.save((), tmp_path / "a.svg")
    with pytest.raises(af.InputError, match=r"got ColouredText\. Write its to_html\(\) to a file"):
        plot.save(plot.text(t, query=0), tmp_path / "a.svg")
    found = PaperFigure(two[0].figure, ())
    with pytest.raises(af.InputError, match=r"got PaperFigure\. Pass its \.figure"):
        plot.save(found, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 5, b"a.svg", "a\0.svg", "a\ud800.svg"])
def test_an_invalid_file_name_raises_an_error(path: object) -> None:
    with pytest.raises(af.InputError, match="expected the name of a file"):
        plot.save(Figure(), path)


@pytest.mark.parametrize("dpi", [0, -1, float("nan"), float("inf"), "x", None, 1e9, 1e-9, 10**400])
def test_an_invalid_dpi_raises_an_error(tmp_path: Path, dpi: object) -> None:
    with pytest.raises(af.InputError, match=r"dpi must be above 0 and at most \d+ .* got"):
        plot.save(Figure(), tmp_path / "a.png", dpi=dpi)
    assert list(tmp_path.iterdir()) == []


def test_axes_without_a_figure_raise_an_error(tmp_path: Path) -> None:
    ax: Any = Figure().subplots()
    ax.remove()
    with pytest.raises(af.InputError, match="removed from their figure"):
        plot.save(ax, tmp_path / "a.svg")


def test_threads_leave_settings_as_they_were(tmp_path: Path) -> None:
    inside = [threading.Event(), threading.Event()]
    first_is_done = threading.Event()

    class Slow(Figure):
        """Of two, the second begins while the first is written, and ends after it."""

        def savefig(self, fname: Any, **kwargs: Any) -> None:
            second = int(str(self.get_label()))
            inside[second].set()
            _ = (first_is_done if second else inside[1]).wait(0.5)
            super().savefig(fname, **kwargs)

    def write(place: int) -> None:
        plot.save(Slow(label=str(place)), tmp_path / f"{place}.svg")
        if not place:
            first_is_done.set()

    before: dict[Any, Any] = dict(mpl.rcParams)
    threads = [threading.Thread(target=write, args=(place,)) for place in (0, 1)]
    threads[0].start()
    assert inside[0].wait(30)
    threads[1].start()
    for thread in threads:
        thread.join()
    now: Any = mpl.rcParams
    changed = {name for name in before if now[name] != before[name]}
    now.update({name: before[name] for name in changed})
    assert changed == set()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_matplotlib_is_an_error_before_any_work(
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
        with pytest.raises(af.MissingDependencyError, match=r'pip install "matplotlib>='):
            call()
    assert plot.text(af.raw(attention), query=0).to_html()


def test_labels_that_stand_out_of_small_axes_are_not_cut_off(tmp_path: Path) -> None:
    tokens = ["extraordinarily", "long", "names"]
    shown = af.rollout(af.Attention(np.full((2, 1, 3, 3), 1 / 3), tokens), queries=0)

    def height(**settings: Any) -> float:
        figure = Figure(figsize=(3.3, 2.0), **settings)
        plot.save(plot.heatmap(shown, ax=figure.subplots()), tmp_path / "small.svg")
        found = re.search(r'height="([\d.]+)pt"', (tmp_path / "small.svg").read_text())
        assert found is not None
        return float(found[1])

    assert height() > 144 + 10  # two inches, and the names below it
    assert height(layout="constrained") == 144
