"""What a job computes: the explanation of a text as JSON bytes."""

import hashlib
import json
from dataclasses import astuple, dataclass

from attnflow.evaluate import explain, explanation_document
from attnflow.models import Loaded, count_tokens, token_limit
from attnflow.view import page_data
from attnflow.view.app._errors import ErrorResponse
from attnflow.view.app._jobs import JobProgress, Report
from attnflow.view.app._limits import Limits


@dataclass(frozen=True, slots=True)
class ExplainArguments:
    """Everything a result depends on, besides the models themselves."""

    model: str
    text: str
    layer: int | None
    query: int | None
    target: int | str | None
    replace: int | str
    page: bool

    def key(self) -> str:
        """Return the key of the result in the cache: a digest, so that keys are short."""
        content = json.dumps(astuple(self)).encode()
        return hashlib.blake2b(content, digest_size=16).hexdigest()


def compute(arguments: ExplainArguments, loaded: Loaded, limits: Limits, report: Report) -> bytes:
    """Return the result as JSON. `report` is called at every step and may raise to end the work."""
    _check_tokens(arguments.text, loaded, limits)
    page_steps = int(arguments.page)
    explain_steps = 0

    def progress(done: int, total: int) -> None:
        nonlocal explain_steps
        explain_steps = total
        report(JobProgress("working", done, total + page_steps))

    report(JobProgress("working"))
    explanation = explain(
        loaded.model,
        loaded.tokenizer,
        arguments.text,
        layer=arguments.layer,
        query=arguments.query,
        target=arguments.target,
        replace=arguments.replace,
        progress=progress,
    )
    document = explanation_document(explanation, arguments.model, loaded.tokenizer)
    if arguments.page:
        document["page"] = page_data(
            explanation, progress=lambda _done, _total: progress(explain_steps, explain_steps)
        )
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def _check_tokens(text: str, loaded: Loaded, limits: Limits) -> None:
    """Reject a text with too many tokens for the app or the model, before any forward pass."""
    count = count_tokens(loaded.tokenizer, text)
    if count > limits.tokens:
        raise ErrorResponse(
            422,
            "too_many_tokens",
            f"expected at most {limits.tokens} tokens, got {count}; shorten the text, or start the "
            "app with a larger --max-tokens",
        )
    most = token_limit(loaded.model)
    if most is not None and count > most:
        raise ErrorResponse(
            422,
            "too_many_tokens",
            f"the model takes at most {most} tokens, got {count}; shorten the text",
        )
