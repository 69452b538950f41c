"""`attnflow train sst2` and `attnflow reproduce table-3`: what they print and what they refuse."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from attnflow import models, paper
from attnflow.models import Loaded
from attnflow.paper.sentiment import _train

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(small_sentiment: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sentiment classifier of six layers."""
    path = tmp_path_factory.mktemp("models") / "sentiment"
    small_sentiment.model.save_pretrained(path)
    small_sentiment.tokenizer.save_pretrained(path)
    return path


# ---- train sst2 -----------------------------------------------------------------------------


def test_training_reports_the_accuracy_on_dev(
    run: Run, small_base: Path, small_sst2: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    options = ("--base", small_base, "--data", small_sst2.parent, "--out", out, "--epochs", 1)
    result = run("train", "sst2", *options)
    assert result.exit_code == 0, result.stderr
    assert "epoch 1 of 1: loss" in result.stderr
    assert "accuracy: 0." in result.stdout
    assert "of 20)" in result.stdout
    assert models.load(out).model.config.id2label == {0: "negative", 1: "positive"}
    again = run("train", "sst2", *options, "--json")  # the finished run
    document = json.loads(again.stdout)
    assert (document["train_sentences"], document["dev_sentences"]) == (96, 20)
    assert 0 <= document["dev_accuracy"] <= 1
    assert document["recipe"]["epochs"] == 1


def test_ctrl_c_says_how_to_resume(
    run: Run, small_base: Path, small_sst2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_train, "write_checkpoint", stop)
    options = ("--base", small_base, "--data", small_sst2, "--out", tmp_path / "run", "--bf16")
    result = run("train", "sst2", *options)
    assert result.exit_code == 130
    expected = f"To start again: attnflow train sst2 --base {small_base} --data {small_sst2}"
    assert f"interrupted; nothing is saved yet. {expected}" in result.stderr
    assert "--epochs 2 --bf16" in result.stderr


@pytest.mark.parametrize("option", ["--base", "--data"])
def test_folders_that_do_not_exist_are_named(
    run: Run, small_base: Path, small_sst2: Path, tmp_path: Path, option: str
) -> None:
    options = {"--base": small_base, "--data": small_sst2, "--out": tmp_path / "run"}
    options[option] = tmp_path / "nowhere"
    result = run("train", "sst2", *(part for pair in options.items() for part in pair))
    assert result.exit_code == 1
    assert "nowhere" in result.stderr
    assert not (tmp_path / "run").exists()


# ---- reproduce table-3 ----------------------------------------------------------------------


def test_the_table_has_the_papers_numbers_and_the_accuracy(
    run: Run, folder: Path, small_sst2: Path, tmp_path: Path
) -> None:
    out = tmp_path / "table.md"
    options = ("--model", folder, "--data", small_sst2, "--out", out)
    result = run("reproduce", "table-3", *options)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].endswith("input gradients, 20 sentences of the dev split of SST-2")
    assert "scores of [CLS]" in lines[2]
    assert "gradients of the prediction: the norm over dimensions" in lines[2]
    assert "on these sentences" in lines[2]
    assert "0.12 ± 0.21 |" in result.stdout
    assert out.read_text().startswith(lines[0])


def test_json_is_one_document(run: Run, folder: Path, small_sst2: Path) -> None:
    options = ("--model", folder, "--data", small_sst2, "--samples", 3, "--json")
    document = json.loads(run("reproduce", "table-3", *options).stdout)
    assert (document["sentences"], document["layers"]) == (3, [1, 3, 5, 6])
    assert document["paper"]["flow"]["mean"] == [0.11, 0.11, 0.12, 0.14]
    assert document["settings"]["plan"]["row"] == "cls"
    assert 0 <= document["settings"]["accuracy"] <= 1


def test_as_published_is_101_sentences_of_the_test_split(
    run: Run, folder: Path, small_sst2: Path
) -> None:
    options = ("--model", folder, "--data", small_sst2, "--as-published")
    result = run("reproduce", "table-3", *options)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].endswith("101 sentences of the test split of SST-2")
    for part in ("maximum over positions", "logit of positive", "rounding", "embedded again"):
        assert part in lines[2]
    assert "dense ranks" in lines[2]
    document = json.loads(run("reproduce", "table-3", *options, "--samples", 2, "--json").stdout)
    assert document["sentences"] == 2
    plan = document["settings"]["plan"]
    assert (plan["row"], plan["normalize"], plan["target"]) == ("max", True, 1)
    assert (plan["score"], plan["reduce"], plan["metrics"]) == (
        "logit",
        "raw_sum",
        ["dense_spearman"],
    )
    assert document["settings"]["embedded_twice"] is True


