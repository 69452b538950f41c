"""A real browser for the tests of pages.

It is open for one module at a time: while it is, no other event loop may run in this process, and
other tests need theirs.
"""

import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# As root there is no sandbox; the others keep the browser from calling home.
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Generator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = os.environ.get("ATTNFLOW_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), "")
    if not Path(found).is_file():
        pytest.skip("there is no Chromium here; ATTNFLOW_CHROMIUM may name one")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield opened
        opened.close()
