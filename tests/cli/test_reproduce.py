"""`attnflow reproduce`: tables with the paper's numbers, on few generated sentences."""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from attnflow.paper.model import SHIPPED

Run = Callable[..., Result]
FEW = ["--samples", 5]


@pytest.mark.parametrize("table", ["table-1", "table-2"])
def test_tables_are_printed_with_the_papers_numbers(run: Run, table: str) -> None:
    result = run("reproduce", table, *FEW)
    assert result.exit_code == 0, result.stderr
    title, *lines = result.stdout.splitlines()
    assert title.startswith(f"Table {table[-1]}: ")
    assert title.endswith("5 generated sentences (no --data)")
    names = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert names == ["", "raw", "raw, paper", "rollout", "rollout, paper", "flow", "flow, paper"]
    assert {"table-1": "0.69 ± 0.27", "table-2": "0.53 ± 0.33"}[table] in result.stdout
    assert lines[-1].endswith("; parts overlap in time")
    assert ("the norm over dimensions" in result.stdout) == (table == "table-2")


def test_both_tables_together_are_those_of_each_alone(run: Run) -> None:
    both = json.loads(run("reproduce", "tables", *FEW, "--json").stdout)
    assert len(both) == 2
    for number, document in enumerate(both, start=1):
        alone = json.loads(run("reproduce", f"table-{number}", *FEW, "--json").stdout)
        assert document["title"] == alone["title"]
        assert document["rows"].keys() == alone["rows"].keys() != set()
        for name, row in document["rows"].items():
            assert row["mean"] == pytest.approx(alone["rows"][name]["mean"], abs=1e-6)
    printed = run("reproduce", "tables", *FEW).stdout
    assert [line[:7] for line in printed.splitlines() if line[:5] == "Table"] == [
        "Table 1",
        "Table 2",
    ]


@pytest.mark.parametrize("table", ["table-1", "table-2"])
def test_as_published_names_what_the_papers_code_did(run: Run, table: str) -> None:
    result = run("reproduce", table, *FEW, "--as-published")
    assert result.exit_code == 0, result.stderr
    assert "the formula without ties on dense ranks" in result.stdout
    done = {"table-1": "replaced by [PAD]", "table-2": "which is rounding alone"}[table]
    assert done in result.stdout


