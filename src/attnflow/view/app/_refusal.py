"""What a client is told instead of an answer: a status, a code for programs, a sentence."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, TypeAlias

from attnflow.errors import InputError, UnsupportedModelError

# As ASGI has them; spelled out here, so that no package is needed for them.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# What programs tell refusals apart by; `_describe.CODES` says when each comes.
Code: TypeAlias = Literal[
    "invalid",
    "text_too_long",
    "too_many_tokens",
    "unknown_model",
    "input",
    "unsupported_model",
    "cross_origin",
    "not_json",
    "body_too_large",
    "body_too_slow",
    "unknown_host",
    "busy",
    "stopping",
    "too_slow",
    "not_found",
    "method_not_allowed",
    "http",
    "internal",
]


class Refusal(Exception):  # noqa: N818 - not an error of ours, but an answer
    """Ends a request with an answer that says why.

    >>> Refusal(404, "not_found", "there is no /x").document()
    {'error': {'code': 'not_found', 'message': 'there is no /x'}}
    """

    def __init__(
        self, status: int, code: Code, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code: Code = code
        self.headers = headers or {}

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": str(self)}}

    def body(self) -> bytes:
        """The document as bytes of JSON."""
        return json.dumps(self.document()).encode()

    async def send(self, send: Send) -> None:
        """Answer with it, outside of FastAPI."""
        body = self.body()
        given = {"content-type": "application/json", "content-length": str(len(body))}
        headers = {**given, **self.headers}
        start = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": start})
        await send({"type": "http.response.body", "body": body})


def of_library(error: InputError | UnsupportedModelError) -> Refusal:
    """The library's own words, whole."""
    unsupported = isinstance(error, UnsupportedModelError)
    return Refusal(422, "unsupported_model" if unsupported else "input", str(error))


def unexpected() -> Refusal:
    """An error that nobody thought of. What it was stands in the log alone."""
    return Refusal(
        500,
        "internal",
        "something went wrong in the app that should not have; whoever runs it finds the reason "
        "in its output",
    )
