"""What a job computes: the explanation of a text as JSON bytes."""

import hashlib
import json

from attnflow.evaluate import explain, explanation_document
from attnflow.models import Loaded, count_tokens, token_limit
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
    _check_tokens(request, loaded, limits)
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
        request.text,
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


def _check_tokens(request: ExplainRequest, loaded: Loaded, limits: Limits) -> None:
    """Reject a text with too many tokens for the app or the model, before any forward pass."""
    count, most = count_tokens(loaded.tokenizer, request.text), token_limit(loaded.model)
    if request.truncate and most is not None:
        count = min(count, most)
    if count > limits.tokens:
        raise ErrorResponse(
            422,
            "too_many_tokens",
            f"expected at most {limits.tokens} tokens, got {count}; shorten the text, or start the "
            "app with a larger --max-tokens",
        )
    if most is not None and count > most:
        raise ErrorResponse(
            422,
            "too_many_tokens",
            f"the model takes at most {most} tokens, got {count}; shorten the text, or send "
            "truncate: true",
        )
