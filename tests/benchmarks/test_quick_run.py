"""The benchmarks run: a small run of all parts writes a report and prints the README's table."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The report and what was printed."""
    out = tmp_path_factory.mktemp("bench") / "results.md"
    result = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "run.py", "--quick", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return out.read_text(encoding="utf-8"), result.stdout


def test_the_report_has_every_part(quick_run: tuple[str, str]) -> None:
    report, _ = quick_run
    headings = [line.removeprefix("## ") for line in report.splitlines() if line.startswith("## ")]
    assert headings == [
        "Summary",
        "All layers and pairs, 8 tokens, 3 layers",
        "How flow is timed",
        "Where the time goes",
        "One query, all layers",
        "Rollout",
        "Start-up",
    ]


@pytest.mark.parametrize(
    "peer",
    [
        "OR-tools",
        "OR-tools, built for each pair",
        "SciPy",
        "python-igraph",
        "networkx `preflow_push`",
        "networkx `edmonds_karp`",
    ],
)
def test_every_peer_is_timed_on_pairs_of_every_layer(quick_run: tuple[str, str], peer: str) -> None:
    report, _ = quick_run
    (row,) = [line for line in report.splitlines() if line.startswith(f"| {peer} |")]
    assert "| 6, scaled up |" in row


def test_the_report_says_which_attention_and_which_machine(quick_run: tuple[str, str]) -> None:
    report, _ = quick_run
    assert "Generated attention" in report
    assert "| processor |" in report
    assert f"CPython {platform.python_version()}" in report


def test_the_report_names_no_host_and_no_folder(quick_run: tuple[str, str]) -> None:
    for text in quick_run:
        assert str(ROOT) not in text
        assert str(Path.home()) not in text
        assert sys.prefix not in text


def test_the_table_for_the_readme_is_printed(quick_run: tuple[str, str]) -> None:
    _, printed = quick_run
    assert printed.startswith("| what | attnflow | compared with |\n")
    assert "flow, all layers and pairs, 8 tokens, 3 layers" in printed


def test_a_quick_run_never_replaces_the_kept_results() -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "run.py", "--quick"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "--quick needs --out" in result.stderr
