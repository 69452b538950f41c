"""The summary of a run: its statistics against NumPy, and its formats."""

import csv
import errno
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet
from stand_in import CELLS, run_stand_in, write_texts

from attnflow.errors import InputError
from attnflow.evaluate import Cell, LabelledText, Summary
from attnflow.evaluate.corpus._data import Part
from attnflow.evaluate.corpus._formats import groups, save_summary
from attnflow.evaluate.corpus._parts import PartFiles
from attnflow.evaluate.corpus._summary import _poisson, summarize
from attnflow.evaluate.corpus._worker import PartValues

PLAN = {"plan": {"seed": 0}, "model": {"name": "m_1"}, "data": {"name": "d & e.txt"}}


def _summary(
    folder: Path,
    values: NDArray[np.float64],
    *,
    cells: tuple[Cell, ...] = CELLS,
    part_size: int = 100,
    failed: tuple[int, ...] = (),
    seed: int = 0,
    clipped: tuple[dict[str, float], ...] = (),
    causal: bool = False,
) -> Summary:
    """The summary of values (text, cell); `clipped` are shares of each part, by edges."""
    settings = {**PLAN, "plan": {"seed": seed}}
    files = PartFiles.of(folder, -(-len(values) // part_size), settings)
    assert files.verify() == ()
    for number, first in enumerate(range(0, len(values), part_size)):
        rows = values[first : first + part_size]
        texts = tuple(LabelledText(f"text {first + at}") for at in range(len(rows)))
        errors = tuple("too long" if first + at in failed else None for at in range(len(rows)))
        shares = clipped[number].items() if clipped else ()
        made: dict[str, Any] = {
            "edges": {name: {"residual": 0.5, "clipped": share} for name, share in shares}
        }
        made["edges"]["attention"] = {"causal": causal}
        found = PartValues(cells, rows, errors, np.ones(len(rows), np.int32), made)
        files.write(Part(number, first, texts), found)
    return summarize(files.paths(), settings)


@pytest.fixture
def values() -> NDArray[np.float64]:
    """Far from zero, and with values that are undefined: a row, single ones, and a column."""
    rng = np.random.default_rng(0)
    values = rng.normal([5.0, -5.0, 0.1, 0.0], [1.0, 2.0, 0.5, 1.0], (2050, 4))
    values[7] = np.nan
    values[rng.random(len(values)) < 0.1, 1] = np.nan
    values[:, 3] = np.nan
    return values


def test_means_deviations_and_counts_are_those_of_numpy(
    values: NDArray[np.float64], tmp_path: Path
) -> None:
    found = _summary(tmp_path, values, failed=(7,))
    assert (found.texts, found.failed, found.errors) == (2050, 1, ((7, "too long"),))
    assert [item.cell for item in found.cells] == list(CELLS)
    for number, item in enumerate(found.cells[:3]):
        own = values[~np.isnan(values[:, number]), number]
        assert item.defined == len(own)
        assert item.undefined == len(values) - 1 - len(own)
        assert item.mean == pytest.approx(own.mean(), abs=1e-9)
        assert item.std == pytest.approx(own.std(), abs=1e-9)
    nothing = found.cells[3]
    assert (nothing.defined, nothing.undefined) == (0, 2049)
    assert all(map(math.isnan, nothing[1:5]))


def test_the_interval_is_that_of_the_bootstrap(values: NDArray[np.float64], tmp_path: Path) -> None:
    found, rng = _summary(tmp_path, values), np.random.default_rng(1)
    for number in range(3):
        own = values[~np.isnan(values[:, number]), number]
        drawn = rng.integers(0, len(own), (2000, len(own)))  # with replacement
        low, high = np.percentile(own[drawn].mean(axis=1), [2.5, 97.5])
        item = found.cells[number]
        width = high - low
        assert item.low == pytest.approx(low, abs=0.1 * width)
        assert item.high == pytest.approx(high, abs=0.1 * width)


def test_the_weights_of_the_bootstrap_are_poisson() -> None:
    table = _poisson()
    counts = np.bincount(table.astype(int)) / len(table)
    expected = [math.exp(-1) / math.factorial(k) for k in range(len(counts))]
    np.testing.assert_allclose(counts, expected, atol=2**-15)
    assert table.mean() == pytest.approx(1, abs=1e-4)
    assert table.var() == pytest.approx(1, abs=1e-3)


def test_the_bootstrap_is_seeded(values: NDArray[np.float64], tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    a, b = (_summary(tmp_path / name, values) for name in "ab")
    other = _summary(tmp_path / "c", values, seed=1)
    assert a.cells[0] == b.cells[0]
    assert a.cells[0][3:5] != other.cells[0][3:5]
    assert a.cells[0][:3] == other.cells[0][:3]


def test_only_values_and_errors_are_read_of_the_files(
    values: NDArray[np.float64], tmp_path: Path
) -> None:
    expected = _summary(tmp_path, values, failed=(7, 1999))
    files = sorted((tmp_path / "results").iterdir())
    assert len(files) == 21
    for path in files[1:]:  # the cells are those of the first
        table = parquet.read_table(path)
        names = (
            ["text_id", "value", "error"] if table["error"].null_count < len(table) else ["value"]
        )
        kept = table.select(names)
        # A file without this column could not say that it has no errors.
        kept = kept if "error" in names else kept.append_column("error", pa.nulls(len(kept)))
        parquet.write_table(kept, path)
    found = summarize(files, {**PLAN, "plan": {"seed": 0}})
    assert found.text() == expected.text()
    assert found.csv() == expected.csv()
    assert found.errors == ((7, "too long"), (1999, "too long"))


def test_one_text_has_no_spread(tmp_path: Path) -> None:
    found = _summary(tmp_path, np.array([[0.5, -0.25, 0.0, np.nan]]))
    assert found.cells[0][1:] == (0.5, 0.0, 0.5, 0.5, 1, 0)
    assert found.cells[3][5:] == (0, 1)


def test_failed_texts_alone_have_a_summary(tmp_path: Path) -> None:
    found = _summary(tmp_path, np.full((8, 4), np.nan), failed=tuple(range(8)))
    assert (found.texts, found.failed) == (8, 8)
    assert len(found.errors) == 5  # the first few
    assert [item.defined for item in found.cells] == [0, 0, 0, 0]
    assert "none" in found.text()
    assert "8 texts, 8 failed" in found.text()


def test_tables_have_a_row_for_each_layer_and_a_column_for_each_method(tmp_path: Path) -> None:
    found = _summary(tmp_path, np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.2, np.nan, 0.4]]))
    text = found.text()
    lines = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
    assert text.startswith("m_1, d & e.txt: 2 texts\n")
    assert "Spearman's rank correlation with input gradient, edges: attention" in text
    assert ["layer", "raw", "flow"] in lines
    (first,) = [line for line in lines if line[0] == "1"]
    assert first[1].startswith("0.20 ± 0.10 [")
    assert first[2] == "0.30 ± 0.00 [0.30, 0.30], 1 undefined"
    assert "| layer |" in found.markdown()
    assert "| 1     |" in found.markdown()


