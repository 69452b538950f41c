"""`leave_span_out`: words or phrases replaced as a whole, and how much the answer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from attnflow.errors import InputError
from attnflow.importance._ablate import Replace, changes, replacement
from attnflow.importance._example import examples_of
from attnflow.importance._question import Asking
from attnflow.importance._spans import Spans, spans_of
from attnflow.models.inputs import unwrap_compiled
from attnflow.types import Importance, Origin, Span, word_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.importance._score import Score
    from attnflow.importance._target import Target


@overload
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    spans: Spans = "words",
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance: ...
@overload
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    spans: Literal["words"] | Sequence[Sequence[Span]] = "words",
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> list[Importance]: ...
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: str | list[str] | tuple[str, ...],
    spans: Spans | Sequence[Sequence[Span]] = "words",
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance | list[Importance]:
    """How much the answer of a model changes when all tokens of a word or phrase are replaced.

    `values[s] = |p(t | x) − p(t | x with every token of span s replaced)|`: blank-out with spans in
    place of tokens. A span of one token has the value that `blank_out` gives the token.

    Parameters
    ----------
    model, tokenizer, target, replace, score, signed, position, truncate, batch_size, progress
        As for `blank_out`.
    text
        A text, or a list of texts that gives a list of results.
    spans
        "words" for every word, special tokens apart, the columns of `TokenAttention.to_words`; or
        characters (start, end), which may overlap. A token is of a span that holds at least half
        of its characters. For a list of texts, a list of such lists.

    Notes
    -----
    One forward pass for each span and one more, many at a time.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import torch
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> from attnflow.importance import leave_span_out
    >>> inner = Tokenizer(models.WordLevel({"?": 0, "the": 1, "key": 2, "old": 3}, unk_token="?"))
    >>> inner.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?")
    >>> class Counts(torch.nn.Module):
    ...     def forward(self, ids):
    ...         return torch.stack([(ids == 1).sum(1), (ids > 1).sum(1)], 1).float()
    >>> i = leave_span_out(Counts(), tokenizer, "the old key", [(4, 11), (0, 3)], score="logit")
    >>> i.tokens, i.values
    (('old key', 'the'), array([2., 0.]))
    """
    model = unwrap_compiled(model)
    if not isinstance(cast("object", text), str | list | tuple):
        raise InputError(
            f"a {type(text).__name__} came; spans are characters, so the text itself is wanted"
        )
    examples, single = examples_of(model, tokenizer, text, position=position, truncate=truncate)
    asking = Asking.of(model, tokenizer, score=score, target=target, count=len(examples))
    blank, name = replacement(model, tokenizer, replace, examples)
    chosen = spans_of(spans, examples, single=single)
    groups = [
        [tuple(example.kept[piece] for piece in word.pieces) for word in found]
        for example, found in zip(examples, chosen, strict=True)
    ]
    found = changes(
        asking,
        examples,
        groups,
        blank=blank,
        batch_size=batch_size,
        signed=signed,
        progress=progress,
    )
    made = {"replace": replace, "replaced_by": name, "signed": signed}
    results = [
        Importance(
            values,
            word_names(left_out, example.tokens, example.text),
            "leave_span_out",
            {**question.settings, **made},
            Origin(spans=tuple(word.span for word in left_out), text=example.text),
        )
        for example, left_out, (values, question) in zip(examples, chosen, found, strict=True)
    ]
    return results[0] if single else results
