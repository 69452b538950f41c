"""The page as one text: whole, safe, small and always the same."""

import base64
import hashlib
import html.parser
import re
from collections.abc import Callable
from typing import Any

import pytest

import attnflow as af
from attnflow.types import random_attention
from attnflow.view import page_data, to_html
from attnflow.view._static import static_file

DocumentOf = Callable[[str], dict[str, Any]]
HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>",
    "{{script}}",
    "\u2028\u2029\x00\ud800",
    "&lt;b&gt;",
    "\"'`${alert(1)}",
]


class Elements(html.parser.HTMLParser):
    """Names of a page's elements, and what each was opened with."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.title = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.lasttag == "title":
            self.title += data


@pytest.fixture
def attention() -> af.Attention:
    return random_attention(2, 2, 3, tokens=["[CLS]", "the", "key"])


def test_the_page_holds_the_document(attention: af.Attention, document_of: DocumentOf) -> None:
    assert document_of(to_html(attention)) == page_data(attention)


def test_the_page_contains_the_complete_script_and_style(attention: af.Attention) -> None:
    page = to_html(attention)
    assert page.startswith("<!doctype html>")
    assert static_file("page.js") in page
    assert static_file("page.css") in page
    assert "{{" not in page.replace(static_file("page.js"), "")


def test_the_same_input_gives_the_same_page(attention: af.Attention) -> None:
    assert to_html(attention) == to_html(attention)


def test_hostile_tokens_stay_text(document_of: DocumentOf) -> None:
    hostile = random_attention(2, 2, len(HOSTILE), tokens=HOSTILE)
    harmless = random_attention(2, 2, len(HOSTILE))
    page = to_html(hostile)
    assert Elements(page).found == Elements(to_html(harmless)).found
    names = [r"\u2028\u2029\x00\ud800" if "\0" in name else name for name in HOSTILE]
    assert document_of(page)["tokens"] == names


@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_titles_and_texts_stay_text(title: str, document_of: DocumentOf) -> None:
    weights = random_attention(1, 1, 1).weights
    plain = to_html(af.Attention(weights), title="title")
    shown = af.Attention(weights, origin=af.Origin(text=title, spans=((0, 1),)))
    page = to_html(shown, title=title)
    assert Elements(page).found == Elements(plain).found
    assert (document_of(page)["title"], document_of(page)["text"]) == (title, title)
    _ = page.encode()  # half characters would not be written to a file


def test_the_tab_is_named_by_title_and_text() -> None:
    text = "Keys & locks " * 20
    origin = af.Origin(text=text)
    attention = af.Attention(random_attention(1, 1, 2).weights, origin=origin)
    assert Elements(to_html(attention)).title.startswith("Token attention: Keys & locks")
    assert len(Elements(to_html(attention, title="Mine")).title) < 70


def test_nothing_comes_from_elsewhere(attention: af.Attention) -> None:
    page = to_html(attention)
    found = Elements(page).found
    assert {"body", "script"} <= {tag for tag, _ in found}
    for tag, attributes in found:
        assert tag not in ("link", "iframe", "object", "base"), tag
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    # Names of namespaces are no addresses that anything is loaded from.
    elsewhere = re.findall(r"https?://[^\s\"'`<>)]+", page)
    assert {url for url in elsewhere if not url.startswith("http://www.w3.org/")} == set()


def test_32_tokens_6_layers_and_12_heads_make_less_than_400_kb() -> None:
    page = to_html(random_attention(6, 12, 32))
    assert len(page.encode()) < 400_000


def test_a_further_edge_weight_of_that_size_adds_less_than_52_kb() -> None:
    attention = random_attention(6, 12, 32)
    other = random_attention(6, 1, 32, seed=1).graph()
    two = to_html({"attention": attention, "norms": other})
    assert len(two.encode()) - len(to_html(attention).encode()) < 52_000


def test_the_policy_lets_the_pages_own_script_run_and_nothing_else(
    attention: af.Attention,
) -> None:
    page = to_html(attention)
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes in Elements(page).found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    _, _, rest = page.partition('<script type="module">')
    script, _, _ = rest.partition("</script>")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # Before anything that it is about.
    assert page.index("Content-Security-Policy") < page.index("<style>")
