"""Error responses: a status, a code for programs, a sentence for people."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, TypeAlias

from attnflow.errors import InputError, UnsupportedModelError

# ASGI's types, written out so that no package is needed for them.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# `_openapi.CODES` says when each is sent.
Code: TypeAlias = Literal[
    "invalid", "text_too_long", "too_many_tokens", "unknown_model", "input", "unsupported_model",
    "cross_origin", "not_json", "body_too_large", "body_too_slow", "unknown_host", "busy",
    "stopping", "too_slow", "not_found", "method_not_allowed", "http", "internal",
]  # fmt: skip


class ErrorResponse(Exception):  # noqa: N818 - a response, raised
    """Ends a request with an error response.

    >>> ErrorResponse(404, "not_found", "there is no /x").body()
    b'{"error": {"code": "not_found", "message": "there is no /x"}}'
    """

    def __init__(
        self, status: int, code: Code, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code: Code = code
        self.headers = headers or {}

    def body(self) -> bytes:
        """Return the body of the response, as JSON."""
        return json.dumps({"error": {"code": self.code, "message": str(self)}}).encode()

    async def send(self, send: Send) -> None:
        """Send the response, from outside of FastAPI."""
        body = self.body()
        given = {"content-type": "application/json", "content-length": str(len(body))}
        headers = {**given, **self.headers}
        start = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": start})
        await send({"type": "http.response.body", "body": body})


def from_library_error(error: InputError | UnsupportedModelError) -> ErrorResponse:
    """Return the response for an error of the library, with its message."""
    unsupported = isinstance(error, UnsupportedModelError)
    return ErrorResponse(422, "unsupported_model" if unsupported else "input", str(error))


def internal_error() -> ErrorResponse:
    """Return the response for an unexpected exception, whose details are in the log only."""
    return ErrorResponse(
        500, "internal", "unexpected internal error; the output of the app has the details"
    )
