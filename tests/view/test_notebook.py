"""The example notebook runs, and is kept without what it printed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "first-look.ipynb"


def _cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text())["cells"] if "outputs" in cell]


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = _cells(NOTEBOOK)
    assert cells
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert {cell["execution_count"] for cell in cells} == {None}


@pytest.mark.slow
def test_the_notebook_runs_and_shows_the_page(tmp_path: Path) -> None:
    copy = tmp_path / NOTEBOOK.name
    _ = copy.write_bytes(NOTEBOOK.read_bytes())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbmake"]
    result = subprocess.run(
        [*command, "--overwrite", "--rootdir", tmp_path, copy],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(tmp_path)},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    shown = [output["data"] for cell in _cells(copy) for output in cell["outputs"]]
    views = [data for data in shown if "application/vnd.jupyter.widget-view+json" in data]
    assert len(views) == 3
    assert any("text/html" in data and "cabinets" in str(data) for data in shown)
