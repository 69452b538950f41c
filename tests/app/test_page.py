"""The app's page in a real browser: typing, looking, sharing, cancelling."""

from collections.abc import Generator
from typing import Any

import pytest

from attnflow import paper

TEXT = "the keys to the cabinet"
# A link with an empty text: the app opens without its example.
EMPTY = "/#text="
HOSTILE = "the keys </script><img src=x onerror=alert(1)> 'and' \"more\" & so on"


class Tab:
    """A page of the browser, and what went wrong in it."""

    def __init__(self, browser: Any, **settings: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **settings)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        # Scripts, styles and pictures that the policy forbids are reported here too.
        self.page.on("console", self._on_console)
        self.page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def ask(self, text: str) -> None:
        self.page.fill("#text", text)
        self.page.click("#explain")

    def shown(self) -> Any:
        """The page of a text, once it is there; locators see into its shadow root."""
        result = self.page.locator("#result .attnflow")
        result.wait_for()
        return result

    def picture(self) -> list[str]:
        """What is drawn, panel by panel."""
        drawn = self.shown().locator("svg").evaluate_all("all => all.map(each => each.outerHTML)")
        assert drawn
        return drawn

    def complaint(self) -> str:
        said = self.page.locator("#error:not(:empty)")
        said.wait_for()
        return said.text_content()


@pytest.fixture
def tab(browser: Any) -> Generator[Tab]:
    """A tab that saw no error of a script and nothing that the policy forbids."""
    opened = Tab(browser)
    yield opened
    opened.context.close()
    assert opened.wrong == []


def test_a_sentence_typed_is_a_picture(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address + EMPTY)
    tab.ask(TEXT)
    result = tab.shown()
    result.get_by_text("Attention rollout").first.wait_for()
    assert "plural" in result.inner_text()
    assert "The model predicts plural" in tab.page.locator("#status").text_content()
    assert tab.page.title().startswith(TEXT)
    assert result.locator("svg, canvas").count() >= 3


def test_the_app_opens_with_an_example_and_a_line_about_the_model(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address)
    result = tab.shown()
    assert "the key to the cabinets" in result.inner_text()
    assert tab.page.input_value("#text") == "the key to the cabinets"
    about = tab.page.locator("#about").inner_text()
    assert about.startswith("VerbNumberModel, 6 layers, 8 heads")
    assert about.endswith("predicts singular or plural")
    assert tab.page.evaluate("location.hash") == ""


def test_enter_explains_and_shift_enter_does_not(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address + EMPTY)
    tab.page.locator("#model option").first.wait_for(state="attached")
    tab.page.keyboard.type("the keys")  # the box has the focus from the beginning
    tab.page.keyboard.press("Shift+Enter")
    tab.page.keyboard.type("to the cabinet")
    assert tab.page.input_value("#text") == "the keys\nto the cabinet"
    assert tab.page.locator("#result .attnflow").count() == 0
    tab.page.keyboard.press("Enter")
    _ = tab.shown()


def test_the_link_carries_text_model_and_view(served: Any, tab: Tab, browser: Any) -> None:
    server = served({"one": paper.load(), "two": paper.load()})
    tab.page.goto(server.address + EMPTY)
    tab.page.select_option("#model", "two")
    tab.ask(TEXT)
    result = tab.shown()
    result.get_by_text("Heat map").click()
    result.get_by_label("Words").check()
    link = tab.page.evaluate("location.href")
    assert link.partition("#")[0] == f"{server.address}/"
    assert "text=the+keys" in link
    seen = tab.picture()
    other = Tab(browser)
    other.page.goto(link)
    assert other.picture() == seen
    assert other.page.input_value("#text") == TEXT
    assert other.page.input_value("#model") == "two"
    assert other.shown().get_by_label("Words").is_checked()
    assert other.wrong == []
    other.context.close()


def test_the_link_can_be_copied(served: Any, tab: Tab) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.goto(served().address + EMPTY)
    tab.ask(TEXT)
    tab.shown().get_by_text("Heat map").click()
    tab.shown().get_by_role("button", name="Copy link").click()
    tab.shown().get_by_role("button", name="Copied").wait_for()
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.evaluate("location.href")
    assert "heatmap" in tab.page.evaluate("location.href")


def test_going_back_shows_what_was_there(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address + EMPTY)
    tab.ask(TEXT)
    _ = tab.shown()
    first = tab.picture()
    tab.ask("the key to the cabinets")
    tab.page.locator("#result").get_by_text("the key to the cabinets").first.wait_for()
    tab.page.go_back()
    tab.page.locator("#result").get_by_text(TEXT).first.wait_for()
    assert tab.picture() == first
    assert tab.page.input_value("#text") == TEXT
    tab.page.go_back()
    tab.page.locator("#result .attnflow").wait_for(state="detached")
    assert tab.page.input_value("#text") == ""


def test_a_slow_model_shows_progress_and_can_be_cancelled(
    served: Any, gated: Any, tab: Tab
) -> None:
    server = served({"slow": gated.loaded})
    tab.page.goto(server.address + EMPTY)
    gated.free = 1  # the pass of attention and prediction; blank-out waits
    tab.ask(TEXT)
    tab.page.locator("#bar").wait_for()
    tab.page.get_by_text("Step 2 of ").wait_for()
    (job,) = server.jobs._all
    tab.page.locator("#cancel").click()
    tab.page.get_by_text("Cancelled.").wait_for()
    assert job.cancelled.wait(30)
    assert tab.page.locator("#bar").is_hidden()
    assert tab.page.locator("#cancel").is_hidden()
    gated.gate.set()
    tab.ask(TEXT)
    _ = tab.shown()


