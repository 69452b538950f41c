"""What callers of any picture may pass, and the errors raised before a figure is made."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.evaluate import LayerTable
from attnflow.plot._graph import shares

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot

PATCH = af.TokenAttention(
    [[[1.0]]],
    ["0"],
    [1],
    [0],
    "raw",
    origin=af.Origin(grid=af.Grid(rows=1, columns=1, prefix=0)),
)
TABLE = LayerTable([[[0.5, 0.25]]], ["raw"], [1, 2], ["a"])
ODDS: dict[str, Any] = {"candidates": ["the", "key"], "probabilities": {"his": 0.5, "her": 0.25}}


def _draw(name: str, attention: af.Attention, **settings: Any) -> Any:
    g = attention.graph()
    one = af.raw(attention, queries=0)
    calls: dict[str, Any] = {
        "graph": lambda: plot.graph(g, **settings),
        "compare": lambda: plot.compare(attention, **settings),
        "heatmap": lambda: plot.heatmap(one, **settings),
        "max_flow": lambda: plot.max_flow(g, af.max_flow(g, source=(2, 0), sink=1), **settings),
        "image": lambda: plot.image(PATCH, np.zeros((2, 2)), **settings),
        "correlation": lambda: plot.correlation(TABLE, **settings),
        "pronoun": lambda: plot.pronoun(one, **ODDS, **settings),
        "bar": lambda: plot.bar(one, af.rollout(attention, queries=0), **settings),
        "matrix": lambda: plot.matrix(af.raw(attention), **settings),
    }
    return calls[name]()


SINGLE = ["graph", "heatmap", "matrix", "bar", "max_flow", "image", "correlation"]
TITLED = [*SINGLE, "pronoun"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        *((name, {"title": 5}, r"title must be a str.* got 5 \(int\)") for name in TITLED),
        ("correlation", {"label": 5}, r"label must be a str.* got 5 \(int\)"),
        ("compare", {"titles": [5] * 3}, r"titles\[0\] must be a str.* got 5 \(int\)"),
        ("compare", {"titles": 5}, "titles: expected 3 titles.* got 5"),
        ("compare", {"view": np.eye(3)}, 'view must be "graph" or "heatmap"'),
        *(
            (name, {"vmax": bad}, "vmax must be a number above 0.* got")
            for name in ("graph", "heatmap", "matrix", "bar")
            for bad in ("x", [], float("nan"))
        ),
        *(
            ("image", {"opacity": bad}, "opacity must be a number from 0 to 1, got")
            for bad in (None, "x", 1.5, float("nan"))
        ),
    ],
)
def test_bad_settings_raise_an_error_before_a_figure_is_made(
    attention: af.Attention, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = _draw(name, attention, **settings)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", SINGLE)
def test_axes_that_are_not_straight_or_on_no_figure_raise_an_error(
    attention: af.Attention, name: str
) -> None:
    for projection in ("polar", "3d"):
        ax = Figure().add_subplot(projection=projection)
        with pytest.raises(af.InputError, match=f"rectilinear projection, got {projection}"):
            _ = _draw(name, attention, ax=ax)
    removed: Any = Figure().subplots()
    removed.remove()
    with pytest.raises(af.InputError, match="removed from its figure"):
        _ = _draw(name, attention, ax=removed)


@pytest.mark.parametrize("name", ["compare", "pronoun"])
def test_panels_have_axes_of_their_own(attention: af.Attention, name: str) -> None:
    ax = Figure().subplots()
    with pytest.raises(af.InputError, match="different axes, got some more than once"):
        _ = _draw(name, attention, ax=[ax] * {"compare": 3, "pronoun": 2}[name])


def test_rows_near_the_largest_float_are_shared_out() -> None:
    assert shares(np.array([[1e308, 1e308], [1e-320, 0.0]])).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    t = af.TokenAttention([[[1e308, 1.5e308], [1.0, 3.0]]], ["a", "b"], [1], [0, 1], "flow")
    plot.graph(t).get_figure(root=True).canvas.draw()


@pytest.mark.parametrize("name", [*TITLED, "compare"])
def test_no_text_goes_through_tex(attention: af.Attention, name: str) -> None:
    with mpl.rc_context({"text.usetex": True}):
        drawn = _draw(name, attention)
        figure = (drawn[0] if isinstance(drawn, tuple) else drawn).get_figure(root=True)
        figure.canvas.draw()
        texts = [each for each in figure.findobj(Text) if each.get_visible() and each.get_text()]
        assert texts
        assert [each.get_text() for each in texts if each.get_usetex()] == []
