"""The work behind an answer: a text through a model, as bytes of JSON."""

import hashlib
import json
from dataclasses import astuple, dataclass

from attnflow.evaluate import explain, explanation_document
from attnflow.models import Loaded, count_tokens, token_limit
from attnflow.view import page_data
from attnflow.view.app._jobs import Progress, Report
from attnflow.view.app._limits import Limits
from attnflow.view.app._refusal import Refusal


@dataclass(frozen=True, slots=True)
class Question:
    """All that an answer depends on, besides the models themselves."""

    model: str
    text: str
    layer: int | None
    query: int | None
    target: int | str | None
    replace: int | str
    page: bool

    def key(self) -> str:
        """What equal questions have in common: a digest, so that keys are short."""
        content = json.dumps(astuple(self)).encode()
        return hashlib.blake2b(content, digest_size=16).hexdigest()


def worked_out(question: Question, loaded: Loaded, limits: Limits, report: Report) -> bytes:
    """The answer to a question. `report` is told of every step and may end the work at each."""
    _check_tokens(question.text, loaded, limits)
    pages = int(question.page)  # a step more
    steps = 0  # of `explain`, which tells how many there are

    def told(done: int, total: int) -> None:
        nonlocal steps
        steps = total
        report(Progress("working", done, total + pages))

    report(Progress("working"))
    explanation = explain(
        loaded.model,
        loaded.tokenizer,
        question.text,
        layer=question.layer,
        query=question.query,
        target=question.target,
        replace=question.replace,
        progress=told,
    )
    document = explanation_document(explanation, question.model, loaded.tokenizer)
    if question.page:
        document["page"] = page_data(explanation, progress=lambda _done, _total: told(steps, steps))
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def _check_tokens(text: str, loaded: Loaded, limits: Limits) -> None:
    """Refuse a text of too many tokens before the model sees any.

    For the app, and for the model: what the library advises there is for callers in Python.
    """
    count = count_tokens(loaded.tokenizer, text)
    if count > limits.tokens:
        raise Refusal(
            422,
            "too_many_tokens",
            f"the text has {count} tokens, and at most {limits.tokens} are allowed; shorten it, or "
            "raise --max-tokens where the app is started",
        )
    most = token_limit(loaded.model)
    if most is not None and count > most:
        raise Refusal(
            422,
            "too_many_tokens",
            f"the text has {count} tokens, and the model takes {most}; shorten it",
        )
