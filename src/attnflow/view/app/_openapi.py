"""The app's OpenAPI description, with the limits and models of this app."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnflow.view.app._errors import Code
from attnflow.view.app._schemas import ErrorBody, StreamLine
from attnflow.view.app._service import ExplainService

if TYPE_CHECKING:
    from fastapi import FastAPI

_SCHEMA = "#/components/schemas/{model}"
STREAM_LINE = {"$ref": _SCHEMA.format(model="StreamLine")}

# Code → when.
CODES: Mapping[Code, str] = {
    "invalid": "the body is not JSON, or a field is missing, unknown or of the wrong kind",
    "text_too_long": "the text has too many characters",
    "too_many_tokens": "the text has too many tokens",
    "unknown_model": "the app has no model of this name",
    "input": "the library rejected the input: no such layer, position or target, an empty text",
    "unsupported_model": "the model is not supported",
    "cross_origin": "the request was sent by a page of another site",
    "not_json": "the content type is not application/json",
    "body_too_large": "the body has too many bytes",
    "body_too_slow": "the body did not arrive in time",
    "unknown_host": "the Host header names a host that is not this app's",
    "busy": "too many requests are waiting; Retry-After says when to try again",
    "stopping": "the app is being stopped",
    "too_slow": "the response took too long",
    "not_found": "there is nothing at this address",
    "method_not_allowed": "the address is for another method",
    "http": "another HTTP error; the status says which",
    "internal": "unexpected internal error",
}

_STATUSES = {
    403: "Sent by a page of another site.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "Not JSON.",
    421: "Sent for another host.",
    422: "The request is invalid; the message says why, and what to do.",
    500: "Unexpected internal error.",
    503: "Too many requests, or the app is being stopped.",
    504: "The response took too long.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return FastAPI's description of error responses."""
    responses: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorBody, "description": _STATUSES[status]} for status in statuses
    }
    if 503 in responses:
        wait = {"schema": {"type": "integer"}, "description": "Seconds to wait before a retry."}
        responses[503]["headers"] = {"Retry-After": wait}
    return responses


def describe(app: "FastAPI", service: ExplainService) -> Callable[[], dict[str, Any]]:
    """Return a function for `app.openapi` that adds the names of the models and the limits."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas = document["components"]["schemas"]
        # FastAPI describes JSON responses only, so the lines of a stream are described here.
        line = StreamLine.model_json_schema(ref_template=_SCHEMA)
        schemas |= {**line.pop("$defs"), **schemas, "StreamLine": line}
        fields = schemas["ExplainRequest"]["properties"]
        fields["text"]["maxLength"] = service.limits.characters
        fields["model"]["anyOf"][0]["enum"] = list(service.models)
        return document

    return openapi