def test_another_question_takes_the_place_of_the_first(served: Any, gated: Any, tab: Tab) -> None:
    server = served({"slow": gated.loaded, "quick": paper.load()})
    tab.page.goto(server.address + EMPTY)
    tab.ask(TEXT)
    tab.page.locator("#cancel").wait_for()
    (job,) = server.jobs._all
    tab.page.select_option("#model", "quick")
    tab.ask("the key to the cabinets")
    assert "the key to the cabinets" in tab.shown().inner_text()
    assert job.cancelled.wait(30)
    assert tab.page.locator("#error").text_content() == ""


def test_what_is_wrong_is_said_in_plain_words(served: Any, tab: Tab) -> None:
    tab.page.goto(served(characters=20).address + EMPTY)
    tab.page.click("#explain")
    assert tab.complaint() == "The text is empty; type a sentence."
    tab.ask("a text of more than twenty characters")
    tab.page.get_by_text("at most 20 ").wait_for()
    assert tab.page.locator("#result .attnflow").count() == 0
    tab.ask("the keys")
    _ = tab.shown()
    assert tab.page.locator("#error").text_content() == ""
    # The browser itself notes the answer 422; it is the only thing it notes.
    assert [said for said in tab.wrong if "422" not in said] == []
    tab.wrong.clear()


def test_an_app_that_is_gone_is_said_to_be_gone(served: Any, tab: Tab) -> None:
    server = served()
    tab.page.goto(server.address + EMPTY)
    tab.page.locator("#model option").first.wait_for(state="attached")
    tab.context.set_offline(True)
    tab.ask(TEXT)
    assert "The server does not respond" in tab.complaint()
    tab.wrong.clear()  # the browser notes that it is offline


def test_a_text_typed_before_the_models_are_known_stays(served: Any, tab: Tab) -> None:
    waiting: list[Any] = []
    tab.page.route("**/api/models", lambda route: waiting.append(route))  # noqa: PLW0108 (playwright looks at its signature)
    tab.page.goto(served().address + EMPTY)
    tab.page.fill("#text", TEXT)
    with tab.page.expect_response("**/api/models"):
        waiting.pop().continue_()
    tab.page.locator("#about:not(:empty)").wait_for()
    tab.page.click("#explain")
    assert TEXT in tab.shown().inner_text()


def test_a_link_to_a_model_that_is_not_here(served: Any, tab: Tab) -> None:
    tab.page.goto(f"{served().address}/#model=gone&text=the+keys")
    assert "Expected one of the models verb-number" in tab.complaint()
    assert [said for said in tab.wrong if "422" not in said] == []
    tab.wrong.clear()


@pytest.mark.parametrize("text", [HOSTILE, "<b>bold</b> keys", "the keys ${alert(1)} {{title}}"])
def test_a_hostile_text_is_a_text(served: Any, tab: Tab, text: str) -> None:
    tab.page.goto(served().address + EMPTY)
    tab.ask(text)
    result = tab.shown()
    assert tab.page.locator("img").count() == 0
    assert text in result.inner_text()
    link = tab.page.evaluate("location.href")
    tab.page.goto("about:blank")
    tab.page.goto(link)
    assert text in tab.shown().inner_text()
    assert tab.page.locator("img").count() == 0


def test_a_hostile_link_shows_no_more_than_its_text(served: Any, tab: Tab) -> None:
    address = served().address
    tab.page.goto(
        f"{address}/#text=keys&view=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&x=%22%3E%3Cb%3E"
    )
    assert "keys" in tab.shown().inner_text()
    assert tab.page.locator("img").count() == 0


def test_pictures_and_numbers_can_be_saved_under_the_policy(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address + EMPTY)
    tab.ask(TEXT)
    result = tab.shown()
    for name in ("SVG", "PNG", "CSV"):
        with tab.page.expect_download() as download:
            result.get_by_role("button", name=name).click()
        assert download.value.suggested_filename.endswith(f".{name.lower()}")


def test_dark_and_narrow(served: Any, browser: Any) -> None:
    opened = Tab(browser, color_scheme="dark")
    opened.page.set_viewport_size({"width": 360, "height": 740})
    opened.page.goto(served().address + EMPTY)
    opened.ask(TEXT)
    _ = opened.shown()
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(14, 16, 19)"
    # Nothing sticks out to the right.
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.wrong == []
    opened.context.close()


def test_everything_has_a_name_for_screen_readers(served: Any, tab: Tab) -> None:
    tab.page.goto(served().address + EMPTY)
    for role, name in [
        ("textbox", "Text"),
        ("combobox", "Model"),
        ("button", "Explain"),
        ("region", "Result"),
    ]:
        assert tab.page.get_by_role(role, name=name).count() == 1
    assert tab.page.get_by_role("status").count() == 1
    assert tab.page.get_by_role("alert").count() == 1


def test_the_documentation_opens_under_the_policy(served: Any, tab: Tab) -> None:
    tab.page.goto(f"{served().address}/docs")
    assert tab.page.get_by_role("heading", name="POST /api/explain", exact=True).count() == 1