def test_latex_is_escaped(tmp_path: Path) -> None:
    cells = tuple(cell._replace(method=f"{cell.method}_1") for cell in CELLS)
    rows = (*cells, *(Cell(None, "blank_out", None, "input_gradient", "spearman"),))
    found = _summary(tmp_path, np.full((3, 5), 0.5), cells=rows).latex()
    assert found.count(r"\begin{tabular}") == found.count(r"\end{tabular}") == 2
    assert r"layer & raw\_1 & flow\_1 \\" in found
    assert r"blank-out & 0.50 $\pm$ 0.00 [0.50, 0.50] \\" in found
    for line in found.splitlines():
        if not line.startswith("%"):
            assert not re.search(r"(?<!\\)[_%#]", line)
            assert line.count("&") <= 2


# No line begins with the star, which would be a bullet in Markdown.
STAR_LEGEND = (
    "A star (*) marks a mean without texts whose value is undefined; summary.csv has their number."
)
RANDOM = Cell(None, "random", None, "input_gradient", "spearman")
NORMS = tuple(cell._replace(edges="norms") for cell in CELLS)


def test_baselines_are_below_the_table_of_their_metric(tmp_path: Path) -> None:
    found = _summary(tmp_path, np.full((5, 5), 0.5), cells=(*CELLS, RANDOM))
    (table,) = groups(found)
    assert table.baselines == {"random": found.cells[-1]}
    assert found.text().count("random") == 1


