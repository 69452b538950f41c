"""Middleware for every request and response: check the Host header, add security headers."""

import ipaddress
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from attnflow.view.app._errors import (
    Application,
    ErrorResponse,
    Message,
    Receive,
    Scope,
    Send,
    internal_error,
)

_LOG = logging.getLogger(__name__)
# Wildcard addresses, each with one that a browser can open. Among the hosts, a wildcard allows
# every IP address.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
_POLICY_VIOLATION = 1008  # RFC 6455
LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Pages load and request only files of this app; the tab's icon, an empty one, is in the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Added unless a response has its own. Results may be private, so they must not be cached.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityMiddleware:
    """The outermost ASGI middleware."""

    def __init__(self, app: Application, *, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.strip("[]").lower() for host in hosts)
        self._any_address = not self._hosts.isdisjoint(ANY_ADDRESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject requests for another host; turn unexpected exceptions into a response."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # the app has no websockets
            return await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = _with_security_headers(message.get("headers", ()))
            await send(message)

        try:
            self._check_host(scope)
            await self._app(scope, receive, send_with_headers)
        except ErrorResponse as error:
            await error.send(send_with_headers)
        except Exception:  # details go to the log only
            _LOG.exception("unexpected internal error")
            if started:  # the connection breaks off, so the client sees an incomplete response
                raise
            await internal_error().send(send_with_headers)

    def _check_host(self, scope: Scope) -> None:
        """Reject other names: another site may point its name to our address (DNS rebinding)."""
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        host = _host_of(given[0]) if len(given) == 1 else None
        if host in self._hosts or (self._any_address and _is_address(host)):
            return
        raise ErrorResponse(
            421,
            "unknown_host",
            "the Host header names another host; open the address that the app printed, or start "
            "the app with --allow-host NAME",
        )


def _host_of(given: str) -> str | None:
    """Return the name in a Host header, without the port; None where it is malformed.

    >>> _host_of("localhost:8765"), _host_of("[::1]:8765"), _host_of("a@localhost")
    ('localhost', '::1', None)
    """
    try:
        parts = urlsplit(f"//{given}")
        _ = parts.port  # raises where it is not a number
    except ValueError:
        return None
    malformed = "@" in given or parts.path or parts.query or parts.fragment
    return None if malformed else parts.hostname


def _is_address(host: str | None) -> bool:
    try:
        return host is not None and bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _with_security_headers(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    added = {name.encode(): value.encode() for name, value in _HEADERS.items()}
    return [*headers, *((name, value) for name, value in added.items() if name not in given)]
