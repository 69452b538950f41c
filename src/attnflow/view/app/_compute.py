"""What a job computes: the explanation of a text as JSON bytes."""

import hashlib
import json
from typing import Any

from attnflow.errors import InputError
from attnflow.evaluate import explain, explanation_document
from attnflow.models import Loaded, count_tokens, token_limit
from attnflow.models.inputs import Inputs, checked_model, prepare
from attnflow.view import page_data
from attnflow.view.app._errors import ErrorResponse
from attnflow.view.app._jobs import Report
from attnflow.view.app._limits import Limits
from attnflow.view.app._schemas import ExplainRequest, JobProgress


def cache_key(request: ExplainRequest) -> str:
    """Return the key of a result in the cache: a digest, so that keys are short."""
    content = json.dumps(request.model_dump()).encode()  # ASCII, also of lone surrogates
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def compute(request: ExplainRequest, loaded: Loaded, limits: Limits, report: Report) -> bytes:
    """Return the result as JSON. `report` is called at every step and may raise to end the work."""
    inputs: Any = _inputs(request, loaded, limits)
    page_steps = int(request.page)
    explain_steps = 0

    def progress(done: int, total: int) -> None:
        nonlocal explain_steps
        explain_steps = total
        report(JobProgress(state="working", done=done, total=total + page_steps))

    report(JobProgress(state="working"))
    explanation = explain(
        loaded.model,
        loaded.tokenizer,
        inputs,
        **request.model_dump(exclude={"text", "model", "page"}),
        progress=progress,
    )
    document = explanation_document(explanation, str(request.model), loaded.tokenizer)
    if request.page:
        document["page"] = page_data(
            explanation,
            progress=lambda _done, _total: progress(explain_steps, explain_steps),
        )
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def _inputs(request: ExplainRequest, loaded: Loaded, limits: Limits) -> Inputs:
    """Return the text as the input of the model, with not too many tokens for it and the app."""
    model, tokenizer, text = checked_model(loaded.model), loaded.tokenizer, request.text
    try:
        inputs = prepare(model, tokenizer, text, truncate=request.truncate)
    except InputError:
        count, most = count_tokens(tokenizer, text), token_limit(model)
        if most is None or count <= most or request.truncate:
            raise
        raise _too_many_tokens(
            f"the model takes at most {most} tokens, got {count}; shorten the text. In a request "
            "to the HTTP API, truncate: true cuts it off"
        ) from None
    count = len(inputs.sources[0].tokens or ())
    if count > limits.tokens:
        raise _too_many_tokens(
            f"expected at most {limits.tokens} tokens, got {count}; shorten the text, or start the "
            "app with a larger --max-tokens"
        )
    return inputs


def _too_many_tokens(message: str) -> ErrorResponse:
    return ErrorResponse(422, "too_many_tokens", message)