def test_several_edge_weights_are_one_table_with_layers_across(tmp_path: Path) -> None:
    values = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, -0.8, 0.0]] * 2)
    values[0, 4] = np.nan
    cells = (*CELLS, *NORMS, RANDOM)
    # Another metric, of which less is better; its values are the same.
    other = tuple(cell._replace(importance=None, metric="log_odds") for cell in cells)
    found = _summary(tmp_path, np.tile(values, 2), cells=(*cells, *other))
    (first, second) = groups(found)
    assert (first.edges, first.layers) == (["attention", "norms"], [1, 2])
    assert list(first.rows) == [
        ("attention", "raw"), ("attention", "flow"), ("norms", "raw"), ("norms", "flow"),
    ]  # fmt: skip
    assert (first.sign, second.sign) == (1, -1)
    text = found.text()
    tables = text.split("log-odds (less is better)")
    assert len(tables) == 2
    for table in tables:
        lines = [re.split(r" {2,}", line.strip()) for line in table.splitlines()]
        assert ["edges, method", "L1", "L2", "95 % interval, L2"] in lines
        assert ["attention, flow", "0.30", "0.40", "[0.40, 0.40]"] in lines
        assert ["norms, raw", "0.50*", "0.60", "[0.60, 0.60]"] in lines
        assert ["random", "0.00 ± 0.00 [0.00, 0.00]"] in lines
    best = "Best: norms, flow, L1, 0.70 [0.70, 0.70]; at the last layer: norms, raw, L2, 0.60 "
    assert best in tables[0]
    assert "Best: norms, flow, L2, -0.80 [-0.80, -0.80]." in tables[1]
    assert STAR_LEGEND in text.splitlines()
    assert "| edges, method   |" in found.markdown()
    assert r"norms, raw & 0.50* & 0.60 & [0.60, 0.60] \\" in found.latex()


def test_the_share_of_negative_weights_is_the_mean_over_the_texts_of_all_parts(
    tmp_path: Path,
) -> None:
    shares: Any = ({"alti": 0.1, "gradient": 0.5}, {"alti": 0.4, "gradient": 0.5, "norms": 1e-9})
    found = _summary(tmp_path, np.full((6, 4), 0.5), part_size=4, failed=(0, 1, 2), clipped=shares)
    # One text of the first part and two of the second have values.
    assert found.clipped == pytest.approx({"alti": 0.3, "gradient": 0.5, "norms": 1e-9})
    line = "absolute value, mean over texts: 30.0 % of alti, 50.0 % of gradient.\n"
    assert line in found.text()
    assert line in found.markdown()


def test_without_negative_weights_the_summary_has_no_line_about_them(tmp_path: Path) -> None:
    found = _summary(tmp_path, np.full((3, 4), 0.5), clipped=({"effective": 1e-12},))
    assert "Negative weights" not in found.text()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (CELLS, {"Mean ± standard deviation"}),
        (NORMS, {"Mean ± standard deviation", "Raw scores"}),
        ((*CELLS, *NORMS), {"With several edge weights", "Raw scores"}),
        (
            (*CELLS, *NORMS, RANDOM),
            {"Mean ± standard deviation", "With several edge weights", "Raw scores"},
        ),
    ],
)
def test_only_the_tables_that_are_shown_are_explained(
    tmp_path: Path, cells: tuple[Cell, ...], expected: set[str]
) -> None:
    text = _summary(tmp_path, np.full((3, len(cells)), 0.5), cells=cells).text()
    legends = ("Mean ± standard deviation", "With several edge weights", "Raw scores")
    assert {legend for legend in legends if legend in text} == expected


def test_of_a_decoder_it_says_that_scores_are_the_papers(tmp_path: Path) -> None:
    for name in ("encoder", "decoder"):
        (tmp_path / name).mkdir()
        causal = name == "decoder"
        found = _summary(tmp_path / name, np.full((3, 4), 0.5), causal=causal)
        assert found.causal == causal
        kept = "attention sinks are kept, and nothing is corrected for the receptive field."
        assert (kept in found.text()) == (kept in found.latex()) == causal


def test_the_best_of_many_cells_is_called_lucky_and_the_only_one_not(tmp_path: Path) -> None:
    for name in ("many", "one"):
        (tmp_path / name).mkdir()
    luck = "The best of many cells is better partly by luck."
    many = _text(np.full((3, 4), 0.5), tmp_path / "many")
    assert many.count("Best: ") == many.count(luck) == 1
    one = _summary(tmp_path / "one", np.full((3, 1), 0.5), cells=CELLS[:1]).text()
    assert "Best: " in one
    assert luck not in one


