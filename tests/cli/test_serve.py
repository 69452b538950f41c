import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import torch
from typer.testing import Result

from attnflow import InputError, paper
from attnflow.cli import _serve as command
from attnflow.paper.model import SHIPPED
from attnflow.view.app import Limits
from attnflow.view.app import _serve as server
from attnflow.view.app._serve import bind_socket
from strict_python import STRICT_PYTHON

Run = Callable[..., Result]
TEXT = "the key to the cabinets"
# The program, with a model whose third pass lasts until Ctrl-C has arrived: the second of a
# request, because the first of all is at the start.
SLOW = """
import sys, threading
from attnflow import paper
from attnflow.cli import _serve, main
from attnflow.view.app._jobs import Jobs
close, closed, passes = Jobs.close, threading.Event(), []
def close_and_note(jobs):
    close(jobs)
    closed.set()
def wait(*_):
    passes.append(1)
    assert len(passes) <= 2 or closed.wait(60)
Jobs.close = close_and_note
slow = paper.load()
_ = slow.model.register_forward_hook(wait)
_serve.loaded_model = lambda *_: slow
sys.argv[0] = "attnflow"
main()
"""


@contextmanager
def _running(*arguments: object, code: str = "from attnflow.cli import main; main()") -> Any:
    """The program, and the address that it prints."""
    process = subprocess.Popen(
        [*STRICT_PYTHON, "-c", code, "serve", "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert said.startswith("attnflow is at http://"), process.stderr and process.stderr.read()
        yield process, said.split()[3].rstrip("/")
    finally:
        process.kill()
        _ = process.communicate()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the app would be started with; nothing is started."""
    given: dict[str, Any] = {}

    def serve(models: Any, **settings: Any) -> None:
        given.update(settings, models=models)
        settings["on_ready"]("http://127.0.0.1:1/")

    monkeypatch.setattr(command, "serve", serve)
    monkeypatch.setattr(command, "bind_socket", lambda *_: socket.socket())
    return given


def test_the_app_answers_and_ctrl_c_ends_it() -> None:
    with _running() as (process, address):
        answer = httpx2.post(f"{address}/api/explain", json={"text": TEXT}, timeout=60)
        assert answer.json()["prediction"]["label"] == "singular"
        assert "<title>attnflow</title>" in httpx2.get(f"{address}/").text
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        # Loading reports that it takes long, where it does.
        assert errors.removeprefix("loading verb-number: loading the model\n") == "interrupted\n"


def test_ctrl_c_ends_work_under_way() -> None:
    with _running(code=SLOW) as (process, address):
        url = f"{address}/api/explain/stream"
        with httpx2.stream("POST", url, json={"text": TEXT}, timeout=60) as answer:
            lines = answer.iter_lines()
            while json.loads(next(lines))["progress"]["done"] == 0:
                pass
            process.send_signal(signal.SIGINT)
            assert json.loads([*lines][-1])["error"]["code"] == "stopping"
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        assert errors == "interrupted\n"


def test_the_kernels_of_flow_are_loaded_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = threading.Event()
    monkeypatch.setattr(server, "load_kernels", lambda _nodes: loaded.set())
    monkeypatch.setattr(server, "create_app", lambda *_, **__: None)
    monkeypatch.setattr(server, "_run", lambda *_: None)
    server.serve({}, port=0)
    assert loaded.wait(60)


def test_a_port_that_is_taken_is_an_error_before_a_model_is_loaded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "loaded_model", lambda *_: pytest.fail("loaded"))
    with bind_socket("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
        result = run("serve", "--port", port)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: port {port} of 127.0.0.1 is in use by another program; pass another port, or 0 "
        "for any free one\n"
    )


@pytest.mark.parametrize("host", ["nowhere.invalid", "203.0.113.7", "x" * 300])
def test_a_host_that_is_not_this_machine(run: Run, host: str) -> None:
    result = run("serve", "--host", host, "--port", 0)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "127.0.0.1" in result.stderr


def test_the_shipped_model_is_the_default(run: Run, started: dict[str, Any]) -> None:
    result = run("serve")
    assert result.exit_code == 0, result.stderr
    assert [*started["models"]] == ["verb-number"]
    assert result.stdout == "attnflow is at http://127.0.0.1:1/ (Ctrl-C stops it)\n"
    assert result.stderr == ""
    assert started["limits"] == Limits()
    assert (started["host"], started["port"], started["open_browser"]) == (
        "127.0.0.1",
        8765,
        False,
    )


def test_models_are_shown_by_their_name_or_the_end_of_their_path(
    run: Run, started: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "mine").symlink_to(SHIPPED)
    result = run("serve", "verb-number", f"copy={SHIPPED}", f"{tmp_path}/./mine/")
    assert result.exit_code == 0, result.stderr
    assert [*started["models"]] == ["verb-number", "copy", "mine"]


def test_options_are_the_limits(run: Run, started: dict[str, Any]) -> None:
    result = run(
        "serve", "--max-characters", 1, "--max-tokens", 2, "--max-body", 3, "--max-work", 4,
        "--max-queue", 5, "--max-seconds", 6, "--max-cache", 0, "--open", "--allow-host", "lab",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert started["limits"] == Limits(
        characters=1, tokens=2, body=3, work=4, queue=5, seconds=6, cache=0
    )
    assert started["open_browser"]
    assert started["hosts"] == ["lab"]


@pytest.mark.parametrize("host", ["::", "192.168.0.7", "lab"])
def test_a_host_that_others_reach_is_warned_of(
    run: Run, started: dict[str, Any], host: str
) -> None:
    result = run("serve", "--host", host)
    warning = f"warning: other machines can reach {host}, and the app has no"
    assert [line for line in result.stderr.splitlines() if line.startswith(warning)]
    assert started["host"] == host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_the_loopback_is_not_warned_of(run: Run, started: dict[str, Any], host: str) -> None:
    assert run("serve", "--host", host).stderr == ""
    assert started["host"] == host


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verb-number", "verb-number"], "two models have the name 'verb-number'"),
        (["=folder"], "expected a folder or id, or NAME=MODEL"),
        (["name="], "expected a folder or id, or NAME=MODEL"),
        (["--port", "70000"], "less than or equal to 65535"),
        (["--max-seconds", "0"], "greater than or equal to 1"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], said: str) -> None:
    result = run("serve", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_folder_without_a_model_is_an_error(run: Run, tmp_path: Path) -> None:
    result = run("serve", tmp_path, "--port", 0)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")


def test_a_missing_package_is_named_before_anything_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("serve", "--port", 0)
    assert result.exit_code == 1
    assert 'pip install "fastapi>=' in result.stderr


def test_a_model_without_a_head_is_refused_before_the_app_starts(
    run: Run, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = paper.load()

    class Headless(torch.nn.Module):
        def forward(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"last_hidden_state": input_ids[..., None].float()}

    model = replace(shipped, model=cast("Any", Headless()))
    monkeypatch.setattr(command, "loaded_model", lambda *_: model)
    result = run("serve", "m=encoder")
    assert result.exit_code == 1
    assert "this model makes no prediction that could be explained" in result.stderr
    assert started == {}


def test_a_name_with_an_equals_sign_may_be_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a=b"
    folder.mkdir()
    assert command._named([str(folder)]) == {"a=b": str(folder)}
    assert command._named(["a=b=c"]) == {"a": "b=c"}


def test_any_free_port_can_be_listened_at_twice() -> None:
    with bind_socket("localhost", 0) as one, bind_socket("localhost", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
    with pytest.raises(InputError, match="not an address of this machine"):
        _ = bind_socket("nowhere.invalid", 0)
