"""Work is done once, kept, and stopped when nobody waits for it."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from attnflow.models import Loaded
from attnflow.view.app._cache import Cache
from attnflow.view.app._jobs import Job
from waiting import until

Client = Callable[..., TestClient]
TEXT = "the key to the cabinets"
PATHS = ["/api/explain", "/api/explain/stream"]


def test_a_result_is_kept_by_its_content(client: Client) -> None:
    app = client()
    first = app.post("/api/explain", json={"text": TEXT})
    again = app.post("/api/explain", json={"text": TEXT, "model": "verb-number", "layer": None})
    assert again.content == first.content
    health = app.get("/api/health").json()
    assert (health["computed"], health["cached"]) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"text": f"{TEXT} "},
        {"layer": 5},
        {"query": 1},
        {"target": "plural"},
        {"target": 1},
        {"replace": "pad"},
        {"page": True},
        {"model": "other"},
    ],
)
def test_another_question_is_worked_out_anew(
    client: Client, verb_number: Loaded, other: dict[str, Any]
) -> None:
    app = client({"verb-number": verb_number, "other": verb_number})
    for body in ({"text": TEXT}, {"text": TEXT, **other}):
        assert app.post("/api/explain", json=body).status_code == 200
    assert app.get("/api/health").json()["computed"] == 2


def test_an_error_is_not_kept(client: Client) -> None:
    app = client()
    for _ in range(2):
        assert app.post("/api/explain", json={"text": TEXT, "layer": 9}).status_code == 422
    assert app.get("/api/health").json()["cached"] == 0


def test_nothing_is_kept_in_a_cache_of_no_bytes(client: Client) -> None:
    app = client(cache=0)
    for _ in range(2):
        assert app.post("/api/explain", json={"text": TEXT}).status_code == 200
    assert app.get("/api/health").json()["computed"] == 2


def test_the_cache_never_takes_more_than_its_bytes() -> None:
    cache = Cache(limit=10_000)
    for number in range(1000):
        cache.put(str(number), bytes(number * 7 % 3000))
        assert cache.used <= 10_000
        assert cache.get(str(number)) is not None
    cache.put("huge", bytes(10_000))
    assert cache.get("huge") is None


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = Cache(limit=3000)
    for key in "abc":
        cache.put(key, bytes(500))
    assert cache.get("a") is not None
    cache.put("d", bytes(500))
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "c", "d"]


def test_the_same_key_again_takes_its_bytes_once() -> None:
    cache = Cache(limit=3000)
    cache.put("a", bytes(1000))
    taken = cache.used
    cache.put("a", bytes(1000))
    assert cache.used == taken


def test_equal_requests_at_once_are_worked_out_once(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded})
    with ThreadPoolExecutor(5) as threads:
        asked = [threads.submit(server.post, {"text": TEXT}) for _ in range(5)]
        until(lambda: server.health()["shared"] == 4)
        gated.gate.set()
        answers = {each.result().text for each in asked}
    assert len(answers) == 1
    assert "singular" in answers.pop()
    assert server.health()["computed"] == 1


def test_one_of_two_that_wait_may_leave(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded})
    with ThreadPoolExecutor(1) as threads:
        stays = threads.submit(server.post, {"text": TEXT})
        until(lambda: gated.begun == 1)
        leaves = _begun_stream(server)
        until(lambda: server.health()["shared"] == 1)
        leaves.close()
        (job,) = server.jobs._all
        until(lambda: job.waiters == 1)
        gated.gate.set()
        assert stays.result().status_code == 200


class _Stream:
    """A request under way that the client can break off."""

    def __init__(self, url: str) -> None:
        self.client = httpx2.Client(timeout=60)
        request = self.client.build_request("POST", url, json={"text": TEXT})
        self.response = self.client.send(request, stream=True)

    def close(self) -> None:
        self.response.close()
        self.client.close()


def _begun_stream(server: Any) -> _Stream:
    return _Stream(f"{server.address}/api/explain/stream")


def _begun_post(server: Any) -> Any:
    """A plain request on a socket of its own: no library waits for the answer."""
    line = socket.create_connection(("127.0.0.1", server.port))
    body = b'{"text": "the key to the cabinets"}'
    line.sendall(
        b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    return line


@pytest.mark.parametrize("begin", [_begun_post, _begun_stream])
def test_a_client_that_goes_away_ends_the_work_at_the_next_step(
    served: Any, gated: Any, begin: Callable[[Any], Any]
) -> None:
    server = served({"slow": gated.loaded})
    request = begin(server)
    until(lambda: gated.begun == 1)
    (job,) = server.jobs._all
    assert not job.cancelled.is_set()
    request.close()
    until(job.cancelled.is_set)
    gated.gate.set()
    until(lambda: server.health()["working"] == 0)
    assert gated.begun == 1
    assert server.health()["computed"] == 0
    # And the model still works.
    assert server.post({"text": TEXT}).json()["prediction"]["label"] == "singular"


@pytest.mark.parametrize("begin", [_begun_post, _begun_stream])
def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(
    served: Any, gated: Any, begin: Callable[[Any], Any]
) -> None:
    server = served({"slow": gated.loaded}, work=1, queue=1)
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(server.post, {"text": "another text"})
        until(lambda: gated.begun == 1)
        request = begin(server)
        until(lambda: server.health()["waiting"] == 1)
        request.close()
        until(lambda: server.health()["waiting"] == 0)
        gated.gate.set()
        assert other.result().status_code == 200
    assert server.health()["computed"] == 1


def test_a_slow_model_does_not_keep_another_one_waiting(
    served: Any, gated: Any, verb_number: Loaded
) -> None:
    server = served({"slow": gated.loaded, "quick": verb_number}, work=2)
    with ThreadPoolExecutor(3) as threads:
        slow = [threads.submit(server.post, {"text": text}) for text in ("one", "two", "three")]
        until(lambda: server.health()["waiting"] == 2)
        assert server.post({"text": TEXT, "model": "quick"}).status_code == 200
        gated.gate.set()
        assert {each.result().status_code for each in slow} == {200}


def test_one_model_works_on_one_text_at_a_time(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded}, work=4)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(server.post, {"text": f"{TEXT} {n}"}) for n in range(4)]
        until(lambda: server.health()["waiting"] == 3)
        until(lambda: gated.begun >= 1)  # what works may not have reached the model yet
        assert gated.begun == 1
        gated.gate.set()
        assert {each.result().status_code for each in asked} == {200}


def test_shutdown_sends_an_error_to_waiting_requests(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded}, work=1)
    with ThreadPoolExecutor(2) as threads:
        working = threads.submit(server.post, {"text": "one"})
        until(lambda: gated.begun == 1)
        waiting = threads.submit(server.post, {"text": "two"})
        until(lambda: server.health()["waiting"] == 1)
        server.jobs.close()
        assert waiting.result().json()["error"]["code"] == "stopping"
        gated.gate.set()
        assert working.result().json()["error"]["code"] == "stopping"
    assert server.post({"text": "three"}).status_code == 503
    assert gated.begun == 1


def test_work_is_not_in_the_thread_that_answers(served: Any, gated: Any) -> None:
    server = served({"slow": gated.loaded})
    thread = threading.Thread(target=server.post, args=({"text": TEXT},))
    thread.start()
    until(lambda: gated.begun == 1)
    assert server.health()["working"] == 1
    assert httpx2.get(f"{server.address}/").status_code == 200
    gated.gate.set()
    thread.join()


def test_only_a_stream_is_woken_at_every_step(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Job] = []
    wake = Job.wake

    def counted(job: Job) -> None:
        woken.append(job)
        wake(job)

    monkeypatch.setattr(Job, "wake", counted)
    app = client(cache=0)
    assert app.post("/api/explain", json={"text": TEXT}).status_code == 200
    assert len(woken) == 1  # when the work begins
    assert app.post("/api/explain/stream", json={"text": TEXT}).status_code == 200
    assert len(woken) > 3
