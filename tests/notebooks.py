"""The notebooks of docs: their code, what it shows, and whether two runs show the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from written_numbers import assert_same_but_for_rounding

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted(DOCS.glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def run_python(*arguments: str | Path, folder: Path) -> None:
    """Run Python in a folder, which gets Jupyter's files too; fails if the program does."""
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(folder)},
    )
    assert result.returncode == 0, result.stdout + result.stderr


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells with code."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def shown_by(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell shows, one dict by MIME type for each output; what it prints is plain text."""
    return [
        output["data"] if "data" in output else {"text/plain": output["text"]}
        for output in cell["outputs"]
    ]


def text_of(shown: dict[str, Any]) -> str:
    """The text in one output: plain and HTML, without pictures."""
    return "\n".join(
        "".join(value) for kind, value in sorted(shown.items()) if kind.startswith("text/")
    )


def assert_shows_the_same(found: Path, kept: Path) -> None:
    """Assert that a notebook that was run shows what is kept: the same texts, and pictures."""
    cells, expected = code_cells(found), code_cells(kept)
    assert len(cells) == len(expected) > 0
    for one, other in zip(cells, expected, strict=True):
        assert one["source"] == other["source"]
        new, old = shown_by(one), shown_by(other)
        assert [{*shown} - {WIDGET} for shown in new] == [{*shown} for shown in old], one["source"]
        for shown, before in zip(new, old, strict=True):
            assert_same_but_for_rounding(text_of(shown), text_of(before))
