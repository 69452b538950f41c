"""The app's OpenAPI description: what clients can rely on, the limits of this app included."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnflow.view.app._answers import Answers
from attnflow.view.app._refusal import Code
from attnflow.view.app._shapes import Line, Problem

if TYPE_CHECKING:
    from fastapi import FastAPI

_PLACE = "#/components/schemas/{model}"
REFERENCE_TO_LINE = {"$ref": _PLACE.format(model="Line")}

# Code → when.
CODES: Mapping[Code, str] = {
    "invalid": "the body is not JSON, or a field is missing, unknown or of the wrong kind",
    "text_too_long": "the text has too many characters",
    "too_many_tokens": "the text has too many tokens",
    "unknown_model": "the app has no model of this name",
    "input": "the model cannot be asked this: no such layer, position or answer, an empty text",
    "unsupported_model": "the model is of a kind that cannot be explained",
    "cross_origin": "the request was sent by a page of another site",
    "not_json": "the content type is not application/json",
    "body_too_large": "the body has too many bytes",
    "body_too_slow": "the body did not arrive in time",
    "unknown_host": "the Host header names a host that is not this app's",
    "busy": "too many requests are waiting; Retry-After says when to try again",
    "stopping": "the app is being stopped",
    "too_slow": "the answer was not there in time",
    "not_found": "there is nothing at this address",
    "method_not_allowed": "the address is for another method",
    "http": "what else HTTP does not allow here; the status says what",
    "internal": "an error that nobody thought of",
}

_STATUSES = {
    403: "From a page of another site.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "Not JSON.",
    421: "Meant for another host.",
    422: "Something about the request cannot be used; the message says what, and what to do.",
    500: "An error that nobody thought of.",
    503: "Too much to do, or about to stop.",
    504: "Not done in time.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Answers that are errors, as FastAPI wants them described."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem, "description": _STATUSES[status]} for status in statuses
    }
    if 503 in described:
        wait = {"schema": {"type": "integer"}, "description": "Seconds until it is worth trying."}
        described[503]["headers"] = {"Retry-After": wait}
    return described


def described(app: "FastAPI", answers: Answers) -> Callable[[], dict[str, Any]]:
    """`app.openapi`, with the names of the models and the limits put in."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        shapes = document["components"]["schemas"]
        # FastAPI describes no answer but JSON; the lines of a stream are ours to describe.
        line = Line.model_json_schema(ref_template=_PLACE)
        shapes |= {**line.pop("$defs"), **shapes, "Line": line}
        fields = shapes["Ask"]["properties"]
        fields["text"]["maxLength"] = answers.limits.characters
        fields["model"]["anyOf"][0]["enum"] = list(answers.models)
        return document

    return openapi
