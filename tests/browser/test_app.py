"""The app's own script, with answers that a test makes up: no server, and no waiting for one."""

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from attnflow.edges import EDGES
from attnflow.importance import Prediction
from attnflow.view import page_data
from attnflow.view.app._files import files

ADDRESS = "http://attnflow.test"
ASKED = f"{ADDRESS}/#model=m&text=the+keys"


@pytest.fixture
def app(browser: Any) -> Generator[Callable[[Callable[[Any], None]], Any]]:
    """Open the app; `explain` answers what it asks for."""
    context = browser.new_context()

    def opened(explain: Callable[[Any], None]) -> Any:
        page = context.new_page()
        for address, file in files().items():
            page.route(ADDRESS + address, _answering(body=file.content, content_type=file.type))
        models = json.dumps({"models": [{"name": "m"}], "edges": EDGES})
        page.route(f"{ADDRESS}/api/models", _answering(body=models))
        page.route(f"{ADDRESS}/api/explain/stream", explain)
        return page

    yield opened
    context.close()


def _answering(**answer: Any) -> Callable[[Any], None]:
    return lambda route: route.fulfill(**answer)


def _result(attention: Any, **more: Any) -> str:
    given = Prediction("ĠItaly", {"ĠItaly": 0.9, "ĠFrance": 0.1})
    prediction = {"label": given.label, "probabilities": dict(given.probabilities)}
    page = page_data(attention, prediction=given)
    result = {"model": "m", "page": page, "prediction": prediction, "unknown": {}, **more}
    return json.dumps({"result": result}) + "\n"


def test_an_answer_is_shown_below_the_heading_of_the_app(app: Any, attention: Any) -> None:
    page = app(_answering(body=_result(attention)))
    page.goto(ASKED)
    page.locator("#result h2").wait_for()
    assert page.locator("h1").count() == 1
    assert page.locator("#result h3").count() == 3


def test_the_prediction_is_announced_with_the_name_that_people_write(
    app: Any, attention: Any
) -> None:
    page = app(_answering(body=_result(attention)))
    page.goto(ASKED)
    page.locator("#result h2").wait_for()
    assert page.locator("#status").text_content() == "The model predicts Italy, 90\u00a0%."


def test_only_network_errors_are_shown_as_an_app_that_does_not_respond(
    app: Any, attention: Any
) -> None:
    said = []
    for explain in (
        lambda route: route.abort(),
        _answering(body=_result(attention, unknown=None)),  # a TypeError of ours
    ):
        page = app(explain)
        page.goto(ASKED)
        page.locator("#error:not(:empty)").wait_for()
        said.append(page.locator("#error").inner_text())
    assert said[0].startswith("The server does not respond; restart it")
    assert "does not respond" not in said[1]


def test_going_back_from_a_request_that_runs_leaves_an_empty_page(app: Any) -> None:
    page = app(lambda _: None)  # it never answers
    page.goto(f"{ADDRESS}/")
    page.locator("#model option").first.wait_for(state="attached")
    page.fill("#text", "the keys")
    page.click("#explain")
    page.locator("#cancel").wait_for()
    with page.expect_event("requestfailed"):
        page.go_back()
    page.locator("#cancel").wait_for(state="hidden")
    assert page.locator("#status").inner_text() == ""
    assert page.locator("#work").is_hidden()
    assert page.input_value("#text") == ""


def _asking(asked: list[dict[str, Any]], body: str) -> Callable[[Any], None]:
    """Answer with `body`, and note what was asked for."""

    def explain(route: Any) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(body=body)

    return explain


def _open(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("#edges option").first.wait_for(state="attached")


def test_edges_are_chosen_in_the_form_and_are_in_the_link(app: Any, attention: Any) -> None:
    asked: list[dict[str, Any]] = []
    page = app(_asking(asked, _result(attention)))
    _open(page, f"{ADDRESS}/")
    options = page.locator("#edges option").all_inner_texts()
    assert options == [name.replace("_", " ") for name in EDGES]
    assert options[0] == "attention"
    assert page.get_by_label("Edges", exact=True).input_value() == "attention"
    page.fill("#text", "the keys")
    page.click("#explain")
    page.locator("#result h2").wait_for()
    assert page.url == ASKED
    page.get_by_label("Edges", exact=True).select_option("value zeroing")
    with page.expect_request(f"{ADDRESS}/api/explain/stream"):
        page.click("#explain")
    assert page.url == f"{ASKED}&edges=value_zeroing"
    with page.expect_request(f"{ADDRESS}/api/explain/stream"):
        page.go_back()
    assert page.get_by_label("Edges", exact=True).input_value() == "attention"
    assert [each["edges"] for each in asked] == ["attention", "value_zeroing", "attention"]


def test_a_link_with_edges_opens_them(app: Any, attention: Any) -> None:
    asked: list[dict[str, Any]] = []
    page = app(_asking(asked, _result(attention)))
    _open(page, f"{ASKED}&edges=norms")
    page.locator("#result h2").wait_for()
    assert page.get_by_label("Edges", exact=True).input_value() == "norms"
    # The view adds its state to the link, and leaves the rest.
    page.locator("#result").get_by_label("Layer").fill("1")  # the second
    page.wait_for_url("**view=layer%3D2")
    assert page.url == f"{ASKED}&edges=norms&view=layer%3D2"
    assert [each["edges"] for each in asked] == ["norms"]


def test_edges_of_a_link_that_the_server_does_not_have_are_its_error(app: Any) -> None:
    asked: list[dict[str, Any]] = []
    error = {"error": {"code": "invalid_request", "message": "edges: no such name"}}
    page = app(_asking(asked, json.dumps(error) + "\n"))
    _open(page, f"{ASKED}&edges=best")
    page.locator("#error:not(:empty)").wait_for()
    assert page.locator("#error").inner_text() == "Edges: no such name."
    assert page.get_by_label("Edges", exact=True).input_value() == "best"
    assert [each["edges"] for each in asked] == ["best"]
