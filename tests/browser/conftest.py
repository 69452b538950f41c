"""A page in a real browser; `tests/chromium.py` starts the browser."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow import view as view_package
from attnflow.types import random_attention
from attnflow.view import to_html

SOURCES = Path(__file__).parents[2] / "page" / "src"
STATIC = Path(view_package.__file__).with_name("static")
MODULES = "http://modules.test"
TEXT = "The keys are on the old table"
TOKENS = ("[CLS]", "the", "key", "##s", "are", "on", "the", "old", "table")


class View:
    """A page that is open in the browser; all its errors are collected."""

    def __init__(self, browser: Any, file: Path, state: str, **settings: Any) -> None:
        settings = {"viewport": {"width": 1280, "height": 900}, **settings}
        self.context = browser.new_context(**settings)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", self._request)
        self.page.on("dialog", self._dialog)
        self.address = file.as_uri()
        self.page.goto(f"{self.address}#{state}" if state else self.address)
        self.drawn()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "blob:file:", "blob:null")):
            self.errors.append(f"request of {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def drawn(self) -> None:
        """Wait for the first picture and two more frames."""
        first = "() => performance.getEntriesByName('attnflow-first-picture').length"
        self.page.wait_for_function(first)
        self.settled()

    def settled(self) -> None:
        """Wait until changes are drawn; the table is drawn later."""
        frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.page.evaluate(frame)

    def panel(self, method: str) -> Any:
        return self.page.locator(f"section.panel[data-method={method}]")

    def node(self, method: str, layer: int, node: int, size: int) -> tuple[float, float]:
        """Where a node is on the screen: its circle. Layers of `size` nodes, the input first."""
        circles = self.panel(method).locator("svg circle[fill]:not([fill=none])")
        circle = circles.nth(layer * size + node)
        circle.scroll_into_view_if_needed()
        box = circle.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def hover(self, method: str, layer: int, node: int, size: int) -> None:
        self.page.mouse.move(*self.node(method, layer, node, size))
        self.settled()

    def click(self, method: str, layer: int, node: int, size: int) -> None:
        self.page.mouse.click(*self.node(method, layer, node, size))
        self.settled()

    def lines(self, method: str) -> list[dict[str, float]]:
        """The edges that a panel draws, strongest last."""
        return (
            self.panel(method)
            .locator(".inner svg")
            .evaluate(
                """(svg) => [...svg.querySelectorAll("line")]
            .filter((line) => line.getAttribute("y1") !== line.getAttribute("y2"))
            .map((line) => ({
                from: Number(line.getAttribute("y1")), to: Number(line.getAttribute("y2")),
                width: Number(line.getAttribute("stroke-width")),
                dashed: line.hasAttribute("stroke-dasharray"),
            }))"""
            )
        )

    def cells(self, method: str) -> list[float]:
        """How opaque the cells under the tokens are."""
        return (
            self.panel(method)
            .locator(".inner svg")
            .evaluate(
                """(svg, height) => [...svg.querySelectorAll("rect")]
            .filter((rect) => rect.getAttribute("height") === height)
            .filter((rect) => rect.getAttribute("fill") !== "none")
            .map((rect) => Number(rect.getAttribute("fill-opacity") ?? 1))""",
                "14",
            )
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table that screen readers read."""
        self.page.locator(".table:not([aria-busy])").wait_for(state="attached")
        return self.page.locator(".table table").evaluate(
            """(table) => [
                [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
                [...table.tBodies[0].rows].map((row) => [...row.cells].map((c) => c.textContent)),
            ]"""
        )

    def column(self, title: str) -> list[float]:
        head, rows = self.table()
        return [float(row[head.index(title)]) for row in rows]

    def notes(self, method: str) -> str:
        return self.panel(method).locator(".notes").inner_text()

    def caption(self) -> str:
        return self.page.locator("p.caption").inner_text()

    def state(self) -> str:
        return self.page.evaluate("location.hash.slice(1)")


@pytest.fixture
def view(browser: Any, tmp_path: Path) -> Generator[Callable[..., View]]:
    """Open a page of an attention or of HTML text; it must have no errors."""
    opened: list[View] = []

    def make(shown: Any, *, state: str = "", context: Any = None, **settings: Any) -> View:
        file = tmp_path / f"page-{len(opened)}.html"
        text = shown if isinstance(shown, str) else to_html(shown, **settings)
        _ = file.write_text(text, encoding="utf-8")
        opened.append(View(browser, file, state, **(context or {})))
        return opened[-1]

    yield make
    for opened_view in opened:
        assert opened_view.errors == []
        opened_view.context.close()


@pytest.fixture(scope="session")
def attention() -> af.Attention:
    """Four layers of three heads over nine tokens, of which two are one word."""
    weights = random_attention(4, 3, len(TOKENS), seed=5).weights
    return af.Attention(weights, TOKENS, origin=af.Origin(text=TEXT))


@pytest.fixture
def modules(browser: Any) -> Generator[Any]:
    """An empty page that can import modules of `page/src`, as "/ui/dom.js", and built scripts."""
    context = browser.new_context()
    page = context.new_page()

    def fulfill(route: Any) -> None:
        name = route.request.url.removeprefix(f"{MODULES}/")
        file = (STATIC if name.startswith("static/") else SOURCES) / name.removeprefix("static/")
        route.fulfill(path=file, content_type="text/javascript; charset=utf-8")

    page.route(f"{MODULES}/*/**", fulfill)
    page.route(f"{MODULES}/", lambda route: route.fulfill(content_type="text/html"))
    page.goto(f"{MODULES}/")
    yield page
    context.close()


@pytest.fixture(scope="session")
def close() -> Callable[..., bool]:
    """Whether numbers of the page, whose weights have 16 bits, are those of Python."""
    return lambda a, b: np.allclose(a, b, rtol=0, atol=1e-4)
