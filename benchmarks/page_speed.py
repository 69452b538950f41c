"""The interactive page of a long input in Chromium: first picture, hover, flow that it solves."""

import os
import shutil
import statistics
import tempfile
import time
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import report

from attnflow.types import random_attention
from attnflow.view import to_html

TOKENS, LAYERS, ROUNDS = 512, 12, 5
# Milliseconds that the project allows itself.
_FIRST_PICTURE, _HOVER = 1500, 50
_HOVERS = 12  # of each round; chosen: as a pointer crosses the page
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_DRAWN = "() => performance.getEntriesByName('attnflow-first-picture')[0]?.startTime"
_SOLVED = """() => {
    const table = document.querySelector("#attnflow > div")?.shadowRoot.querySelector("tbody");
    return table && !table.textContent.includes("solving");
}"""
_LAST = "performance.getEntriesByName('attnflow-hover').at(-1)"


def is_possible() -> bool:
    """Whether there is a Chromium, and playwright to drive it."""
    return find_spec("playwright") is not None and bool(_chromium())


def section(tokens: int = TOKENS, layers: int = LAYERS, rounds: int = ROUNDS) -> report.Section:
    """Times in a window of 1280 × 900 pixels, each round in a new tab."""
    from playwright.sync_api import sync_playwright

    page = to_html(random_attention(layers, 2, tokens), heads="mean")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        _ = file.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        first, hovers = zip(*[_round(browser, file.as_uri()) for _ in range(rounds)], strict=True)
        solved = _solve(browser, file.as_uri(), tokens // 2, layers)
        browser.close()
    rows = [
        ["size of the file", f"{len(page.encode()) / 1e6:.1f} MB"],
        ["first picture, median", report.duration(statistics.median(first))],
        ["first picture, best", report.duration(min(first))],
        ["hover, median", report.duration(statistics.median(chain(*hovers)))],
        ["hover, median of the best round", report.duration(min(map(statistics.median, hovers)))],
        ["flow of a position that is not in the page, solved by the page", report.duration(solved)],
    ]
    text = (
        f"`to_html` of {tokens} tokens and {layers} layers, heads averaged, opened {rounds} times "
        f"in Chromium. A hover lasts from the movement of the pointer to the picture that shows "
        f"its edges; {_HOVERS} positions a round. Flow of position {tokens // 2} is solved once; "
        "the time includes opening the page."
    )
    finding = report.Finding(
        f"the page, {tokens} tokens, {layers} layers: first picture, hover",
        f"{rows[1][1]}, {rows[3][1]}",
        f"{rows[0][1]} of HTML",
        f"{report.duration(_FIRST_PICTURE / 1e3)}, {report.duration(_HOVER / 1e3)}",
    )
    solving = report.Finding(
        f"the page, {tokens} tokens, {layers} layers: flow of another position, solved by the page",
        report.duration(solved),
        "",
        "",
    )
    table = report.table(["what", "measured"], rows)
    return report.Section("The page in a browser", (text, table), (finding, solving))


def _round(browser: Any, address: str) -> tuple[float, list[float]]:
    """Seconds to the first picture, and of each hover that changed the picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    first = page.wait_for_function(_DRAWN).json_value() / 1e3
    frame = page.locator("section.panel .inner").first.bounding_box()
    hovers: list[float] = []
    start = 0.0
    for step in range(_HOVERS):
        across, up = 0.2 + 0.7 * step / _HOVERS, (step % 3 + 1) / 6  # nodes, not names of layers
        page.mouse.move(frame["x"] + across * frame["width"], frame["y"] + up * frame["height"])
        later = f"() => {_LAST}?.startTime > {start} && {_LAST}.toJSON()"
        measured = page.wait_for_function(later).json_value()
        start = measured["startTime"]
        hovers.append(measured["duration"] / 1e3)
    page.close()
    return first, hovers


def _solve(browser: Any, address: str, query: int, layer: int) -> float:
    """Seconds from opening the page at a position to its flow in the table."""
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(f"{address}#view=table&layer={layer}&query={query}")
    page.wait_for_function(_SOLVED, timeout=300_000)
    seconds = time.perf_counter() - start
    page.close()
    return seconds


def _chromium() -> str:
    named = os.environ.get("ATTNFLOW_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), "")


if __name__ == "__main__":
    print("\n\n".join(section().blocks))
