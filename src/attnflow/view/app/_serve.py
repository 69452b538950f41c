"""`serve`: run the app on a port of this machine until Ctrl-C."""

import asyncio
import errno
import ipaddress
import socket
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import Any, cast

from attnflow.errors import InputError
from attnflow.maxflow import load_kernels
from attnflow.models import Loaded
from attnflow.view.app._create import create_app
from attnflow.view.app._limits import Limits
from attnflow.view.app._security import ANY_ADDRESS, LOOPBACK

# Open connections. Chosen: several for each of a hundred browsers, and below the usual limit of
# 1024 open files for a process.
_MAX_CONNECTIONS = 500
# Seconds a client has to send the head of a request. Chosen: a slow mobile line.
_HEAD_SECONDS = 10.0
# Seconds running requests have to end after Ctrl-C. Chosen: as long as people wait.
_SHUTDOWN_SECONDS = 5


def serve(
    models: Mapping[str, Loaded],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hosts: Sequence[str] = (),
    open_browser: bool = False,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the app until Ctrl-C, which cancels running jobs and raises KeyboardInterrupt.

    Parameters
    ----------
    models, limits
        As for `create_app`.
    host
        Address to listen on; by default only this machine can reach it. There is no
        authentication.
    port
        0 takes any free port. A port in use is an InputError.
    hosts
        Additional host names of the app, besides `host` and the loopback names.
    open_browser
        Show the app in the browser.
    on_ready
        Called with the URL of the app once it listens.
    """
    app = create_app(models, limits=limits, hosts=(*LOOPBACK, host, *hosts))
    # Small flows are solved without the kernels until they are there.
    Thread(target=load_kernels, args=(1,), daemon=True).start()
    with bind_socket(host, port) as sock:
        name, number = str(sock.getsockname()[0]), sock.getsockname()[1]
        shown = ANY_ADDRESS.get(name, name)
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}/"
        if on_ready is not None:
            on_ready(address)
        if open_browser:
            _ = webbrowser.open(address)
        _run(app, sock)


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; an address that cannot be used is an InputError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        sock = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as reason:
        raise InputError(
            f"host {host!r} is not an address of this machine: {reason}. Use 127.0.0.1"
        ) from reason
    try:
        # The port of an app that has just stopped stays reserved for a minute otherwise.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        sock.listen()
    except (OSError, OverflowError) as reason:
        sock.close()
        raise _port_error(host, port, reason) from reason
    return sock


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _port_error(host: str, port: int, reason: Exception) -> InputError:
    number = getattr(reason, "errno", None)
    if number == errno.EADDRINUSE:
        why, advice = "is in use by another program", "pass another port, or 0 for any free one"
    elif number == errno.EACCES:
        why, advice = "needs administrator rights", "pass a port above 1023"
    else:
        why, advice = f"cannot be opened: {reason}", "use 127.0.0.1 and a port up to 65535"
    return InputError(f"port {port} of {host} {why}; {advice}")


def _run(app: Any, sock: socket.socket) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Cancel jobs first: uvicorn waits for their requests.
            app.state.service.jobs.close()
            await super().shutdown(sockets)

    Server(server_config(app)).run(sockets=[sock])


def server_config(
    app: Any, *, connections: int = _MAX_CONNECTIONS, head_seconds: float = _HEAD_SECONDS
) -> Any:
    """Return uvicorn's configuration for the app.

    A connection beyond `connections` is answered with 503. One that has not sent the head of a
    request after `head_seconds` is closed.
    """
    import uvicorn

    return uvicorn.Config(
        app,
        http=_protocol_with_head_timeout(head_seconds),
        ws="none",
        log_level="warning",
        access_log=False,  # requests are private
        server_header=False,
        limit_concurrency=connections,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


def _protocol_with_head_timeout(seconds: float) -> Any:
    """Return uvicorn's HTTP protocol with a time limit for the head of each request.

    uvicorn has none, so idle or half-sent connections would count towards `connections` for ever.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            super().connection_lost(exc)

        def _watch_head(self) -> None:
            """Run the timer while the head of a request is awaited."""
            cycle = cast("Any", self.cycle)  # None before the first request
            if cycle is not None and not cycle.response_complete:
                self._cancel_timer()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self.transport.close)

        def _cancel_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return Protocol
