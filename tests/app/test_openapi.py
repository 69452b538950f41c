"""The app is what its OpenAPI description says, whatever it is asked."""

import json
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest
import schemathesis
from fastapi import HTTPException
from fastapi.testclient import TestClient
from hypothesis import given, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from attnflow.models import Loaded
from attnflow.view.app import Limits, create_app
from attnflow.view.app._errors import Code
from attnflow.view.app._openapi import CODES

Client = Callable[..., TestClient]


@pytest.fixture(scope="module")
def described(verb_number: Loaded) -> Any:
    """The description of an app whose texts are short, so that many can be tried."""
    limits = Limits(characters=200, tokens=20)
    app = create_app({"verb-number": verb_number}, limits=limits, hosts=["testserver"])
    config = SchemathesisConfig.from_dict(
        {
            "checks": {
                # A layer that the model does not have is described and still refused.
                "positive_data_acceptance": {"expected-statuses": ["2xx", "422"]},
            },
        }
    )
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


_GOOD, _BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        ("POST", "/api/explain", _GOOD),
        ("POST", "/api/explain", _BAD),
        ("POST", "/api/explain/stream", _GOOD),
        ("POST", "/api/explain/stream", _BAD),
        ("GET", "/api/models", _GOOD),  # nothing about it can be bad
        ("GET", "/api/health", _GOOD),
    ],
)
def test_every_response_matches_the_schema(
    described: Any, method: str, path: str, mode: GenerationMode
) -> None:
    operation = described[path][method]
    statuses: list[int] = []

    # Chosen: some hundred requests, half a minute in all. The same ones in every run: a mistake is
    # to be found by whoever makes it.
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        statuses.append(case.call_and_validate().status_code)

    ask()
    assert statuses
    if method == "POST":
        assert (200 in statuses) == (mode is _GOOD)


def test_the_list_of_operations_is_complete(described: Any) -> None:
    found = {each.ok().label for each in described.get_all_operations()}
    assert found == {
        "POST /api/explain", "POST /api/explain/stream", "GET /api/models", "GET /api/health",
    }  # fmt: skip


def test_the_description_names_the_models_and_limits(client: Client) -> None:
    app = client(characters=123)
    fields = app.get("/openapi.json").json()["components"]["schemas"]["ExplainRequest"][
        "properties"
    ]
    assert fields["text"]["maxLength"] == 123
    assert fields["model"]["anyOf"][0]["enum"] == ["verb-number"]


def test_every_reference_in_the_description_leads_somewhere(client: Client) -> None:
    document = client().get("/openapi.json").json()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert {"StreamLine", "JobProgress", "ExplainResponse"} <= references
    assert references <= set(document["components"]["schemas"])


def test_what_else_http_forbids_has_a_code_of_its_own(client: Client) -> None:
    app = client()
    forbidden: Any = app.app

    @forbidden.get("/teapot")
    async def teapot() -> None:
        raise HTTPException(418, "no coffee")

    _ = teapot
    answer = app.get("/teapot")
    assert answer.status_code == 418
    assert answer.json()["error"]["code"] in CODES


def test_every_code_of_an_error_is_documented(client: Client) -> None:
    # A ErrorResponse takes no other code, which the type checker sees to.
    assert set(get_args(Code)) == set(CODES)
    page = client().get("/docs").text
    assert [code for code in CODES if f"<code>{code}</code>" not in page] == []


def test_the_documentation_names_no_address_that_may_be_another(client: Client) -> None:
    page = client().get("/docs").text
    assert "curl ADDRESS/api/explain" in page
    assert not re.search(r"https?://|127\.0\.0\.1|localhost|8765", page)
