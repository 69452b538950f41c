"""`serve`: the app on a port of this machine, until it is told to stop."""

import errno
import ipaddress
import socket
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.view.app._create import create_app, require_packages
from attnflow.view.app._guard import ANY_ADDRESS, LOOPBACK
from attnflow.view.app._limits import Limits

# Open at a time. Chosen: several for each of a hundred browsers, and below the 1024 files that a
# process may commonly have open.
_CONNECTIONS = 500
# Seconds that answers under way have to end. Chosen: as long as people wait after Ctrl-C.
_STOPPING = 5


def serve(
    models: Mapping[str, Loaded],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hosts: Sequence[str] = (),
    open_browser: bool = False,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Serve the app until Ctrl-C, which stops the work under way and is a KeyboardInterrupt.

    Parameters
    ----------
    models, limits
        As for `create_app`.
    host
        The address to listen at; by default this machine alone can reach it. There is no
        authentication.
    port
        0 takes any that is free. A port that is taken is an InputError.
    hosts
        Names that the app is reached by besides `host` and those of the loopback.
    open_browser
        Show the app in the browser.
    tell
        Called with the app's address once it listens.
    """
    require_packages()
    app = create_app(models, limits=limits, hosts=(*LOOPBACK, host, *hosts))
    with listening(host, port) as door:
        address = _address(door)
        if tell is not None:
            tell(address)
        if open_browser:
            _ = webbrowser.open(address)
        _run(app, door)


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; an InputError where there can be none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        door = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as reason:
        raise InputError(
            f"host {host!r} is no address of this machine: {reason}; use 127.0.0.1, or leave it out"
        ) from reason
    try:
        # An app that was just stopped leaves its port half taken for a minute.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(where)
        door.listen()
    except (OSError, OverflowError) as reason:
        door.close()
        raise _not_free(host, port, reason) from reason
    return door


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _not_free(host: str, port: int, reason: Exception) -> InputError:
    number = getattr(reason, "errno", None)
    if number == errno.EADDRINUSE:
        why, advice = "is taken by another program", "give another port, or 0 for any free one"
    elif number == errno.EACCES:
        why, advice = "is only for programs with more rights", "give a port above 1023"
    else:
        why, advice = f"cannot be listened at: {reason}", "use 127.0.0.1 and a port up to 65535"
    return InputError(f"port {port} of {host} {why}; {advice}")


def _address(door: socket.socket) -> str:
    host, port = str(door.getsockname()[0]), door.getsockname()[1]
    shown = ANY_ADDRESS.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


def _run(app: Any, door: socket.socket) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Before uvicorn waits for answers that are being worked out.
            app.state.answers.jobs.close()
            await super().shutdown(sockets)

    Server(configured(app)).run(sockets=[door])


def configured(app: Any, *, connections: int = _CONNECTIONS) -> Any:
    """How uvicorn runs the app; a request beyond `connections` of them is answered with 503."""
    import uvicorn

    return uvicorn.Config(
        app,
        ws="none",
        log_level="warning",
        # Texts are not in addresses, but those of requests are nobody's business either.
        access_log=False,
        server_header=False,
        limit_concurrency=connections,
        timeout_graceful_shutdown=_STOPPING,
    )