def test_the_ablation_has_a_line_for_each_setting(
    run: Run, folder: Path, small_sst2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "AS_PUBLISHED_TEXTS", 4)
    options = ("--model", folder, "--data", small_sst2, "--samples", 3, "--ablation")
    text = run("reproduce", "table-3", *options).stdout
    lines = text.splitlines()
    assert lines[0].startswith("Table 3, layer 6: means of the rank correlation")
    assert len([line for line in lines if line.startswith("| ")]) == 8
    assert "| sum of the gradient " in text
    document = json.loads(run("reproduce", "table-3", *options, "--json").stdout)
    assert document["sentences"] == [3, 4]
    assert len(document["settings"]) == 7
    assert [len(row) for row in document["settings"]["texts"]["all_but_it"].values()] == [4, 4, 4]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub with no models, and a hub that must not be asked."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.file_download.get_hf_file_metadata", _no_network)
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    monkeypatch.chdir(tmp_path)
    return cache


def _no_network(*_: object, **__: object) -> None:
    raise AssertionError("the network was asked")


def test_the_model_of_the_paper_that_is_not_at_hand_says_so_without_the_network(
    run: Run, small_sst2: Path, empty_cache: Path
) -> None:
    result = run("reproduce", "table-3", "--data", small_sst2)
    assert result.exit_code == 1
    message = " ".join(result.stderr.split())
    name = "distilbert-base-uncased-finetuned-sst-2-english"
    assert f"{name} is neither a folder here nor in the cache of the hub" in message
    assert f"hf download distilbert/{name}" in message
    assert "attnflow train sst2 --base FOLDER --data DIR --out OUT" in message
    assert list(empty_cache.iterdir()) == []


@pytest.mark.parametrize("organisation", ["", "distilbert--"])
def test_the_model_of_the_paper_is_found_in_the_cache(
    run: Run, small_sst2: Path, folder: Path, empty_cache: Path, organisation: str
) -> None:
    model = empty_cache / f"models--{organisation}distilbert-base-uncased-finetuned-sst-2-english"
    commit = "0" * 40
    _ = shutil.copytree(folder, model / "snapshots" / commit)
    (model / "refs").mkdir()
    _ = (model / "refs" / "main").write_text(commit)
    result = run("reproduce", "table-3", "--data", small_sst2, "--samples", 2)
    assert result.exit_code == 0, result.stderr
    assert "model distilbert-base-uncased-finetuned-sst-2-english" in result.stdout


def test_a_model_that_was_named_and_is_not_there_has_its_own_error(
    run: Run, small_sst2: Path, tmp_path: Path
) -> None:
    result = run("reproduce", "table-3", "--model", tmp_path / "nowhere", "--data", small_sst2)
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr
    assert "train sst2" not in result.stderr


def test_a_model_of_two_layers_is_an_error(run: Run, small_base: Path, small_sst2: Path) -> None:
    result = run("reproduce", "table-3", "--model", small_base, "--data", small_sst2)
    assert result.exit_code == 1
    assert "BertModel has 2 layers" in result.stderr


def test_a_model_without_a_head_is_an_error_that_names_commands_which_take_it(
    run: Run, small_sentiment: Loaded, small_sst2: Path, tmp_path: Path
) -> None:
    base: Any = small_sentiment.model.base_model
    base.save_pretrained(tmp_path)
    small_sentiment.tokenizer.save_pretrained(tmp_path)
    result = run("reproduce", "table-3", "--model", tmp_path, "--data", small_sst2)
    assert result.exit_code == 1
    assert "this model makes no prediction that could be explained; attnflow view" in result.stderr


def test_without_data_the_command_says_what_is_expected(run: Run, folder: Path) -> None:
    result = run("reproduce", "table-3", "--model", folder)
    assert result.exit_code == 2
    assert "expected the folder of SST-2 with dev.tsv" in " ".join(result.stderr.split())


def test_options_that_exclude_each_other_are_usage_errors(
    run: Run, folder: Path, small_sst2: Path, tmp_path: Path
) -> None:
    given = ("--model", folder, "--data", small_sst2, "--ablation")
    for more in (("--as-published",), ("--out", tmp_path / "table.md")):
        result = run("reproduce", "table-3", *given, *more)
        assert result.exit_code == 2
        assert "leave out --as-published and --out" in " ".join(result.stderr.split())


def test_help_loads_no_torch() -> None:
    code = (
        "import sys; from attnflow.cli import main; sys.argv = ['attnflow', *sys.argv[1:]]; main()"
    )
    for words in (("train", "sst2"), ("reproduce", "table-3")):
        program = f"{code}; assert 'torch' not in sys.modules"
        done = subprocess.run(
            [sys.executable, "-c", program, *words, "--help"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
