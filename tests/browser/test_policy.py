"""The page's own policy: it works under it, in a notebook's frame too, and other scripts do not."""

from pathlib import Path
from typing import Any

import pytest

from attnflow.types import random_attention
from attnflow.view import to_html
from attnflow.view._picture import picture
from attnflow.view._widget import Frame


def test_a_script_that_is_not_the_pages_own_does_not_run(view: Any, attention: Any) -> None:
    page = to_html(attention)
    begin = "<main "
    assert page.count(begin) == 1
    foreign = "<script>document.title = 'taken over'</script>"
    seen = view(page.replace(begin, f"{foreign}{begin}"))
    assert seen.page.title() != "taken over"
    (message,) = seen.errors
    assert "Content Security Policy" in message
    seen.errors.clear()


def test_the_page_draws_and_saves_in_the_frame_of_a_notebook(
    browser: Any, attention: Any, tmp_path: Path
) -> None:
    file = tmp_path / "notebook.html"
    shown = Frame(to_html(attention))._repr_html_()
    _ = file.write_text(f"<!doctype html><title>notebook</title>{shown}", encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(file.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("section.panel svg").first.wait_for()
    for name, head in (("SVG", b"<?xml"), ("PNG", b"\x89PNG"), ("CSV", b"layer,")):
        with page.expect_download() as waiting:
            frame.get_by_role("button", name=name, exact=True).click()
        content = Path(waiting.value.path()).read_bytes()
        assert content.startswith(head), content[:20]
        assert len(content) > 100
    assert errors == []
    context.close()


@pytest.mark.parametrize("width", [700, 1280])
def test_the_frame_of_a_notebook_is_as_high_as_the_page(
    browser: Any, attention: Any, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "notebook.html"
    frames = [Frame(to_html(each))._repr_html_() for each in (attention, random_attention(1, 1, 3))]
    _ = file.write_text(f"<!doctype html>{''.join(frames)}", encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.goto(file.as_uri())
    for at in range(2):
        content = page.frame_locator("iframe").nth(at)
        content.locator("section.panel svg").first.wait_for()
        _fits(page, at)
        content.get_by_text("Table", exact=True).click()
        content.locator(".help", has_text="Select layer").wait_for()
        _fits(page, at)
    page.close()


def test_the_picture_is_hidden_where_the_page_runs(
    browser: Any, attention: Any, tmp_path: Path
) -> None:
    drawn = picture(attention, {})
    file = tmp_path / "notebook.html"
    shown = Frame(to_html(attention), drawn)._repr_html_()
    other = Frame(to_html(attention))._repr_html_()  # has none, and hides nothing
    _ = file.write_text(f"<!doctype html>{shown}{other}", encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    for at in range(2):
        page.frame_locator("iframe").nth(at).locator("section.panel svg").first.wait_for()
    page.locator("img").wait_for(state="hidden")
    assert page.locator("iframe").nth(0).is_visible()
    page.close()


def _fits(page: Any, at: int) -> None:
    """Wait for a frame to be as high as its content, and no higher."""
    rest = "innerHeight - document.body.getBoundingClientRect().height"
    page.frames[at + 1].wait_for_function(f"() => 0 <= {rest} && {rest} < 2")
