"""What a POST must be before FastAPI sees it: JSON, from a page of ours, and not too large."""

import asyncio
from urllib.parse import urlsplit

from attnflow.view.app._limits import Limits
from attnflow.view.app._refusal import Application, Message, Receive, Refusal, Scope, Send

# Where the request keeps the moment at which its answer must be there, in the event loop's time.
DEADLINE = "attnflow.deadline"
# Seconds for a body to arrive. Chosen: a body of the largest size over a slow mobile line.
_BODY_SECONDS = 10.0


class Posts:
    """ASGI middleware for the paths that are posted to."""

    def __init__(self, app: Application, *, paths: tuple[str, ...], limits: Limits) -> None:
        self._app = app
        self._paths = paths
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and hand it on with its body read."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self._paths:
            return await self._app(scope, receive, send)
        # One clock for all of it: what the body takes is gone for the work.
        scope[DEADLINE] = asyncio.get_running_loop().time() + self._limits.seconds
        try:
            headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
            _check_origin(headers)
            _check_type(headers.get("content-type", ""))
            body = await self._body(headers, receive)
        except Refusal as refusal:
            return await refusal.send(send)
        return await self._app(scope, _replayed(body, receive), send)

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """The body, counted as it comes in: what its length is said to be may be untrue."""
        said = headers.get("content-length", "")
        if said.isascii() and said.isdigit() and int(said[:20]) > self._limits.body:
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
            raise Refusal(
                408,
                "body_too_slow",
                f"the body was not there after {seconds:g} seconds; send it at once",
                {"connection": "close"},
            ) from None

    def _too_large(self) -> Refusal:
        return Refusal(
            413,
            "body_too_large",
            f"the body has more than the {self._limits.body} bytes that are allowed; send a "
            "shorter text, or raise --max-body where the app is started",
            {"connection": "close"},
        )


def _check_origin(headers: dict[str, str]) -> None:
    """Refuse what a page of another site makes a browser send."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    if not _is_ours(origin, headers.get("host")) or site not in ("same-origin", "none"):
        raise Refusal(
            403,
            "cross_origin",
            "the request comes from a page of another site; use the app's own page, or a program "
            "that is no browser",
        )


def _is_ours(origin: str | None, host: str | None) -> bool:
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:  # of what is no address at all
        return False


def _check_type(given: str) -> None:
    kind = given.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(
            415,
            "not_json",
            f"the content type is {kind or 'missing'}; send JSON, with the header Content-Type: "
            "application/json",
        )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message; after it what comes, which is the end of the connection."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
