"""The workflow and the hooks name what exists, and install what they need."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
)
COMMANDS = {
    job: [step["run"] for step in settings["steps"] if "run" in step]
    for job, settings in WORKFLOW["jobs"].items()
}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", requirement)[0].lower() for requirement in requirements}


def test_the_workflow_runs_targets_marks_and_folders_that_exist() -> None:
    commands = "\n".join(command for job in COMMANDS.values() for command in job)
    targets = set(re.findall(r"\bmake ([\w-]+)", commands))
    assert targets >= {"check", "coverage"}
    assert [name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)] == []
    selections = set(re.findall(r'(?:SELECT=|-m )"(.*?)"', commands))
    marks = {mark.partition(":")[0] for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    assert selections
    assert {word for text in selections for word in text.split()} - {"not", "and", "or"} <= marks
    folders = re.findall(r"\btests/[\w/]+", commands)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
    files = re.findall(r"-c ([\w.-]+\.txt)", commands)
    assert files == ["constraints-oldest.txt"]
    assert (ROOT / files[0]).is_file()


def test_the_job_for_versions_installs_what_its_tests_import() -> None:
    commands = "\n".join(COMMANDS["versions"])
    extras = re.findall(r"'\.\[(.*?)\]'", commands)[0].split(",")
    assert "dev" in extras
    assert ".[dev]" in MAKEFILE
    installed = _names(PROJECT["project"]["dependencies"])
    for extra in extras:
        installed |= _names(PROJECT["project"]["optional-dependencies"][extra])
    # Packages that come with one of these.
    installed |= {"huggingface-hub", "pillow", "tokenizers"}
    folders = [ROOT / folder for folder in re.findall(r"\btests/[\w/]+", commands)]
    files = [*(ROOT / "tests").glob("*.py"), *(path for f in folders for path in f.rglob("*.py"))]
    imported = {name for path in files for name in _imports(path)}
    assert {"igraph", "ortools"} <= imported
    ours = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {"attnflow"}
    known = packages_distributions()
    missing = {
        name
        for name in imported - ours - sys.stdlib_module_names
        if installed.isdisjoint(
            distribution.lower().replace("_", "-") for distribution in known.get(name, [name])
        )
    }
    assert missing == set()


def _imports(path: Path) -> set[str]:
    """The packages that a file imports, wherever in it."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.append(node.module)
    return {module.partition(".")[0] for module in modules}


def test_pre_commit_installs_the_hooks_of_every_stage() -> None:
    config: dict[str, Any] = yaml.safe_load(
        (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    )
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    stages = {stage for h in hooks for stage in h.get("stages", config["default_stages"])}
    assert stages == set(config["default_install_hook_types"]) == {"pre-commit", "pre-push"}
