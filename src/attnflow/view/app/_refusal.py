"""What a client is told instead of an answer: a status, a code for programs, a sentence."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from attnflow.errors import InputError, UnsupportedModelError

# As ASGI has them; spelled out here, so that no package is needed for them.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# The library's advice that is about its Python functions alone.
_PYTHON_ONLY = ", or pass truncate=True to cut it off there"


class Refusal(Exception):  # noqa: N818 - not an error of ours, but an answer
    """Ends a request with an answer that says why.

    >>> Refusal(404, "not_found", "there is no /x").document()
    {'error': {'code': 'not_found', 'message': 'there is no /x'}}
    """

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
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
    """The library's own words, less what only callers in Python can do."""
    code = "unsupported_model" if isinstance(error, UnsupportedModelError) else "input"
    return Refusal(422, code, str(error).replace(_PYTHON_ONLY, ""))


def unexpected() -> Refusal:
    """An error that nobody thought of. What it was stands in the log alone."""
    return Refusal(
        500,
        "internal",
        "something went wrong in the app that should not have; whoever runs it finds the reason "
        "in its output",
    )
