"""The FastAPI application: routes and error handlers.

Imported when an app is created, because it imports FastAPI.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from attnflow._internal.version import __version__
from attnflow.edges import EDGES
from attnflow.models import Loaded
from attnflow.view.app._about import about_model, example_text
from attnflow.view.app._docs_page import docs_page
from attnflow.view.app._errors import Code, ErrorResponse
from attnflow.view.app._files import File, files, make_file
from attnflow.view.app._jobs import ClientDisconnected
from attnflow.view.app._limits import Limits
from attnflow.view.app._openapi import CODES, STREAM_LINE, describe, problems
from attnflow.view.app._request_body import DEADLINE, RequestBodyMiddleware
from attnflow.view.app._schemas import ExplainRequest, ExplainResponse, Health, ModelList
from attnflow.view.app._security import SecurityMiddleware
from attnflow.view.app._service import ExplainService

_EXPLAIN, _STREAM = "/api/explain", "/api/explain/stream"
_CLIENT_CLOSED_REQUEST = 499  # nginx's status


def application(models: Mapping[str, Loaded], limits: Limits, hosts: Sequence[str]) -> FastAPI:
    """Return the application for checked arguments."""
    service = ExplainService(models, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        service.jobs.open()
        yield
        service.jobs.close()

    # FastAPI's documentation pages load scripts from another site; ours is at /docs.
    app = FastAPI(
        title="attnflow",
        version=__version__,
        summary="Prediction of a model, token attention and importance of its input tokens.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    _add_errors(app)
    _add_explain(app, service)
    _add_state(app, service)
    app.openapi = describe(app, service)
    _add_files(app, {**files(), "/docs": make_file(docs_page(app.openapi(), CODES), "html")})
    # The middleware added last sees a request first.
    app.add_middleware(RequestBodyMiddleware, paths=(_EXPLAIN, _STREAM), limits=limits)
    app.add_middleware(SecurityMiddleware, hosts=hosts)
    return app


def _add_explain(app: FastAPI, service: ExplainService) -> None:
    @app.post(
        _EXPLAIN,
        response_model=ExplainResponse,
        responses=problems(403, 408, 413, 415, 421, 422, 500, 503, 504),
        operation_id="explain",
    )
    async def explain(body: ExplainRequest, request: Request) -> Response:
        """Explain the prediction of a model for a text.

        Closing the connection cancels the job.
        """
        try:
            content = await service.explain(body, request.receive, request.scope[DEADLINE])
        except ClientDisconnected:
            return Response(status_code=_CLIENT_CLOSED_REQUEST)
        return Response(content, media_type="application/json")

    @app.post(
        _STREAM,
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Lines of JSON: progress any number of times, then the result or an "
                "error. Each line is an object with one of these fields.",
                "content": {"application/x-ndjson": {"schema": STREAM_LINE}},
            },
            **problems(403, 408, 413, 415, 421, 422, 500, 503),
        },
        operation_id="explain_stream",
    )
    async def stream(body: ExplainRequest, request: Request) -> Response:
        """Explain the prediction of a model, with lines about the progress before the result.

        An error after the first line is the last line; the status is then 200.
        """
        lines = service.stream(body, request.receive, request.scope[DEADLINE])
        # Awaited here, so that an error before the first line has a status of its own.
        first = await anext(lines, b"")

        async def all_lines() -> AsyncGenerator[bytes]:
            yield first
            async for line in lines:
                yield line

        return StreamingResponse(all_lines(), media_type="application/x-ndjson")

    _ = explain, stream


def _add_state(app: FastAPI, service: ExplainService) -> None:
    described = {
        name: {"about": about_model(loaded.model), "example": example_text(loaded)}
        for name, loaded in service.models.items()
    }

    @app.get("/api/models", responses=problems(421, 500), operation_id="models")
    async def models() -> ModelList:
        """Return the models of the app and the edge weights, the defaults first, and its limits."""
        named = [
            {"name": name, "architecture": type(loaded.model).__name__, **described[name]}
            for name, loaded in service.models.items()
        ]
        return ModelList.model_validate(
            {"models": named, "edges": list(EDGES), "limits": service.limits}
        )

    @app.get("/api/health", responses=problems(421, 500), operation_id="health")
    async def health() -> Health:
        """Return the state of the app."""
        counted = {**service.jobs.states(), **service.jobs.counts}
        return Health.model_validate({"status": "ok", "version": __version__, **counted})

    _ = models, health


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(ErrorResponse)
    async def error_response(_: Request, error: ErrorResponse) -> Response:
        return _response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return _response(ErrorResponse(422, "invalid", _first_of(error.errors())))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        known: dict[int, tuple[Code, str]] = {
            # Also of JSON that Python does not read.
            400: (
                "invalid",
                "the body cannot be read; send one JSON object in UTF-8, with no huge number",
            ),
            404: ("not_found", "nothing at this address; /docs lists the addresses"),
            405: (
                "method_not_allowed",
                f"{request.method} is not allowed at this address; /docs lists the methods",
            ),
        }
        other: tuple[Code, str] = ("http", f"{error.detail}; see /docs")
        code, message = known.get(error.status_code, other)
        # Malformed JSON is reported like an invalid field.
        status = 422 if error.status_code == 400 else error.status_code
        return _response(ErrorResponse(status, code, message, dict(error.headers or {})))

    _ = error_response, invalid, http_error


def _first_of(errors: Sequence[Any]) -> str:
    """Return the first validation error as a sentence."""
    first = errors[0]
    # After the name of the field come places in lists, and pydantic's names for types.
    field = first["loc"][1:2]
    place = ".".join(part for part in field if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        known = ", ".join(ExplainRequest.model_fields)
        return f"unknown field {place[:100]!r}; expected one of {known}"
    if first["type"] == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error']}; send one JSON object"
    # A number or a name has an error for each of the two.
    said = dict.fromkeys(each["msg"] for each in errors if each["loc"][1:2] == field)
    message = " or ".join(f"{each[:1].lower()}{each[1:]}" for each in said)
    return f"{place or 'the body'}: {message}; /docs describes each field"


def _response(error: ErrorResponse) -> Response:
    return Response(
        error.body(), error.status, headers=error.headers, media_type="application/json"
    )


def _add_files(app: FastAPI, table: Mapping[str, File]) -> None:
    def handler(file: File) -> Any:
        async def respond(request: Request) -> Response:
            # Browsers revalidate every time; the file is sent only if it has changed.
            headers = {"etag": file.tag, "cache-control": "no-cache"}
            if request.headers.get("if-none-match") == file.tag:
                return Response(status_code=304, headers=headers)
            return Response(file.content, headers={**headers, "content-type": file.type})

        return respond

    for address, file in table.items():
        app.add_route(address, handler(file), methods=["GET"], include_in_schema=False)
