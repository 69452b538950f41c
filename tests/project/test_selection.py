"""With CI=true a skipped test fails, and marks that select tests are set on folders that exist."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISSING = """
import pytest

pytest.importorskip("no_such_package")
"""
SKIPPED = """
import pytest

@pytest.fixture(scope="session")
def browser():
    pytest.skip("no browser")

def test_in_a_browser(browser): ...

def test_with_a_package():
    pytest.importorskip("no_such_package")

@pytest.mark.skipif("True", reason="no data")
def test_of_data(): ...

@pytest.mark.skipif("True", reason="does not apply: another system")
def test_of_another_system(): ...

@pytest.mark.xfail
def test_that_fails():
    raise ValueError
"""


def _outcomes(folder: Path, ci: str, *arguments: str | Path, **settings: str) -> str:
    """Run pytest without the plugins that are not named; return its last line, without seconds."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    ours = {"CI": ci, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, **ours, **settings}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    return result.stdout.splitlines()[-1].rpartition(" in ")[0]


@pytest.mark.parametrize(
    "workers", [(), ("-p", "xdist.plugin", "-n", "1")], ids=["one process", "a worker"]
)
def test_a_skip_is_a_failure_in_ci_alone(tmp_path: Path, workers: tuple[str, ...]) -> None:
    _ = (tmp_path / "test_skipped.py").write_text(SKIPPED, encoding="utf-8")
    hooks = ("-p", "ci_skips", *workers)
    assert _outcomes(tmp_path, "", *hooks) == "4 skipped, 1 xfailed"
    assert _outcomes(tmp_path, "true", *hooks) == "1 failed, 1 skipped, 1 xfailed, 2 errors"


def test_a_module_that_is_skipped_is_a_failure_in_ci_alone(tmp_path: Path) -> None:
    _ = (tmp_path / "test_missing.py").write_text(MISSING, encoding="utf-8")
    assert _outcomes(tmp_path, "", "-p", "ci_skips") == "1 skipped"
    assert _outcomes(tmp_path, "true", "-p", "ci_skips") == "1 error"


@pytest.mark.parametrize(
    ("tests", "variable"),
    [
        ("browser/test_policy.py", "ATTNFLOW_CHROMIUM"),
        ("paper/data/test_splits.py", "ATTNFLOW_DATA"),
    ],
)
def test_what_is_missing_here_fails_in_ci_alone(tests: str, variable: str) -> None:
    missing = {variable: str(ROOT / "missing")}
    here, ci = (_outcomes(ROOT, ci, ROOT / "tests" / tests, **missing) for ci in ("", "true"))
    assert "skipped" in here
    assert "failed" not in here
    assert "error" not in here
    assert "error" in ci
    assert "skipped" not in ci


def test_marks_are_set_on_folders_that_exist(pytestconfig: pytest.Config) -> None:
    plugins = pytestconfig.pluginmanager.get_plugins()
    conftest = next(plugin for plugin in plugins if hasattr(plugin, "NO_FLOATS"))
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert folders >= conftest.NO_FLOATS | conftest.SLOW
