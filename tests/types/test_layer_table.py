"""Tables of layers: what the numbers come to, and the files they are written to."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from attnflow._internal.columns import check_table_path
from attnflow.errors import InputError
from attnflow.types import LayerTable

PUBLISHED = {"raw": [(0.69, 0.27), (0.10, 0.43)]}


@pytest.fixture
def table() -> LayerTable:
    values = [[[0.1, 0.5], [0.2, np.nan]], [[0.3, 0.7], [0.6, np.nan]]]
    texts = ["the key, old", 'the "keys"']
    return LayerTable(values, ["raw", "flow"], [1, 2], texts, {"blank_out": [1.0, 0.0]})


def test_means_and_deviations_leave_out_what_is_undefined(table: LayerTable) -> None:
    assert table.mean[0].tolist() == pytest.approx([0.2, 0.6])
    assert table.std[0].tolist() == pytest.approx([0.1, 0.1])
    assert np.isnan(table.mean[1, 1])
    assert table.undefined.tolist() == [[0, 0], [0, 2]]


def test_undefined_numbers_are_counted_where_people_read(table: LayerTable) -> None:
    lines = table.markdown().splitlines()
    assert any(line.startswith("| flow ") and "undefined" in line for line in lines)
    assert any("flow, undefined" in line and line.split("|")[3].strip() == "2" for line in lines)


def test_published_numbers_stand_below_ours(table: LayerTable) -> None:
    names = [line.split("|")[1].strip() for line in table.markdown(PUBLISHED).splitlines()]
    assert names.index("raw, paper") == names.index("raw") + 1
    assert "0.69 ± 0.27" in table.markdown(PUBLISHED)


def test_rows_without_a_layer_have_a_column_of_their_own(table: LayerTable) -> None:
    head, *_, last = table.markdown(std=False).splitlines()
    assert head.split("|")[-2].strip() == "no layer"
    assert [cell.strip() for cell in last.split("|")[1:-1]] == ["blank_out", "", "", "0.50"]


def test_every_line_of_the_text_is_equally_wide(table: LayerTable) -> None:
    assert len({len(line) for line in table.markdown(PUBLISHED).splitlines()}) == 1


def test_a_csv_file_has_means_and_a_second_one_every_number(
    table: LayerTable, tmp_path: Path
) -> None:
    beside = table.save(tmp_path / "table.csv", PUBLISHED)
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        means = list(csv.DictReader(file))
    assert [(row["row"], row["layer"]) for row in means] == [
        ("raw", "1"), ("raw", "2"), ("flow", "1"), ("flow", "2"), ("blank_out", ""),
    ]  # fmt: skip
    assert float(means[0]["mean"]) == pytest.approx(0.2)
    assert means[0]["paper_mean"] == "0.69"
    assert (means[3]["mean"], means[3]["undefined"]) == ("", "2")
    assert json.loads(means[0]["settings"]) == dict(table.settings)
    assert beside == tmp_path / "table.csv.sentences.csv"
    with beside.open(encoding="utf-8", newline="") as file:
        sentences = list(csv.DictReader(file))
    assert [row["text"] for row in sentences] == list(table.texts)
    assert float(sentences[1]["raw_2"]) == 0.7
    assert sentences[0]["flow_2"] == ""


def test_a_parquet_file_has_the_same(table: LayerTable, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    beside = table.save(tmp_path / "table.parquet", PUBLISHED)
    means = parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert means["mean"][:2] == pytest.approx([0.2, 0.6])
    assert means["mean"][3] is None
    sentences = parquet.read_table(beside).to_pydict()
    assert beside.name == "table.parquet.sentences.parquet"
    assert sentences["raw_1"] == [0.1, 0.3]


def test_a_markdown_file_has_the_text(table: LayerTable, tmp_path: Path) -> None:
    beside = table.save(tmp_path / "table.md", PUBLISHED)
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert text == table.markdown(PUBLISHED) + "\n"
    _ = table.save(tmp_path / "table.md", heading="Table 1")
    assert (tmp_path / "table.md").read_text("utf-8") == f"Table 1\n\n{table.markdown()}\n"
    assert beside.name == "table.md.sentences.csv"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table.txt", "expected a name that ends in .md"),
        ("none/table.md", "does not exist"),
        ("folder.md", "is a folder"),
        (f"{'x' * 300}.md", "cannot be written"),
    ],
)
def test_a_path_for_no_table_is_refused_before_any_work(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InputError, match=message):
        _ = check_table_path(tmp_path / name)


def test_numbers_must_fit_rows_layers_and_texts() -> None:
    with pytest.raises(InputError, match=r"expected shape \(1, 1, 2\)"):
        _ = LayerTable([[[0.1]]], ["raw"], [1, 2], ["a"])
    with pytest.raises(InputError, match=r"expected shape \(1,\) \(text\), got \(2,\)"):
        _ = LayerTable([[[0.1]]], ["raw"], [1], ["a"], {"blank_out": [1.0, 2.0]})


def test_notebooks_show_means(table: LayerTable) -> None:
    assert "0.20 ± 0.10" in table._repr_html_()


def test_rows_of_one_name_are_refused_since_files_would_lose_one() -> None:
    with pytest.raises(InputError, match="a name of its own"):
        _ = LayerTable([[[0.1], [0.2]]], ["raw", "raw"], [1], ["a"])
    with pytest.raises(InputError, match="a name of its own"):
        _ = LayerTable([[[0.1]]], ["raw"], [1], ["a"], {"raw": [1.0]})
    with pytest.raises(InputError, match="rows must be a list of strings, got 'ab'"):
        _ = LayerTable([[[0.1], [0.2]]], "ab", [1], ["a"])


def test_published_numbers_must_be_of_as_many_layers(table: LayerTable, tmp_path: Path) -> None:
    published = {"raw": [(0.69, 0.27)]}
    with pytest.raises(
        InputError, match=r"published\['raw'\]: expected 2 pairs, one per layer, got 1"
    ):
        _ = table.markdown(published)
    with pytest.raises(
        InputError, match=r"published\['raw'\]: expected 2 pairs, one per layer, got 1"
    ):
        _ = table.save(tmp_path / "table.csv", published)


def test_a_name_cannot_end_its_cell() -> None:
    table = LayerTable([[[0.1]]], ["a|b\nc"], [1], ["a"])
    assert table.markdown().splitlines()[-1] == r"| a\|b c | 0.10 ± 0.00 |"


def test_a_path_may_be_a_string(table: LayerTable, tmp_path: Path) -> None:
    assert table.save(f"{tmp_path}/table.csv").exists()
