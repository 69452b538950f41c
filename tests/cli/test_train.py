import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from attnflow import paper
from attnflow.cli import _train as command
from attnflow.cli._train_bar import train_bar
from attnflow.paper import ACCURATE_RECIPE, EpochLog, Mix, Recipe
from attnflow.paper.training import MAX_SEED

Run = Callable[..., Result]
OnTerminal = Callable[..., str]
SMALL = replace(ACCURATE_RECIPE, epochs=2, batch_size=32, warmup_steps=5, mix=Mix(generated=0))
SENTENCES = 120
# The program with fewer sentences than its default.
PROGRAM = f"""
import sys
from attnflow.cli import _train, main
from attnflow.paper import *
_train._SENTENCES, _train.SMALL_RECIPE = {SENTENCES}, {SMALL!r}
sys.argv[0] = "attnflow"
main()
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_SENTENCES", SENTENCES)
    monkeypatch.setattr(command, "SMALL_RECIPE", SMALL)


def _program(*arguments: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "train", "verb-number", *map(str, arguments)]


def _data(folder: Path) -> Path:
    """A folder of all files, with two rows that cannot be read."""
    (folder / "linzen").mkdir(parents=True)
    (folder / "linzen-sentences").mkdir()
    tags = ("VBZ", "VBP")
    made = iter(paper.generate(900, seed=3))
    for name, count in [("val", 200), *((f"test.{k}", 100) for k in range(1, 6))]:
        rows = [f"{tags[p.number]}\t{' '.join(p.words)}" for p, _ in zip(made, range(count))]  # noqa: B905
        if name == "val":
            rows[4:4] = ["VBD\tthe key", "VBZ the key"]
        _ = (folder / "linzen" / f"numpred.{name}").write_text("\n".join(rows))
    for name in ("wiki-dev.txt", "wiki-test.txt"):
        lines = ["sentence\tsubj_idx\tverb_idx\tverb_pos"]
        for p, _ in zip(made, range(60)):  # noqa: B905
            words = " ".join((*p.words, ("is", "are")[p.number]))
            lines.append(f"{words}\t{p.subject}\t{len(p.words)}\t{tags[p.number]}")
        _ = (folder / "linzen-sentences" / name).write_text("\n".join(lines))
    return folder


def test_without_data_it_trains_on_generated_sentences_and_says_so(
    run: Run, tmp_path: Path
) -> None:
    result = run("train", "verb-number", "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert "note: training on" in result.stderr
    assert "generated sentences, since there is no --data" in result.stderr
    assert result.stderr.count("epoch ") == 2
    assert "epoch 1 of 2: loss" in result.stderr
    assert "only for resuming" in result.stdout
    assert "accuracy: " in result.stdout
    assert paper.load(tmp_path / "run").tokenizer is not None


def test_json_is_one_document(run: Run, tmp_path: Path) -> None:
    result = run("train", "verb-number", "--out", tmp_path / "run", "--epochs", "1", "--json")
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["files"] == [
        "README.md", "checkpoint.safetensors", "config.json", "model.safetensors",
        "vocabulary.json",
    ]  # fmt: skip
    assert document["recipe"]["epochs"] == 1
    assert document["data"] is None
    assert 0 <= document["accuracies"]["test"]["distinct"] <= 1
    attractors = document["accuracies"]["test_attractors"]
    assert attractors
    assert set(attractors) <= {"0", "1", "2", "3"}
    assert document["seconds"] > 0


def test_malformed_rows_are_counted_and_shown_and_the_rest_is_trained_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Recipe", lambda: SMALL)
    data = _data(tmp_path / "data")
    result = run("train", "verb-number", "--data", data, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "note: 2 rows could not be read and are left out:" in result.stderr
    file = data / "linzen" / "numpred.val"
    assert f"{file}, line 5: expected verb tag VBZ or VBP, got 'VBD'" in result.stderr
    assert f"{file}, line 6: expected 2 tab-separated fields, got 1" in result.stderr
    card = (tmp_path / "run" / "README.md").read_text("utf-8")
    assert re.search(r"\| numpred.val +\| +200 \| +2 \|", card)
    assert "wiki-test prefixes" in result.stdout


def test_a_folder_without_the_data_says_which_files_are_missing(run: Run, tmp_path: Path) -> None:
    result = run("train", "verb-number", "--data", tmp_path, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the folder")
    assert "lacks linzen/numpred.val, linzen/numpred.test.1" in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_with_other_settings_is_an_error_and_nothing_is_touched(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert run("train", "verb-number", "--out", out, "--epochs", "1").exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    result = run("train", "verb-number", "--out", out, "--epochs", "1", "--seed", "3")
    assert result.exit_code == 1
    assert "another run: seed was 0, got 3" in result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_highest_seed_is_that_of_a_recipe(run: Run, tmp_path: Path) -> None:
    _ = Recipe(seed=MAX_SEED)
    out = tmp_path / "run"
    result = run("train", "verb-number", "--out", out, "--seed", MAX_SEED + 1)
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith(
        f"'--seed': Input should be less than or equal to {MAX_SEED}"
    )


@pytest.mark.parametrize("option", ["--epochs", "--threads"])
def test_zero_is_a_usage_error(run: Run, tmp_path: Path, option: str) -> None:
    result = run("train", "verb-number", "--out", tmp_path / "run", option, "0")
    assert result.exit_code == 2
    assert option in result.stderr


def test_ctrl_c_saves_and_the_same_command_resumes_and_ends_with_the_same_model(
    run: Run, tmp_path: Path
) -> None:
    stopped, complete = tmp_path / "a run", tmp_path / "complete"
    with subprocess.Popen(
        _program("--out", stopped), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("epoch 1 of 2"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "interrupted; the run is saved. To resume: " in rest
    assert rest.count("interrupted") == 1
    assert f"attnflow train verb-number --out '{stopped}'" in rest
    assert "Traceback" not in rest
    assert [path.name for path in stopped.iterdir()] == ["checkpoint.safetensors"]
    result = run("train", "verb-number", "--out", stopped)
    assert "resuming after epoch 1 of 2" in result.stderr
    assert run("train", "verb-number", "--out", complete).exit_code == 0
    weights = "model.safetensors"
    assert (stopped / weights).read_bytes() == (complete / weights).read_bytes()


def test_an_interrupted_run_in_bfloat16_is_resumed_in_bfloat16(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[bool] = []

    def interrupted(*_args: Any, recipe: Recipe, **_settings: Any) -> None:
        given.append(recipe.bf16)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", interrupted)
    for options in (["--bf16"], []):
        result = run("train", "verb-number", "--out", tmp_path / "run", *options)
        assert result.exit_code == 130
        assert result.stderr.rstrip().endswith(" ".join([str(tmp_path / "run"), *options]))
    assert given == [True, False]


def test_on_a_terminal_a_bar_shows_loss_and_accuracy_and_a_line_stays(
    on_terminal: OnTerminal, tmp_path: Path
) -> None:
    shown = on_terminal(
        _program("--out", tmp_path / "run"),
        stream="stderr",
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
    )
    assert "epoch 1 of 2: loss" in shown
    assert "accuracy" in shown
    assert "%" in shown
    assert "validation accuracy" in shown


def test_a_closed_stderr_has_nothing_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with train_bar() as bar:
        bar.epoch(EpochLog(1, 0.5, 0.9, 0.3, None, 1.0))


@pytest.mark.parametrize(("option", "value"), [("--recipe", "accurate"), ("--teacher", "folder")])
def test_options_that_need_data_are_errors_without(
    run: Run, tmp_path: Path, option: str, value: str
) -> None:
    result = run("train", "verb-number", option, value, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert f"'{option}': needs --data" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ([], "nothing is saved yet. To start again: "),
        (["checkpoint.safetensors"], "the run is saved. To resume: "),
        (["teacher/checkpoint.safetensors"], "the run is saved. To resume: "),
    ],
)
def test_ctrl_c_says_whether_anything_is_saved(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: list[str], state: str
) -> None:
    def interrupted(*_args: Any, **_settings: Any) -> None:
        for name in files:
            path = tmp_path / "run" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", interrupted)
    result = run("train", "verb-number", "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert f"interrupted; {state}attnflow train verb-number --out" in result.stderr