def test_several_models_are_averaged(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        _ = shutil.copytree(SHIPPED, tmp_path / "runs" / name)
    a, b = tmp_path / "runs" / "a", tmp_path / "runs" / "b"
    listed, found = (
        json.loads(run("reproduce", "table-2", *FEW, "--json", "--models", *folders).stdout)
        for folders in ([a, b], [tmp_path / "runs"])
    )
    alone = json.loads(run("reproduce", "table-2", *FEW, "--json", "--model", a).stdout)
    assert alone["models"] is None
    for document in (listed, found):
        assert document["models"] == [str(a), str(b)]
        assert document["sentences"] == 5
        assert document["source"].endswith("mean ± standard deviation over 2 models")
        assert document["rows"].keys() == alone["rows"].keys() != set()
        for name, row in document["rows"].items():  # the models are the same
            assert row["mean"] == pytest.approx(alone["rows"][name]["mean"])
            assert row["std"] == pytest.approx([0.0] * 6, abs=1e-9)


def test_models_may_be_given_one_by_one(run: Run, tmp_path: Path) -> None:
    _ = shutil.copytree(SHIPPED, tmp_path / "a")
    options = ["--json", "--models", SHIPPED, "--models", tmp_path / "a"]
    document = json.loads(run("reproduce", "table-2", *FEW, *options).stdout)
    assert document["models"] == [str(SHIPPED), str(tmp_path / "a")]


def test_one_model_has_the_table_of_that_model_and_no_deviation_over_models(
    run: Run, tmp_path: Path
) -> None:
    _ = shutil.copytree(SHIPPED, tmp_path / "runs" / "a")
    alone, listed = (
        run("reproduce", "table-2", *FEW, *options).stdout.splitlines()
        for options in (["--model", tmp_path / "runs" / "a"], ["--models", tmp_path / "runs"])
    )
    assert listed[0] == f"{alone[0]}, one model: mean ± standard deviation over sentences"
    assert listed[1:-1] == alone[1:-1]  # the last line is times
    assert "| flow " in "".join(alone)


@pytest.mark.parametrize("table", ["table-1", "table-2"])
def test_the_usage_names_the_folders_of_several_models(run: Run, table: str) -> None:
    usage, *rest = run("reproduce", table, "--help").stdout.splitlines()
    assert usage == f"Usage: attnflow reproduce {table} [OPTIONS] [FOLDER]..."
    assert any("The folders after the first one of --models." in line for line in rest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["folder"], "several folders go after --models"),
        (["--models", "nowhere", "nowhere"], "nowhere twice"),
        (["--models", "a", "b", "--model", "c"], "has no meaning with --models"),
    ],
)
def test_options_that_contradict_are_errors(run: Run, options: list[str], message: str) -> None:
    result = run("reproduce", "table-1", *FEW, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_folder_of_a_model_that_does_not_exist_is_an_error(run: Run) -> None:
    result = run("reproduce", "table-1", *FEW, "--models", "nowhere")
    assert result.exit_code != 0
    assert "the folder nowhere does not exist" in result.stderr


def test_one_model_is_not_counted_twice(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(SHIPPED)
    result = run("reproduce", "table-1", *FEW, "--models", SHIPPED, tmp_path / "link")
    assert result.exit_code == 2
    assert "expected different folders" in result.stderr


def test_as_published_has_no_other_settings(run: Run) -> None:
    result = run("reproduce", "table-1", *FEW, "--as-published", "--replace", "unk")
    assert result.exit_code != 0
    assert "error: --replace must be left out with --as-published, got 'unk'" in result.stderr


def test_the_gradient_sum_is_shown_to_be_rounding(run: Run) -> None:
    result = run("reproduce", "gradient-sum", *FEW)
    assert result.exit_code == 0, result.stderr
    assert "it is rounding" in result.stdout
    document = json.loads(run("reproduce", "gradient-sum", *FEW, "--json").stdout)
    assert document["texts"] == 5
    assert document["float64"] < 1e-12 < document["float32"]


def test_json_has_means_deviations_and_what_the_paper_has(run: Run) -> None:
    document = json.loads(run("reproduce", "table-1", *FEW, "--json").stdout)
    assert document["sentences"] == 5
    assert document["layers"] == [1, 2, 3, 4, 5, 6]
    for name in ("raw", "rollout", "flow"):
        assert len(document["rows"][name]["mean"]) == len(document["paper"][name]["mean"]) == 6
        assert document["rows"][name]["undefined"] == [0] * 6
    assert document["paper"]["flow"]["mean"][5] == 0.70
    assert {"blank_out", "rollout", "flow"} <= set(document["settings"]["seconds"])


def test_the_numbers_of_every_sentence_are_kept(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    result = run("reproduce", "table-1", *FEW, "--out", out, "--json")
    assert result.exit_code == 0
    with (tmp_path / "table.csv.sentences.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    mean = json.loads(result.stdout)["rows"]["flow"]["mean"][5]
    assert sum(float(row["flow_6"]) for row in rows) / 5 == pytest.approx(mean)
    assert str(out) in result.stderr


def test_a_seed_chooses_the_sentences(run: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        out = tmp_path / f"{name}.csv"
        assert run("reproduce", "table-2", *FEW, "--seed", seed, "--out", out).exit_code == 0
    texts = {name: (tmp_path / f"{name}.csv.sentences.csv").read_text("utf-8") for name in "abc"}
    assert texts["a"] == texts["b"] != texts["c"]


def test_subjects_have_shares_for_methods_and_importance(run: Run) -> None:
    result = run("reproduce", "subject", *FEW)
    assert result.exit_code == 0
    for name in ("raw", "rollout", "flow", "blank_out", "input_gradient", "chance"):
        assert f"| {name} " in result.stdout
    assert "±" not in result.stdout


def test_entropy_has_a_share_for_every_method_and_layer(run: Run) -> None:
    result = run("reproduce", "entropy", *FEW, "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert list(rows) == ["raw", "rollout", "flow"]
    for row in rows.values():
        assert len(row["mean"]) == 6
        assert all(0 < value <= 1 for value in row["mean"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["table-1", "--out", "table.txt"], 2, "ends in .md"),
        (["table-1", "--out", "no/such/table.md"], 2, "does not exist"),
        (["table-1", "--samples", "0"], 2, "--samples"),
        (["table-1", "--samples", "1000000000"], 2, "at most 100000"),
        (["table-1", "--out", f"{'x' * 300}.md"], 2, "cannot be written"),
        (["table-1", "--data", "."], 1, "numpred.val"),
        (["table-1", "--model", "."], 1, "not a verb-number model"),
        (["table-9"], 2, "table-9"),
    ],
)
def test_bad_input_is_an_error_before_any_work(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_printed_is_in_the_file(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    command = [Path(sys.executable).with_name("attnflow"), "reproduce", "table-1", "--out", out]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([*command, "--samples", "1"], stdout=full, check=False)
    assert result.returncode == 1
    assert "| flow " in out.read_text("utf-8")
