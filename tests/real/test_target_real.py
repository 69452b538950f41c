"""A target as people write it, on a real decoder: the likelier of its spellings."""

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attnflow.cli import main

Load = Callable[[str], tuple[Any, Any]]
TEXT = "After the long walk home my father lost"


@pytest.fixture(scope="module")
def folder(real: Load, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 as a folder for the command."""
    path = tmp_path_factory.mktemp("smollm2")
    for part in real("smollm2"):
        part.save_pretrained(path)
    return path


@pytest.fixture
def explain(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run the command with options; what it printed, without and with an error."""

    def run(*options: str) -> tuple[str, str]:
        command = ["attnflow", "explain", TEXT, "--model", str(folder), "--methods", "raw"]
        monkeypatch.setattr(sys, "argv", [*command, *options])
        with contextlib.suppress(SystemExit):
            main()
        return capsys.readouterr()

    return run


def test_a_target_on_the_command_line_is_the_likelier_of_its_spellings(
    real: Load, explain: Callable[..., Any]
) -> None:
    model, tokenizer = real("smollm2")
    with torch.no_grad():
        p = model(**tokenizer(TEXT, return_tensors="pt")).logits[0, -1].softmax(-1)
    (bare,), (spaced,) = (tokenizer.encode(word) for word in ("his", " his"))
    assert float(p[spaced]) > 10 * float(p[bare])
    shown, _ = explain("--target", "his", "--against", "her", "--json")
    about = json.loads(shown)["settings"]["blank_out"]
    assert (about["target"], about["target_name"]) == (spaced, "Ġhis")
    assert about["other"] == tokenizer.encode(" her")[0]


def test_an_error_about_a_target_names_it_as_people_write_it(explain: Callable[..., Any]) -> None:
    _, error = explain("--target", "his", "--against", " his")
    assert "expected another answer than the target, got 'his' for both" in error
