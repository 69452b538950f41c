import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

import attnflow as af
from attnflow._internal.optional import install_command
from attnflow.cli._exit_codes import Command

Run = Callable[..., Result]


def test_version_is_the_packages(run: Run) -> None:
    assert run("--version").stdout == f"{af.__version__}\n"


@pytest.mark.parametrize("command", [[], ["compute"], ["generate"]])
def test_help_describes_the_command(run: Run, command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert result.stdout.strip().startswith("Usage: ")
    assert "--help" in result.stdout
    assert run(*command, "-h").stdout == result.stdout


@pytest.mark.parametrize("command", ["attend", "explain", "view", "serve", "train verb-number"])
def test_help_names_the_command_that_installs_what_is_needed(run: Run, command: str) -> None:
    shown = run(*command.split(), "--help").stdout
    assert install_command("models") in shown
    assert "attnflow[" not in shown
    if command == "serve":
        assert install_command("models", "serve") in shown


@pytest.mark.parametrize(
    "command",
    ["compute", "attend", "explain", "view", "serve", "generate", "train verb-number",
     "reproduce table-1", "reproduce gradient-sum", "reproduce subject", "reproduce entropy",
     "reproduce figure-1"],
)  # fmt: skip
def test_help_mentions_only_options_that_the_command_has(run: Run, command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    shown = result.stdout
    lines = re.findall(r"^ {2}--[a-z-]+(?: / --no-[a-z-]+)?", shown, re.MULTILINE)
    options = re.findall(r"--[a-z-]+", " ".join(lines))
    assert options
    assert set(re.findall(r"--[a-z][a-z-]+", shown)) <= {*options, "--help"}


@pytest.mark.parametrize("command", ["attend", "evaluate", "explain", "serve", "view"])
def test_help_says_that_a_model_may_be_a_gguf_file(run: Run, command: str) -> None:
    assert "GGUF file" in " ".join(run(command, "--help").stdout.split())


def test_the_help_on_out_names_everything_in_the_file(run: Run) -> None:
    shown = " ".join(run("compute", "--help").stdout.split())
    result = af.TokenAttention(np.ones((1, 1, 1)), ["a"], [1], [0], "raw")
    assert {"scores", "tokens"} <= set(result.__slots__)
    assert all(name in shown for name in result.__slots__)


def test_python_runs_the_package_as_the_command() -> None:
    command = [sys.executable, "-m", "attnflow", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"{af.__version__}\n"


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


def test_every_given_layer_is_printed(run: Run, attention_file: Path) -> None:
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


@pytest.mark.parametrize(
    ("layers", "size"), [(10**12, "11,520,000.0 GB"), (10**20, "GB of memory")]
)
def test_generate_says_how_much_memory_it_would_need(
    run: Run, tmp_path: Path, layers: int, size: str
) -> None:
    result = run("generate", tmp_path / "demo.npz", "--layers", layers, "--heads", 80)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {layers} layers, 80 heads and 6 tokens need ")
    assert size in result.stderr
    assert not (tmp_path / "demo.npz").exists()


@pytest.mark.parametrize(
    "options", [["--tokens", " "], ["--tokens", "1000"], ["--layers", "0"], ["--seed", "-1"]]
)
def test_generate_refuses_what_makes_no_attention(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    result = run("generate", tmp_path / "demo.npz", *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr
    assert not (tmp_path / "demo.npz").exists()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("heads must be all or mean", "--heads must be all or mean"),
        (
            "layer must be left out without heads='all'",
            "layer must be left out without --heads all",
        ),
        ('use heads="mean" or fewer tokens', "use --heads mean or fewer tokens"),
        ("Compute it again with attend(…, heads='all')", None),
        ("subheads='all' and heads=3", None),
    ],
)
def test_messages_have_options_in_place_of_arguments(message: str, expected: str | None) -> None:
    option = SimpleNamespace(param_type_name="option", name="heads", opts=["--heads"])
    command: Any = SimpleNamespace(params=[option])
    assert Command._name_options(command, message) == (expected or message)
