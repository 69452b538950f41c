"""What holds for every request and answer: the host that was meant, and headers for browsers."""

import ipaddress
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from attnflow.view.app._refusal import (
    Application,
    Message,
    Receive,
    Refusal,
    Scope,
    Send,
    unexpected,
)

_LOG = logging.getLogger(__name__)
# Bound to, it stands for every address of the machine; among the hosts, for every address.
# Each with one that a browser can open.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
# As RFC 6455 counts: against what the server allows.
_NOT_ALLOWED = 1008
LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Nothing but our own files is loaded or asked; the icon of the tab, an empty one, is in the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Results may be private, so no cache but ours keeps them.
_UNLESS_GIVEN = {"cache-control": "no-store"}


class Guard:
    """ASGI middleware around everything else."""

    def __init__(self, app: Application, *, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.strip("[]").lower() for host in hosts)
        self._any_address = not self._hosts.isdisjoint(ANY_ADDRESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is meant for another host; an error that nobody thought of is an answer."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # nothing here is a websocket, whatever host it names
            return await send({"type": "websocket.close", "code": _NOT_ALLOWED})
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = _with_ours(message.get("headers", ()))
            await send(message)

        try:
            self._check_host(scope)
            await self._app(scope, receive, send_guarded)
        except Refusal as refusal:
            await refusal.send(send_guarded)
        except Exception:  # whatever it is, a client is told nothing of it but that it happened
            _LOG.exception("an error that is no answer")
            if begun:  # what is sent is sent: the connection breaks off, which the client notices
                raise
            await unexpected().send(send_guarded)

    def _check_host(self, scope: Scope) -> None:
        """Refuse names that are not ours: a page of another site may give its name our address."""
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        host = _host_of(given[0]) if len(given) == 1 else None
        if host in self._hosts or (self._any_address and _is_address(host)):
            return
        raise Refusal(
            421,
            "unknown_host",
            "the request names a host that is not this app's; open the address that the app "
            "printed, or start it with --allow-host NAME",
        )


def _host_of(given: str) -> str | None:
    """The name in a Host header, without the port.

    >>> _host_of("localhost:8765"), _host_of("[::1]:8765"), _host_of("a@localhost")
    ('localhost', '::1', None)
    """
    try:
        parts = urlsplit(f"//{given}")
        _ = parts.port  # looked at, since only then it is checked
    except ValueError:
        return None
    odd = "@" in given or parts.path or parts.query or parts.fragment
    return None if odd else parts.hostname


def _is_address(host: str | None) -> bool:
    try:
        return host is not None and bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _with_ours(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    ours = {name.encode(): value.encode() for name, value in (_UNLESS_GIVEN | _HEADERS).items()}
    return [*headers, *((name, value) for name, value in ours.items() if name not in given)]
