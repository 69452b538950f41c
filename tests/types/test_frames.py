"""Results as long tables: a pandas DataFrame, or a .csv file without pandas."""

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attnflow as af
from attnflow.types import LayerTable

SCORES = np.arange(12, dtype=np.float64).reshape(2, 2, 3) / 8
TOKENS = ["the", "Ġkey", "the"]
RESULT = af.TokenAttention(SCORES, TOKENS, [6, 1], [2, 0], "rollout")
IMPORTANCE = af.Importance([0.25, -0.5, 0.0], TOKENS, "blank_out")
TABLE = LayerTable(
    [[[0.125, np.nan]], [[0.25, 0.5]]], ["raw"], [1, 2], ["a, b", "a, b"], {"blank_out": [1.0, 0.0]}
)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_score_is_a_row() -> None:
    frame = RESULT.to_frame()
    assert list(frame) == ["layer", "query", "position", "token", "score"]
    assert len(frame) == SCORES.size
    for row in frame.itertuples():
        scores = RESULT.row(row.layer, row.query)
        assert row.score == scores[row.position]
        assert row.token == TOKENS[row.position]


def test_equal_tokens_are_different_positions() -> None:
    by_position = RESULT.to_frame().pivot_table(index="query", columns="position", values="score")
    assert by_position.shape == (2, 3)


def test_a_frame_holds_infinite_flow() -> None:
    t = af.TokenAttention([[[0.5, np.inf]]], ["a", "b"], [1], [0], "flow")
    assert t.to_frame()["score"].tolist() == [0.5, np.inf]


def test_importance_is_one_row_for_each_token() -> None:
    frame = IMPORTANCE.to_frame()
    assert list(frame) == ["position", "token", "score"]
    assert frame["score"].tolist() == [0.25, -0.5, 0.0]
    assert frame["token"].tolist() == TOKENS


def test_a_table_is_one_row_for_each_text_row_and_layer() -> None:
    frame = TABLE.to_frame()
    assert list(frame) == ["row", "layer", "text_index", "text", "value"]
    assert len(frame) == 2 * 2 + 2
    raw = frame[frame["row"] == "raw"]
    means = raw.groupby("layer")["value"].mean()
    assert means.tolist() == TABLE.mean[0].tolist()
    assert raw["text_index"].tolist() == [0, 1, 0, 1]  # the two texts are equal
    assert frame["layer"].dtype == "Int64"  # missing, and yet no floats
    assert frame["layer"].isna().tolist() == [False] * 4 + [True] * 2
    assert frame["value"].dtype == np.float64


@pytest.mark.parametrize("result", [RESULT, IMPORTANCE, TABLE], ids=lambda one: type(one).__name__)
def test_a_csv_file_holds_what_the_frame_does(result: Any, tmp_path: Path) -> None:
    result.to_csv(tmp_path / "t.csv")
    read = pd.read_csv(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(read, result.to_frame(), check_dtype=False, check_exact=True)


def test_an_undefined_number_is_an_empty_cell(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "t.csv")
    assert [row["value"] for row in _read(tmp_path / "t.csv")][2:4] == ["", "0.5"]


def test_a_csv_file_holds_tokens_of_any_characters(tmp_path: Path) -> None:
    tokens = ['"', "a,b", "\n", "日", "\ud800"]
    af.Importance(np.zeros(5), tokens, "blank_out").to_csv(str(tmp_path / "i.csv"))
    read = [row["token"] for row in _read(tmp_path / "i.csv")]
    assert read == [*tokens[:4], r"\ud800"]


def test_a_frame_holds_what_the_csv_file_does_of_half_a_surrogate_pair() -> None:
    frame = af.Importance(np.zeros(2), ["日", "\ud800"], "blank_out").to_frame()
    assert frame["token"].tolist() == ["日", r"\ud800"]


@pytest.mark.parametrize("name", ["t.parquet", "t.txt", "none/t.csv"])
def test_a_path_for_no_csv_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(af.InputError, match=r"ends in \.csv|does not exist"):
        RESULT.to_csv(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("result", [RESULT, IMPORTANCE, TABLE], ids=lambda one: type(one).__name__)
def test_without_pandas_the_error_says_what_to_install(
    result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(af.MissingDependencyError, match=r'pip install "pandas>=') as error:
        _ = result.to_frame()
    assert str(error.value).startswith("to_frame needs pandas, which is not installed")
    result.to_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").exists()


def test_pandas_is_loaded_by_to_frame_alone(tmp_path: Path) -> None:
    code = (
        "import sys\nimport attnflow as af\n"
        "t = af.TokenAttention([[[1.0]]], ['a'], [1], [0], 'raw')\n"
        "t.to_csv('t.csv')\nassert 'pandas' not in sys.modules\n"
        "t.to_frame()\nassert 'pandas' in sys.modules"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
