"""`correlation`: means over layers, in bands of a standard deviation."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot
from attnflow.evaluate import LayerTable
from attnflow.paper import TABLE_1

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot


@pytest.fixture
def table() -> LayerTable:
    values = np.random.default_rng(0).uniform(-0.5, 1, (20, 3, 6))
    return LayerTable(
        values,
        ["raw", "rollout", "flow"],
        range(1, 7),
        ["a text"] * 20,
        settings={"measure": "blank_out"},
    )


def test_lines_are_the_means_and_bands_the_deviations(table: LayerTable) -> None:
    ax = plot.correlation(table)
    for place in range(3):
        assert np.array_equal(ax.lines[place].get_ydata(), table.mean[place])
        assert np.array_equal(ax.lines[place].get_xdata(), table.layers)
        corners = ax.collections[place].get_paths()[0].vertices
        low, high = table.mean[place] - table.std[place], table.mean[place] + table.std[place]
        assert {round(float(y), 9) for y in np.asarray(corners)[:, 1]} == {
            round(float(y), 9) for y in (*low, *high)
        }
    assert ax.get_ylabel() == "rank correlation with blank-out"


def test_published_numbers_are_dashed(table: LayerTable) -> None:
    ax = plot.correlation(table, published=TABLE_1)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [list(line.get_ydata()) for line in dashed] == [
        [mean for mean, _ in TABLE_1[name]] for name in table.rows
    ]
    with pytest.raises(af.InputError, match="expected shape \\(6, 2\\)"):
        _ = plot.correlation(table, published={"raw": [(0.1, 0.1)]})


@pytest.mark.parametrize(
    ("published", "message"),
    [
        (5, "published must be a mapping .* got 5"),
        ("x", "published must be a mapping .* got 'x'"),
        ({"raw": None}, r"published\['raw'\]: expected numbers, got"),
        ({"raw": [5] * 6}, "expected shape \\(6, 2\\)"),
        ({"raw": ["ab"] * 6}, "expected numbers, got"),
        ({"mine": [(0.1, 0.1)] * 6}, "'mine'; the table has raw, rollout, flow"),
    ],
)
def test_published_numbers_that_do_not_fit_raise_an_error(
    table: LayerTable, published: object, message: str
) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = plot.correlation(table, published=published)
    assert plt.get_fignums() == []


def test_rows_of_no_layer_are_dotted_and_shares_have_no_band() -> None:
    t = LayerTable(
        [[[1.0, 0.0]]], ["raw"], [1, 2], ["a"], {"chance": [0.25]}, {"measure": "subject"}
    )
    ax = plot.correlation(t)
    assert not ax.collections
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [0.25]
    assert plot.correlation(t, std=True).collections


def test_numbers_that_are_undefined_leave_a_gap() -> None:
    t = LayerTable([[[0.5, np.nan, 0.3]]], ["_mine"], [1, 2, 3], ["a"])
    ax = plot.correlation(t, label="mean of $x$", title="mine")
    ax.get_figure(root=True).canvas.draw()
    assert np.isnan(ax.lines[0].get_ydata()[1])
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["_mine"]


def test_given_axes_are_used(table: LayerTable) -> None:
    ax = Figure().subplots()
    assert plot.correlation(table, ax=ax) is ax
    with pytest.raises(af.InputError, match="expected a LayerTable"):
        _ = plot.correlation([0.1])