def test_importance_is_named_as_people_write_it(tmp_path: Path) -> None:
    cells = [cell._replace(importance="blank_out") for cell in CELLS]
    text = _summary(tmp_path, np.full((3, 4), 0.5), cells=tuple(cells)).text()
    assert "Spearman's rank correlation with blank-out" in text


def test_a_star_is_explained_with_one_edge_weight_too(tmp_path: Path) -> None:
    values = np.full((3, 4), [0.1, 0.2, 0.3, 0.9])
    for name in ("defined", "undefined"):
        (tmp_path / name).mkdir()
    assert STAR_LEGEND not in _text(values, tmp_path / "defined")
    values[0, 3] = np.nan
    found = _text(values, tmp_path / "undefined")
    assert "Best: flow, L2, 0.90* [0.90, 0.90]" in found
    assert STAR_LEGEND in found.splitlines()


def test_the_best_cell_is_one_that_most_texts_define(tmp_path: Path) -> None:
    values = np.full((5, 4), [0.1, 0.2, 0.3, 0.9])
    values[:3, 3] = np.nan
    assert "Best: flow, L1, 0.30 [0.30, 0.30]; at the last layer: raw, L2" in _text(
        values, tmp_path
    )


def test_no_cell_is_the_best_if_none_is_defined(tmp_path: Path) -> None:
    assert "Best" not in _text(np.full((5, 4), np.nan), tmp_path)


def _text(values: NDArray[np.float64], folder: Path) -> str:
    return _summary(folder, values).text()


def test_a_figure_has_a_panel_for_each_metric_and_edge_weight(tmp_path: Path) -> None:
    cells = (*CELLS, *NORMS, RANDOM)
    other = tuple(cell._replace(importance="blank_out") for cell in cells)
    rng = np.random.default_rng(0)
    found = _summary(tmp_path, rng.random((5, 2 * len(cells))), cells=(*cells, *other))
    save_summary(found, tmp_path)
    drawn = (tmp_path / "summary.svg").read_text("utf-8")
    axes = re.findall(r'<g id="(axes_\d+)">', drawn)
    assert len(set(axes)) == 4


def test_csv_has_every_number(values: NDArray[np.float64], tmp_path: Path) -> None:
    found = _summary(tmp_path, values, failed=(7,))
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == len(CELLS)
    for row, item in zip(rows, found.cells, strict=True):
        assert (row["method"], row["layer"]) == (item.cell.method, str(item.cell.layer))
        for name in ("mean", "std", "low", "high"):
            number = getattr(item, name)
            assert row[name] == "" if math.isnan(number) else float(row[name]) == number
        assert (row["undefined"], row["failed"]) == (str(item.undefined), "1")


def test_a_run_writes_its_summary_in_all_formats(tmp_path: Path) -> None:
    done = run_stand_in(write_texts(tmp_path / "texts.txt"), tmp_path / "run")
    assert [path.name for path in done.summaries] == [
        "summary.csv", "summary.md", "summary.svg", "summary.tex", "summary.txt",
    ]  # fmt: skip
    written = {path.suffix: path.read_text("utf-8") for path in done.summaries}
    assert written[".txt"] == done.summary.text()
    assert written[".md"] == done.summary.markdown()
    assert written[".tex"] == done.summary.latex()
    assert written[".csv"] == done.summary.csv()
    assert written[".svg"].startswith("<?xml")
    assert "text_id 2 failed: it fails" in written[".txt"]


def test_without_matplotlib_there_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "matplotlib" else 1
    )
    done = run_stand_in(write_texts(tmp_path / "texts.txt"), tmp_path / "run")
    assert len(done.summaries) == 4


def test_a_full_disk_at_the_figure_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    found = _summary(tmp_path, np.full((3, 4), 0.5))
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    message = (
        r"summary\.svg cannot be written: No space left on device\. Free space or fix .* again"
    )
    with pytest.raises(InputError, match=message):
        save_summary(found, tmp_path)
    assert (tmp_path / "summary.txt").exists()


def test_one_text_is_one_text(tmp_path: Path) -> None:
    for count, expected in ((1, "m_1, d & e.txt: 1 text"), (2, "m_1, d & e.txt: 2 texts")):
        folder = tmp_path / str(count)
        folder.mkdir()
        assert _summary(folder, np.full((count, 4), 0.5)).text().splitlines()[0] == expected
