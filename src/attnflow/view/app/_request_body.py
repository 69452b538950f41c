"""Middleware for POST requests: same origin, JSON, and a body within the limits."""

import asyncio
from urllib.parse import urlsplit

from attnflow.view.app._errors import Application, ErrorResponse, Message, Receive, Scope, Send
from attnflow.view.app._limits import Limits

# Key in the ASGI scope: the time, on the event loop's clock, by which the response is due.
DEADLINE = "attnflow.deadline"
# Seconds for a body to arrive. Chosen: the largest body over a slow mobile line.
_BODY_SECONDS = 10.0


class RequestBodyMiddleware:
    """ASGI middleware for the paths that accept POST."""

    def __init__(self, app: Application, *, paths: tuple[str, ...], limits: Limits) -> None:
        self._app = app
        self._paths = paths
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, read its body and pass both on."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self._paths:
            return await self._app(scope, receive, send)
        # One deadline for body and work together.
        scope[DEADLINE] = asyncio.get_running_loop().time() + self._limits.seconds
        try:
            headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
            _check_origin(headers)
            _check_type(headers.get("content-type", ""))
            body = await self._body(headers, receive)
        except ErrorResponse as error:
            return await error.send(send)
        return await self._app(scope, _replay(body, receive), send)

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """Read the body, counting its bytes: Content-Length may be wrong."""
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > self._limits.body:
            raise self._too_large()
        body = bytearray()
        seconds = min(_BODY_SECONDS, self._limits.seconds)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self._limits.body:
                        raise self._too_large()
                    if message["type"] == "http.disconnect" or not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise ErrorResponse(
                408,
                "body_too_slow",
                f"the body did not arrive within {seconds:g} seconds; send it at once",
                {"connection": "close"},
            ) from None

    def _too_large(self) -> ErrorResponse:
        return ErrorResponse(
            413,
            "body_too_large",
            f"expected a body of at most {self._limits.body} bytes; send a shorter text, or start "
            "the app with a larger --max-body",
            {"connection": "close"},
        )


def _check_origin(headers: dict[str, str]) -> None:
    """Reject requests that a page of another site makes a browser send."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    if not _same_origin(origin, headers.get("host")) or site not in ("same-origin", "none"):
        raise ErrorResponse(
            403,
            "cross_origin",
            "the request comes from a page of another site; use the app's own page, or a program "
            "other than a browser",
        )


def _same_origin(origin: str | None, host: str | None) -> bool:
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:  # not a URL
        return False


def _check_type(given: str) -> None:
    kind = given.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ErrorResponse(
            415,
            "not_json",
            f"expected the header Content-Type: application/json, got {kind or 'none'}; send JSON",
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body as one message, then the disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
