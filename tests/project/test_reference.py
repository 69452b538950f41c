"""The API reference of the documentation site has every public name."""

import importlib
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "attnflow", "attnflow.edges", "attnflow.evaluate", "attnflow.importance", "attnflow.models",
    "attnflow.paper", "attnflow.plot", "attnflow.view", "attnflow.view.app",
]  # fmt: skip


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in the API reference of the documentation site."""
    site = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert result.returncode == 0, result.stderr
    # Four lines of text, then a compressed line for each name.
    lines = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4])
    return {line.split(" ")[0] for line in lines.decode().splitlines()}


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_in_the_reference(package: str, reference: set[str]) -> None:
    names: list[str] = importlib.import_module(package).__all__
    names = [name for name in names if f"{package}.{name}" not in PUBLIC and name != "__version__"]
    assert names
    # A name that the site's parser does not see is described in the page's own text.
    page = ROOT / "docs" / "api" / f"{package.split('.')[1] if '.' in package else 'index'}.md"
    described = set(re.findall(r"`(\w+)`", page.read_text(encoding="utf-8")))
    missing = [name for name in names if f"{package}.{name}" not in reference]
    assert [name for name in missing if not name.isupper() or name not in described] == []
