"""`attnflow evaluate`, with the shipped model."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from typer.testing import Result

from attnflow import paper
from attnflow.cli import _evaluate, _evaluate_bar
from attnflow.cli._evaluate_bar import evaluate_bar
from attnflow.evaluate import EvaluationPlan, RunProgress

Run = Callable[..., Result]
OnTerminal = Callable[..., str]
TEXTS = [prefix.text for prefix in paper.generate(6, seed=5)]
QUICK = ("--methods", "raw", "--layers", "6")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    _ = path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return path


def _document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_defaults_are_those_of_the_plan(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("evaluate", "verb-number", data, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("verb-number, texts.txt: 6 texts\n")
    assert result.stdout == (tmp_path / "run" / "summary.txt").read_text("utf-8")
    assert "Spearman's rank correlation with input gradient, edges: attention" in result.stdout
    assert re.search(r"^layer +raw +rollout +flow$", result.stdout, re.MULTILINE)
    assert len(re.findall(r"^[1-6] ", result.stdout, re.MULTILINE)) == 6
    assert f"wrote {tmp_path / 'run'}: results (parts: 1), run.json and" in result.stderr
    settings = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert settings["plan"] == EvaluationPlan().to_dict()
    table = pyarrow.dataset.dataset(tmp_path / "run" / "results").to_table()
    assert len(table) == 6 * 18


def test_a_run_whose_texts_all_failed_ends_with_an_error(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "blank.txt"
    _ = data.write_text(" \n \n", encoding="utf-8")
    result = run("evaluate", "verb-number", data, "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 1
    assert "all texts failed, the first:" in result.stderr
    assert (tmp_path / "run" / "summary.txt").exists()


@pytest.mark.parametrize(
    "command", [("evaluate", "verb-number"), ("explain", "--model", "verb-number")]
)
def test_a_device_that_cannot_be_used_is_an_error(
    run: Run, data: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    rest = (data, "--out", tmp_path / "run") if command[0] == "evaluate" else ("the key",)
    result = run(*command, *rest, "--device", "nonsense")
    assert result.exit_code == 1
    assert "the device 'nonsense' cannot be used" in result.stderr


def test_every_setting_of_the_plan_is_an_option(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    rows = [f'"{text}",plural,1' for text in TEXTS]
    _ = data.write_text("\n".join(["words,number,subject", *rows]), encoding="utf-8")
    given = {
        "edges": "attention,norms", "methods": "raw,rollout", "layers": "2,5-6", "row": "-1",
        "importance": "blank_out,integrated_gradients", "metrics": "kendall,top_k,pointing",
        "target": "label", "replace": "unk", "reduce": "input", "steps": 3, "k": 2, "bins": "10,50",
        "baselines": "random", "draws": 2, "seed": 7, "text-column": "words",
        "label-column": "number", "position-column": "subject", "limit": 3, "part-size": 2,
        "threads": 1,
    }  # fmt: skip
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    out = tmp_path / "run"
    document = _document(
        run("evaluate", "verb-number", data, "--out", out, *options, "--no-special", "--truncate",
            "--json")
    )  # fmt: skip
    plan = EvaluationPlan(
        edges=("attention", "norms"), methods=("raw", "rollout"), layers=(2, 5, 6), row=-1,
        importance=("blank_out", "integrated_gradients"), metrics=("kendall", "top_k", "pointing"),
        target="label", replace="unk", reduce="input", steps=3, k=2, bins=(10.0, 50.0),
        special=False, truncate=True, baselines=("random",), draws=2, seed=7,
    )  # fmt: skip
    assert document["settings"]["plan"] == plan.to_dict()
    data_settings = document["settings"]["data"]
    assert (data_settings["text_column"], data_settings["label_column"]) == ("words", "number")
    assert data_settings["position_column"] == "subject"
    assert (document["texts"], document["parts"], document["failed"]) == (3, 2, 0)
    assert document["settings"]["threads"] == 1
    assert len(document["cells"]) == len(plan.cells(6))
    first = document["cells"][0]
    assert first["low"] <= first["mean"] <= first["high"]


def test_a_run_is_resumed_and_damage_is_noted(run: Run, data: Path, tmp_path: Path) -> None:
    command = ("evaluate", "verb-number", data, "--out", tmp_path / "run", *QUICK)
    command = (*command, "--part-size", 2)
    first = run(*command)
    assert first.exit_code == 0, first.stderr
    files = sorted((tmp_path / "run" / "results").iterdir())
    files[0].unlink()
    _ = files[1].write_bytes(b"damaged")
    again = run(*command)
    assert again.exit_code == 0, again.stderr
    assert again.stdout == first.stdout
    assert "resuming: 2 of 6 texts are done" in again.stderr
    assert f"note: 1 damaged files were computed again: {files[1].name}" in again.stderr
    assert "parts: 3, of earlier runs: 1" in again.stderr


def test_a_model_without_a_head_is_an_error_that_names_commands_which_take_it(
    run: Run, data: Path, tmp_path: Path
) -> None:
    import transformers as hf
    from tokenizers import Tokenizer, models

    named: Any = {"unk_token": "[UNK]"}
    words = Tokenizer(models.WordLevel({"[UNK]": 0}, **named))
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=words, **named)
    _ = tokenizer.save_pretrained(tmp_path / "model")
    sizes: Any = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    config = hf.BertConfig(vocab_size=1, num_hidden_layers=1, **sizes)
    hf.BertModel(config).save_pretrained(tmp_path / "model")
    result = run("evaluate", tmp_path / "model", data, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert "this model makes no prediction that could be explained; attnflow view" in result.stderr


def test_another_model_folder_is_named_by_its_folder(run: Run, data: Path, tmp_path: Path) -> None:
    import shutil

    from attnflow.paper.model import SHIPPED

    folder = shutil.copytree(SHIPPED, tmp_path / "mine")
    document = _document(
        run("evaluate", folder, data, "--out", tmp_path / "run", *QUICK, "--limit", 1, "--json")
    )
    assert document["settings"]["model"]["name"] == "mine"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--methods", "row"), 1, "--methods: expected one of raw, rollout, flow, got 'row'"),
        (("--methods", "raw,raw"), 2, "expected distinct names, got 'raw,raw'"),
        (("--layers", "7"), 1, "--layers must be 1 to 6, got 7"),
        (("--layers", "x"), 2, "expected integers such as"),
        (("--bins", "a"), 2, "expected numbers separated by commas, got 'a'"),
        (("--replace", "nope"), 1, "--replace: expected unk, .* or the id of a token, got 'nope'"),
        (("--row", "middle"), 1, "--row: expected read, cls"),
        (("--text-column", "words"), 1, "--text-column: .* has no column 'words'"),
        (("--label-column", "text"), 1, "--label-column must be left out without --target label"),
        (("--workers", "2"), 1, "--workers must be left out without --engine ray"),
        (("--engine", "ray", "--address", "127.0.0.1:9"), 1, "--address: no Ray cluster can be"),
        (("--target", "dual"), 1, "--target: expected one of singular, plural, got 'dual'"),
    ],
)
def test_wrong_options_are_named(
    run: Run, data: Path, tmp_path: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    result = run("evaluate", "verb-number", data, "--out", tmp_path / "run", *options)
    assert result.exit_code == code
    assert re.search(message, " ".join(result.stderr.split())), result.stderr


def test_a_text_that_fails_is_counted_and_fail_fast_stops_at_it(
    run: Run, data: Path, tmp_path: Path
) -> None:
    _ = data.write_text("the keys\n" + 100 * "the " + "\n", encoding="utf-8")
    command = ("evaluate", "verb-number", data, "--out", tmp_path / "run", *QUICK)
    stopped = run(*command, "--fail-fast")
    assert stopped.exit_code == 1
    assert "error: text_id 1 failed: expected a text of at most 64 tokens" in stopped.stderr
    found = run(*command)
    assert found.exit_code == 0, found.stderr
    assert "2 texts, 1 failed" in found.stdout


# As the command, but it says when the first part is committed, and waits there.
INTERRUPTED = """
import os, sys, threading
from attnflow.cli import main
from attnflow.evaluate.corpus import _parts
write = _parts.PartFiles.write
def write_and_wait(self, part, found):
    write(self, part, found)
    os.write(1, b"ready\\n")
    threading.Event().wait(60)
