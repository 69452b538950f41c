"""The FastAPI application: routes, and errors as what clients are told of them.

Loaded when an app is created, never before: it is the door to FastAPI.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from attnflow._internal.version import __version__
from attnflow.models import Loaded
from attnflow.view.app._answers import Answers
from attnflow.view.app._describe import CODES, REFERENCE_TO_LINE, described, problems
from attnflow.view.app._docs import docs_page
from attnflow.view.app._files import File, files, made_file
from attnflow.view.app._guard import Guard
from attnflow.view.app._jobs import ClientGone
from attnflow.view.app._limits import Limits
from attnflow.view.app._posts import DEADLINE, Posts
from attnflow.view.app._refusal import Code, Refusal
from attnflow.view.app._shapes import Ask, Explained, Health, Models

_EXPLAIN, _STREAM = "/api/explain", "/api/explain/stream"
_NOBODY_READS = 499  # as nginx counts: the client closed the connection


def application(models: Mapping[str, Loaded], limits: Limits, hosts: Sequence[str]) -> FastAPI:
    """The application, checked arguments given."""
    answers = Answers(models, limits)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        answers.jobs.open()
        yield
        answers.jobs.close()

    # FastAPI's own pages of documentation come from another site; ours stands at /docs.
    app = FastAPI(
        title="attnflow",
        version=__version__,
        summary="What a model answers to a text, what it attended to, what the answer depends on.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # an address is there or not
        lifespan=life,
    )
    app.state.answers = answers
    _add_errors(app)
    _add_explain(app, answers)
    _add_state(app, answers)
    app.openapi = described(app, answers)
    _add_files(app, {**files(), "/docs": made_file(docs_page(app.openapi(), CODES), "html")})
    # The last one added is the first to see a request.
    app.add_middleware(Posts, paths=(_EXPLAIN, _STREAM), limits=limits)
    app.add_middleware(Guard, hosts=hosts)
    return app


def _add_explain(app: FastAPI, answers: Answers) -> None:
    @app.post(
        _EXPLAIN,
        response_model=Explained,
        responses=problems(403, 408, 413, 415, 421, 422, 500, 503, 504),
        operation_id="explain",
    )
    async def explain(ask: Ask, request: Request) -> Response:
        """Explain what a model answers to a text.

        A client that closes the connection ends the work.
        """
        try:
            content = await answers.whole(ask, request.receive, request.scope[DEADLINE])
        except ClientGone:
            return Response(status_code=_NOBODY_READS)
        return Response(content, media_type="application/json")

    @app.post(
        _STREAM,
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Lines of JSON: progress any number of times, then the result or an "
                "error, each an object with one of these fields.",
                "content": {"application/x-ndjson": {"schema": REFERENCE_TO_LINE}},
            },
            **problems(403, 408, 413, 415, 421, 422, 500, 503),
        },
        operation_id="explain_stream",
    )
    async def stream(ask: Ask, request: Request) -> Response:
        """The same, with lines about the progress before the answer.

        What goes wrong once the work has begun is the last line, and the status is 200.
        """
        lines = answers.lines(ask, request.receive, request.scope[DEADLINE])
        # Waited for here, so that what is refused before any work has a status of its own.
        first = await anext(lines, b"")

        async def all_lines() -> AsyncGenerator[bytes]:
            yield first
            async for line in lines:
                yield line

        return StreamingResponse(all_lines(), media_type="application/x-ndjson")

    _ = explain, stream


def _add_state(app: FastAPI, answers: Answers) -> None:
    @app.get("/api/models", responses=problems(421, 500), operation_id="models")
    async def models() -> Models:
        """The models that there are, the default first, and the limits."""
        named = [
            {"name": name, "architecture": type(each.model).__name__}
            for name, each in answers.models.items()
        ]
        return Models.model_validate({"models": named, "limits": asdict(answers.limits)})

    @app.get("/api/health", responses=problems(421, 500), operation_id="health")
    async def health() -> Health:
        """Whether the app is there, and what it is doing."""
        counted = {**answers.jobs.states(), **answers.jobs.counts}
        return Health.model_validate({"status": "ok", "version": __version__, **counted})

    _ = models, health


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> Response:
        return _response(refusal)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return _response(Refusal(422, "invalid", _first_of(error.errors())))

    @app.exception_handler(HTTPException)
    async def forbidden(request: Request, error: HTTPException) -> Response:
        said: dict[int, tuple[Code, str]] = {
            400: ("invalid", "the body cannot be read as JSON; send one JSON object"),
            404: ("not_found", "there is nothing at this address; see /docs for what there is"),
            405: (
                "method_not_allowed",
                f"{request.method} is not for this address; see /docs for what is",
            ),
        }
        other: tuple[Code, str] = ("http", f"{error.detail}; see /docs for what there is")
        code, message = said.get(error.status_code, other)
        # Not readable is not valid: clients need no two statuses for it.
        status = 422 if error.status_code == 400 else error.status_code
        return _response(Refusal(status, code, message, dict(error.headers or {})))

    _ = refused, invalid, forbidden


def _first_of(errors: Sequence[Any]) -> str:
    """The first thing that is wrong with a body, in a sentence."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        known = ", ".join(Ask.model_fields)
        return f"there is no field {place[:100]!r}; use {known}"
    if first["type"] == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error']}; send one JSON object"
    said = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"{place or 'the body'}: {said}; see /docs for what each field may be"


def _response(refusal: Refusal) -> Response:
    return Response(
        refusal.body(), refusal.status, headers=refusal.headers, media_type="application/json"
    )


def _add_files(app: FastAPI, table: Mapping[str, File]) -> None:
    def given(file: File) -> Any:
        async def give(request: Request) -> Response:
            # Asked for anew each time, and sent only when it has changed.
            headers = {"etag": file.tag, "cache-control": "no-cache"}
            if request.headers.get("if-none-match") == file.tag:
                return Response(status_code=304, headers=headers)
            return Response(file.content, headers={**headers, "content-type": file.type})

        return give

    for address, file in table.items():
        app.add_route(address, given(file), methods=["GET"], include_in_schema=False)
