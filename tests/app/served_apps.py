"""An app behind a real server in this process, and a model that waits."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import uvicorn

from attnflow.models import Loaded
from attnflow.view.app import Limits, create_app
from attnflow.view.app._serve import bind_socket, server_config
from waiting import SECONDS, until


@dataclass
class Gated:
    """A model whose forward passes wait for a gate; how many have begun is counted."""

    loaded: Loaded
    gate: threading.Event = field(default_factory=threading.Event)
    begun: int = 0
    free: int = 0  # passes that need not wait

    def __post_init__(self) -> None:
        def wait(*_: Any) -> None:
            self.begun += 1
            if self.begun > self.free:
                assert self.gate.wait(SECONDS), "nobody opened the gate"

        _ = self.loaded.model.register_forward_hook(wait)


@dataclass
class Server:
    """An app behind a real uvicorn, in a thread of this process."""

    address: str
    app: Any
    uvicorn: uvicorn.Server

    @property
    def jobs(self) -> Any:
        return self.app.state.service.jobs

    def health(self) -> dict[str, Any]:
        return httpx2.get(f"{self.address}/api/health").json()

    def post(self, body: dict[str, Any], **settings: Any) -> httpx2.Response:
        return httpx2.post(f"{self.address}/api/explain", json=body, timeout=60, **settings)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


@contextmanager
def serving(models: Mapping[str, Loaded], limits: Limits, **settings: Any) -> Generator[Server]:
    """As `serve` runs it; `settings` are those of `server_config`."""
    app = create_app(models, limits=limits)
    sock = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(server_config(app, **settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        until(lambda: server.started)
        yield Server(f"http://127.0.0.1:{sock.getsockname()[1]}", app, server)
    finally:
        app.state.service.jobs.close()
        server.should_exit = True
        thread.join()
        sock.close()