_parts.PartFiles.write = write_and_wait
sys.argv[0] = "attnflow"
main()
"""


def test_ctrl_c_says_how_far_the_run_is(data: Path, tmp_path: Path) -> None:
    arguments = ["evaluate", "verb-number", data, "--out", tmp_path / "run", *QUICK]
    command = [sys.executable, "-c", INTERRUPTED, *map(str, arguments), "--part-size", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(
        r"interrupted; \d of 6 texts are done\. The same command resumes the run\n$", errors
    )
    assert len(list((tmp_path / "run" / "results").iterdir())) == 1


def test_ctrl_c_counts_only_texts_that_are_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, on_progress: Callable[[RunProgress], None], **__: object) -> None:
        on_progress(RunProgress(5, 6, 5, 0, written=4))
        raise KeyboardInterrupt

    monkeypatch.setattr(_evaluate, "run", stop)
    with pytest.raises(KeyboardInterrupt, match="interrupted; 4 of 6 texts are done"):
        _evaluate.evaluate_command("verb-number", data, out=tmp_path / "run")


def test_a_command_that_is_killed_is_resumed_and_ends_with_the_same_bytes(
    run: Run, data: Path, tmp_path: Path
) -> None:
    arguments = ["evaluate", "verb-number", data, *QUICK, "--part-size", "2", "--out"]
    command = [sys.executable, "-c", INTERRUPTED, *map(str, arguments), str(tmp_path / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    parts = list((tmp_path / "killed" / "results").iterdir())
    assert len(parts) == 1
    written = parts[0].stat().st_mtime_ns
    again = run(*arguments, tmp_path / "killed")
    assert again.exit_code == 0, again.stderr
    assert "resuming: 2 of 6 texts are done" in again.stderr
    assert parts[0].stat().st_mtime_ns == written
    unbroken = run(*arguments, tmp_path / "unbroken")
    assert unbroken.exit_code == 0, unbroken.stderr
    assert again.stdout == unbroken.stdout
    assert _contents(tmp_path / "killed") == _contents(tmp_path / "unbroken")


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_long_run_writes_lines_into_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 30.0, 60.0, 70.0])
    monkeypatch.setattr(_evaluate_bar.time, "monotonic", lambda: next(clock))
    with evaluate_bar(every=60.0) as report:
        report(RunProgress(1000, 4000, 0, 0))
        report(RunProgress(1500, 4000, 500, 0))
        report(RunProgress(2000, 4000, 1000, 3))
        report(RunProgress(2500, 4000, 1500, 3))
    assert capsys.readouterr().err.splitlines() == [
        "resuming: 1,000 of 4,000 texts are done",
        "2,000 of 4,000 texts, 16.7 texts/s, 0:02:00 left, 3 failed",
    ]


BAR = """
from attnflow.cli._evaluate_bar import evaluate_bar
from attnflow.evaluate import RunProgress
with evaluate_bar() as report:
    report(RunProgress(0, 400, 0, 0))
    report(RunProgress(100, 400, 100, 2))
"""


def test_on_a_terminal_there_is_a_bar(on_terminal: OnTerminal) -> None:
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    shown = on_terminal([sys.executable, "-c", BAR], stream="stderr", env=environment)
    assert "100 of 400 texts" in shown
    assert "texts/s" in shown
    assert "2 failed" in shown
    assert "25%" in shown
