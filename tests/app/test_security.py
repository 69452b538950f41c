"""What other sites, other hosts and odd addresses get: nothing."""

import http.client
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from attnflow import InputError
from attnflow.models import Loaded
from attnflow.view.app import create_app
from attnflow.view.app._files import files

Client = Callable[..., TestClient]
TEXT = "the key to the cabinets"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8765", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST"],
)
def test_the_app_answers_to_its_own_names(client: Client, host: str) -> None:
    assert client().get("/api/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "evil.example@localhost",
        "localhost:port",
        "localhost/evil",
        "192.168.0.7",
        "[::1",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/health", "/docs", "/page/app.js", "/nothing"])
def test_a_name_that_is_not_the_apps_is_refused(client: Client, host: str, path: str) -> None:
    answer = client().get(path, headers={"host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "unknown_host"


def test_other_names_may_be_given(verb_number: Loaded) -> None:
    app = create_app({"m": verb_number}, hosts=["lab.example", "::"])
    client = TestClient(app, base_url="http://lab.example")
    assert client.get("/api/health").status_code == 200
    # For every address, but for no other name: a name is what another site can give us.
    for host, status in [("192.168.0.7:80", 200), ("[fe80::1]", 200), ("localhost", 421)]:
        assert client.get("/api/health", headers={"host": host}).status_code == status


def test_two_hosts_are_none(served: Any) -> None:
    server = served()
    line = http.client.HTTPConnection("127.0.0.1", server.port)
    line.putrequest("GET", "/api/health", skip_host=True)
    line.putheader("Host", "localhost")
    line.putheader("Host", "evil.example")
    line.endheaders()
    assert line.getresponse().status in (400, 421)
    line.close()


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_a_websocket_is_refused_as_one(client: Client, host: str) -> None:
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client().websocket_connect("/api/explain", headers={"host": host}),
    ):
        pass
    assert refused.value.code == 1008


def test_the_server_speaks_no_websockets(served: Any) -> None:
    server = served()
    assert server.uvicorn.config.ws == "none"
    line = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    line.request("GET", "/api/health", headers=headers)
    assert line.getresponse().status == 200  # and not 101: asked for by HTTP, answered by it
    line.close()


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/api/health", "/nothing"])
def test_every_answer_has_the_headers(client: Client, path: str) -> None:
    headers = client().get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_refusals_have_the_headers_too(client: Client) -> None:
    app = client(body=10)
    for answer in (
        app.get("/", headers={"host": "evil.example"}),
        app.post("/api/explain", content=b"{}"),
        app.post("/api/explain", json={"text": TEXT}),
    ):
        assert answer.status_code >= 400
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"


def test_results_are_not_cached_and_files_are_revalidated(client: Client) -> None:
    app = client()
    answer = app.post("/api/explain", json={"text": TEXT})
    assert answer.headers["cache-control"] == "no-store"
    file = app.get("/page/app.js")
    assert file.headers["cache-control"] == "no-cache"
    again = app.get("/page/app.js", headers={"if-none-match": file.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/api/explain", "/api/explain/stream"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://localhost:9999"},
        {"origin": "http://localhost.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_post(
    client: Client, path: str, headers: Mapping[str, str]
) -> None:
    answer = client().post(path, json={"text": TEXT}, headers={**headers})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "cross_origin"


def test_the_apps_own_page_can_post(client: Client) -> None:
    headers = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
    assert client().post("/api/explain", json={"text": TEXT}, headers=headers).status_code == 200


def test_no_response_allows_other_origins(client: Client) -> None:
    asks = {
        "origin": "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    answer = client().options("/api/explain", headers=asks)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"],
)
def test_a_form_of_another_site_cannot_pass_for_json(client: Client, kind: str) -> None:
    answer = client().post(
        "/api/explain", content=b'{"text": "a"}', headers={"content-type": kind} if kind else {}
    )
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "not_json"


def test_json_may_name_its_encoding(client: Client) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    answer = client().post("/api/explain", content=b'{"text": "a"}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/page/../../../pyproject.toml",
        "/page/..%2f..%2f_static.py",
        "/page/%2e%2e/_static.py",
        "/..%5c..%5cwindows",
        "//etc/passwd",
        "/page//etc/passwd",
        "/page/%2fetc%2fpasswd",
        "/page/app.js%00.py",
        "/page/",
        "/page",
        "/page/page.js",
        "/page/__init__.py",
        "/page/app.js/",
        "/page/./app.js",
        "/static/../app.js",
        "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/file:///etc/passwd",
    ],
)
def test_no_address_is_a_path(served: Any, path: str) -> None:
    # By hand: clients tidy addresses up before they ask.
    server = served()
    line = http.client.HTTPConnection("127.0.0.1", server.port)
    line.putrequest("GET", path)
    line.endheaders()
    answer = line.getresponse()
    content = answer.read()
    line.close()
    assert answer.status == 404
    assert b"not_found" in content


def test_the_files_are_those_of_the_table(client: Client) -> None:
    app = client()
    assert len(files()) > 1
    for address, file in files().items():
        answer = app.get(address)
        assert answer.content == file.content
        assert answer.headers["content-type"] == file.type


def test_an_app_without_models_or_with_what_is_none(verb_number: Loaded) -> None:
    with pytest.raises(InputError, match="at least one model"):
        _ = create_app({})
    with pytest.raises(InputError, match="expected a Loaded with a tokenizer"):
        _ = create_app({"x": verb_number.model})  # pyright: ignore[reportArgumentType]


def test_the_pages_load_nothing_from_elsewhere(client: Client) -> None:
    app = client()
    for path in ("/", "/docs", "/page/app.css", "/page/app.js"):
        text = app.get(path).text
        assert "https://" not in text
        assert "http://" not in text
    assert Path(__file__).parents[2].as_posix() not in app.get("/docs").text
