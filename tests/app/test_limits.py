"""Each limit, and the error that is its own."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from attnflow import InputError
from attnflow.view.app import Limits, _request_body
from attnflow.view.app._errors import ErrorResponse
from attnflow.view.app._schemas import ExplainRequest
from attnflow.view.app._service import ExplainService
from waiting import until

Client = Callable[..., TestClient]
TEXT = "the key to the cabinets"


def _code(response: Any, status: int) -> str:
    assert response.status_code == status, response.text
    return response.json()["error"]["code"]


def test_characters(client: Client) -> None:
    app = client(characters=len(TEXT))
    assert app.post("/api/explain", json={"text": TEXT}).status_code == 200
    refused = app.post("/api/explain", json={"text": f"{TEXT}."})
    assert _code(refused, 422) == "text_too_long"
    assert "expected at most 23 characters, got 24" in refused.text


def test_characters_are_those_of_the_text_and_not_its_bytes(client: Client) -> None:
    assert client(characters=3).post("/api/explain", json={"text": "日本語"}).status_code == 200


def test_tokens(client: Client) -> None:
    assert client(tokens=7).post("/api/explain", json={"text": TEXT}).status_code == 200
    refused = client(tokens=6).post("/api/explain", json={"text": TEXT})
    assert _code(refused, 422) == "too_many_tokens"
    assert "expected at most 6 tokens, got 7" in refused.text


def test_bytes_of_a_body(client: Client) -> None:
    content = json.dumps({"text": TEXT}).encode()
    headers = {"content-type": "application/json"}
    fits = client(body=len(content))
    assert fits.post("/api/explain", content=content, headers=headers).status_code == 200
    refused = client(body=len(content) - 1).post("/api/explain", content=content, headers=headers)
    assert _code(refused, 413) == "body_too_large"


def test_a_body_without_a_length_is_counted_as_it_comes(served: Any) -> None:
    server = served(body=1000)
    sent, whole = 0, 1000  # in parts, of which the buffers of the connection hold a few

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(whole):
            sent += 1
            yield b" " * 100_000

    headers = {"content-type": "application/json"}
    try:
        refused = httpx2.post(f"{server.address}/api/explain", content=endless(), headers=headers)
        assert _code(refused, 413) == "body_too_large"
    except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
        pass  # the server closed the connection while more was being sent
    assert sent < whole / 2
    assert server.health()["computed"] == 0
    assert not server.jobs._all


def _answer(server: Any, head: bytes, body: bytes) -> tuple[int, bytes]:
    """What is answered to these very bytes, which no client would send."""
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(
            b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"%s\r\n\r\n%s" % (head, body)
        )
        answer = http.client.HTTPResponse(line)
        answer.begin()
        content = answer.read()
        answer.close()
        return answer.status, content


def test_a_length_that_is_untrue_does_not_help(served: Any) -> None:
    head = b"Content-Length: 5\r\nTransfer-Encoding: chunked"
    status, _ = _answer(served(body=1000), head, b"7d0\r\n%s\r\n" % bytes(2000))
    assert status in (400, 413)


def test_a_body_said_to_be_too_large_is_refused_before_it_comes(served: Any) -> None:
    status, content = _answer(served(body=1000), b"Content-Length: 1001", b"")
    assert status == 413
    assert json.loads(content)["error"]["code"] == "body_too_large"


def test_a_body_that_does_not_come(served: Any) -> None:
    status, content = _answer(served(seconds=1), b"Content-Length: 100", b"{")
    assert status == 408
    assert json.loads(content)["error"]["code"] == "body_too_slow"


def test_a_body_has_seconds_of_its_own(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _request_body._BODY_SECONDS <= 10 < Limits().seconds
    monkeypatch.setattr(_request_body, "_BODY_SECONDS", 0.1)
    server = served()
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(
            b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        answer = http.client.HTTPResponse(line)
        answer.begin()
        assert answer.status == 408
        assert "within 0.1 seconds" in json.loads(answer.read())["error"]["message"]
        answer.close()


def test_the_time_of_the_body_is_gone_for_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    moments: dict[str, float] = {}

    async def receive() -> Any:
        loop = asyncio.get_running_loop()
        now = loop.time
        moments["asked"] = now()
        monkeypatch.setattr(loop, "time", lambda: now() + 1)  # the body took a second
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        moments["deadline"] = scope[_request_body.DEADLINE]

    async def send(_: Any) -> None: ...

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    posts = _request_body.RequestBodyMiddleware(app, paths=("/",), limits=Limits(seconds=7))
    asyncio.run(posts(scope, receive, send))
    assert moments["deadline"] <= moments["asked"] + 7


def test_work_ends_at_the_deadline_of_its_request(gated: Any) -> None:
    answers = ExplainService({"slow": gated.loaded}, Limits())

    async def receive() -> Any:
        _ = await asyncio.Event().wait()

    async def ask() -> bytes:
        answers.jobs.open()
        past = asyncio.get_running_loop().time() - 1
        try:
            return await answers.explain(
                ExplainRequest.model_validate({"text": TEXT}), receive, past
            )
        finally:
            gated.gate.set()
            answers.jobs.close()

    with pytest.raises(ErrorResponse) as refused:
        _ = asyncio.run(ask())
    assert refused.value.code == "too_slow"


def test_connections_beyond_the_most_are_refused_and_50_are_not(served: Any) -> None:
    assert served().uvicorn.config.limit_concurrency >= 100
    server = served(config={"connections": 3})
    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
    try:
        until(lambda: len(server.uvicorn.server_state.connections) == 3)
        refused = httpx2.get(f"{server.address}/api/health")
        assert refused.status_code == 503
    finally:
        for line in lines:
            line.close()
    until(lambda: not server.uvicorn.server_state.connections)
    assert server.health()["status"] == "ok"


def test_seconds(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded}, seconds=1)
    refused = server.post({"text": TEXT})
    assert _code(refused, 504) == "too_slow"
    assert "more than the limit of 1 seconds" in refused.text
    # The pass that is under way ends; the work does not go on to the next.
    gated.gate.set()
    until(lambda: server.health()["working"] == 0)
    assert gated.begun == 1


def test_seconds_of_a_stream_end_it_with_an_error(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded}, seconds=1)
    streamed = httpx2.post(f"{server.address}/api/explain/stream", json={"text": TEXT}, timeout=60)
    assert json.loads(streamed.text.splitlines()[-1])["error"]["code"] == "too_slow"


def test_a_queue_that_is_full(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded}, work=1, queue=1)
    answers: list[httpx2.Response] = []

    def ask(text: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.append(server.post({"text": text})))
        thread.start()
        return thread

    first = ask("one")
    until(lambda: gated.begun == 1)
    second = ask("two")
    until(lambda: server.health()["waiting"] == 1)
    for path in ("/api/explain", "/api/explain/stream"):
        refused = httpx2.post(f"{server.address}{path}", json={"text": "three"})
        assert _code(refused, 503) == "busy"
        assert int(refused.headers["retry-after"]) > 0
    gated.gate.set()
    first.join()
    second.join()
    assert [answer.status_code for answer in answers] == [200, 200]
    assert server.post({"text": "three"}).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"), [("tokens", 0), ("body", 2.5), ("seconds", float("nan")), ("work", True)]
)
def test_limits_that_are_none(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"limit {name} must be"):
        _ = Limits(**{name: value})


def _received_until_closed(connection: socket.socket) -> bytes:
    """What the app sends before it closes a connection; a TimeoutError if it does not."""
    received = b""
    with contextlib.suppress(ConnectionError):  # it was closed while something was under way to it
        while part := connection.recv(4096):
            received += part
    return received


@pytest.mark.parametrize("data", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_connection_that_sends_no_complete_head_is_closed(served: Any, data: bytes) -> None:
    server = served(config={"head_seconds": 0.2})
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(data)
        assert _received_until_closed(connection) == b""


def test_a_second_request_on_a_connection_has_the_same_limit(served: Any) -> None:
    server = served(config={"head_seconds": 0.2})
    head = f"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
    # On a slow machine the limit may be over before the first request is sent.
    for _ in range(100):
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection,
            contextlib.suppress(ConnectionError),
        ):
            connection.sendall(head + b"\r\n")
            if connection.recv(4096).startswith(b"HTTP/1.1 200"):
                connection.sendall(head)
                assert b" 200 " not in _received_until_closed(connection)
                return
    pytest.fail("no connection had an answer to its first request")


def test_a_slow_response_is_not_cut_off_by_the_limit_for_heads(served: Any, gated: Any) -> None:
    # Chosen: a limit within which any machine sends a head that is ready.
    server = served({"slow": gated.loaded}, config={"head_seconds": 2})
    with ThreadPoolExecutor(1) as thread:
        response = thread.submit(server.post, {"text": TEXT})
        until(lambda: gated.begun == 1)
        # The limit of a later connection is over after that of the request.
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as idle:
            assert _received_until_closed(idle) == b""
        assert not response.done()
        gated.gate.set()
        assert response.result().status_code == 200
