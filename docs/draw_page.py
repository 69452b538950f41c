"""Takes the picture of the page in docs/page.md: `python docs/draw_page.py docs/figures/page.png`.

Needs playwright and a Chromium of the system.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from attnflow import paper, view
from attnflow.evaluate import explain

_TEXT = "the key to the cabinets"
# The position [CLS] of layer 3, and "cabinets": what limits the flow between them is in the middle.
_STATE = "layer=3&pin=3.0&sink=5"
_WIDTH, _HEIGHT = 1280, 1000


def main(out: Path) -> None:
    """Write the picture to `out`."""
    shipped = paper.load()
    page = view.to_html(explain(shipped.model, shipped.tokenizer, _TEXT))
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        _ = file.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        _ = tab.goto(f"{file.as_uri()}#{_STATE}")
        _ = tab.wait_for_function("performance.getEntriesByName('attnflow-first-picture').length")
        _ = tab.screenshot(path=out, full_page=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
