import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import attnflow as af

Run = Callable[..., Result]
COMMAND = Path(sys.executable).with_name("attnflow")


def test_version_is_the_packages(run: Run) -> None:
    assert run("--version").stdout == f"{af.__version__}\n"


@pytest.mark.parametrize("command", [[], ["compute"], ["generate"]])
def test_help_describes_the_command(run: Run, command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert result.stdout.strip().startswith("Usage: ")
    assert "--help" in result.stdout


def test_an_unknown_command_is_wrong_usage(run: Run) -> None:
    assert run("explain").exit_code == 2


def test_without_layers_the_top_layer_is_printed(run: Run, attention_file: Path) -> None:
    result = run("compute", attention_file, "--method", "rollout")
    assert result.exit_code == 0
    assert "layer 3" in result.stdout
    assert "layer 2" not in result.stdout
    top = af.rollout(af.Attention.load(attention_file)).row(3, 2)
    row = next(line for line in result.stdout.splitlines() if line.startswith("2 key"))
    assert row.split()[2:] == [f"{score:.3f}" for score in top]


def test_every_layer_asked_for_is_printed(run: Run, attention_file: Path) -> None:
    result = run("compute", attention_file, "--method", "rollout", "--layers", "3,1")
    assert result.stdout.index("layer 3") < result.stdout.index("layer 1")


def test_flow_says_which_layers_are_saturated(run: Run, attention_file: Path) -> None:
    assert "Saturated: " in run("compute", attention_file, "--method", "flow").stdout
    assert "Saturated: " not in run("compute", attention_file, "--method", "rollout").stdout


def test_generate_writes_attention_that_compute_reads(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demo.npz"
    options = ["--tokens", "a b c", "--layers", "2", "--heads", "3", "--seed", "5", "--causal"]
    result = run("generate", path, *options)
    assert result.exit_code == 0
    attention = af.Attention.load(path)
    assert attention.weights.shape == (2, 3, 3, 3)
    assert attention.tokens == ("a", "b", "c")
    assert attention.causal
    assert run("compute", path, "--method", "flow").exit_code == 0


def test_generate_is_deterministic(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    assert run("generate", one).exit_code == run("generate", two).exit_code == 0
    assert np.array_equal(af.Attention.load(one).weights, af.Attention.load(two).weights)
    assert af.Attention.load(one).tokens == ("[CLS]", "the", "key", "to", "the", "cabinets")


@pytest.mark.parametrize("options", [["--tokens", " "], ["--layers", "0"], ["--seed", "-1"]])
def test_generate_refuses_what_makes_no_attention(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    result = run("generate", tmp_path / "demo.npz", *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr
    assert not (tmp_path / "demo.npz").exists()


def test_a_reader_that_goes_away_ends_the_command_quietly(attention_file: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "compute", attention_file, "--method", "raw"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert errors == ""


def test_a_token_that_the_terminal_cannot_show_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "attention.npz"
    af.Attention(np.ones((1, 1, 1, 1)), ["▁the"]).save(path)
    result = subprocess.run(
        [COMMAND, "compute", path, "--method", "raw"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert rb"\u2581the" in result.stdout


def _stderr_on_a_terminal(code: str) -> str:
    leader, follower = pty.openpty()
    _ = subprocess.run([sys.executable, "-c", code], stderr=follower, check=True)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # the end, as Linux tells it
            break
        if not part:
            break
        shown += part
    os.close(leader)
    return shown.decode()


_WORK = """
import time
from attnflow.cli._progress import progress_bar
with progress_bar("attention flow", after={after}) as progress:
    for done in range(4):
        {report}
        time.sleep(0.05)
"""
_REPORT = "progress(done, 4)"


def test_a_bar_appears_on_a_terminal_when_work_takes_long() -> None:
    shown = _stderr_on_a_terminal(_WORK.format(after=0.01, report=_REPORT))
    assert "attention flow" in shown
    assert "%" in shown


def test_no_bar_appears_when_work_is_quick() -> None:
    assert _stderr_on_a_terminal(_WORK.format(after=30, report=_REPORT)) == ""


def test_no_bar_appears_where_nobody_watches() -> None:
    result = subprocess.run(
        [sys.executable, "-c", _WORK.format(after=0.01, report="assert progress is None")],
        capture_output=True,
        check=True,
    )
    assert result.stderr == b""
