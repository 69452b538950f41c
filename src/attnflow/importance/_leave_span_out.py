"""`leave_span_out`: how the score changes when a word or phrase is replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, overload

from attnflow._internal import checks, words
from attnflow._internal.checks import Progress
from attnflow.errors import InputError
from attnflow.importance._ablation import blank_for, score_changes
from attnflow.importance._settings import BlankOutSettings, Replace
from attnflow.models.inputs import Pair, WithTokenizer, takes_pipeline
from attnflow.models.scoring import OneTarget, Score, Scorer, SingleInput, Target
from attnflow.types import Importance, Origin, Span

if TYPE_CHECKING:
    from torch import nn

# Characters (start, end) of a text, or all of its words.
Spans: TypeAlias = Literal["words"] | Sequence[Span]


@overload
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: str | Pair,
    spans: Spans = "words",
    **settings: Unpack[BlankOutSettings],
) -> Importance: ...
@overload
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | list[Pair],
    spans: Literal["words"] | Sequence[Sequence[Span]] = "words",
    **settings: Unpack[BlankOutSettings],
) -> list[Importance]: ...
@overload
def leave_span_out(
    model: WithTokenizer,
    text: str | Pair,
    spans: Spans = "words",
    **settings: Unpack[BlankOutSettings],
) -> Importance: ...
@overload
def leave_span_out(
    model: WithTokenizer,
    text: list[str] | list[Pair],
    spans: Literal["words"] | Sequence[Sequence[Span]] = "words",
    **settings: Unpack[BlankOutSettings],
) -> list[Importance]: ...
@takes_pipeline
def leave_span_out(
    model: nn.Module,
    tokenizer: Any,
    text: str | Pair | list[str] | list[Pair],
    spans: Spans | Sequence[Sequence[Span]] = "words",
    *,
    target: Target = None,
    against: OneTarget = None,
    replace: Replace | None = None,
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance | list[Importance]:
    """Return how much a model's score for the target changes when a word or phrase is replaced.

    `values[s] = |p(t | x) − p(t | x with every token of span s replaced)|`: blank-out of spans. A
    span of one token has the value that `blank_out` gives the token.

    Parameters
    ----------
    model, tokenizer, target, against, replace, score, signed, position
        As for `blank_out`.
    text
        One text gives one result, a list of texts a list.
    spans
        "words" for every word and special token, the columns of `TokenAttention.to_words`; or
        characters (start, end), which may overlap. A token belongs to a span that contains at least
        half of its characters. For a list of texts, a list of such lists.
    truncate, batch_size, progress
        As for `blank_out`.

    Notes
    -----
    One row for each span and one more, in batches.
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
    if not isinstance(cast("object", text), str | list | tuple):
        raise InputError(
            f"text: expected a str or a list of them, since spans are characters, got "
            f"{type(text).__name__}"
        )
    scorer = Scorer.of(
        model, tokenizer, text, score, target, against=against, position=position, truncate=truncate
    )
    blank = blank_for(scorer, replace)
    chosen = _spans_of(spans, scorer)
    changes = score_changes(
        scorer,
        [
            [tuple(item.kept[piece] for piece in word.pieces) for word in own]
            for item, own in zip(scorer.inputs, chosen, strict=True)
        ],
        blank,
        batch_size=batch_size,
        signed=signed,
        progress=progress,
    )
    made = {**blank.settings, "signed": signed}
    results = [
        Importance(
            values,
            words.word_names(own, item.tokens, item.text),
            "leave_span_out",
            {**found.settings, **made},
            Origin(spans=tuple(word.span for word in own), text=item.text),
        )
        for item, own, (values, found) in zip(scorer.inputs, chosen, changes, strict=True)
    ]
    return scorer.one_or_all(results)


def _spans_of(spans: object, scorer: Scorer) -> list[list[words.Word]]:
    """Return the spans of each text with the tokens that belong to them."""
    if spans == "words":
        return [words.group_tokens(_token_spans(item), item.text) for item in scorer.inputs]
    if isinstance(spans, str) or not isinstance(spans, Iterable):
        raise InputError(f"spans: expected 'words' or a list of (start, end), got {spans!r}")
    lists: list[Any] = [spans] if scorer.single else list(cast("Iterable[Any]", spans))
    if len(lists) != (count := len(scorer.inputs)):
        raise InputError(f"spans: expected {count} lists, one for each text, got {len(lists)}")
    return [_of_text(own, item) for own, item in zip(lists, scorer.inputs, strict=True)]


def _token_spans(item: SingleInput) -> tuple[Span | None, ...]:
    if item.origin is not None and item.origin.spans is not None:
        return item.origin.spans
    return words.align(item.tokens, item.text)


def _of_text(spans: Any, item: SingleInput) -> list[words.Word]:
    tokens, text = _token_spans(item), item.text
    found: list[words.Word] = []
    for number, span in enumerate(spans):
        ends = checks.as_ints(span, f"span {number}")
        if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= len(text):
            raise InputError(
                f"span {number}: expected (start, end) within the {len(text)} characters of the "
                f"text, got {span!r}"
            )
        start, end = ends
        pieces = tuple(i for i, token in enumerate(tokens) if token and _holds(start, end, token))
        if not pieces:
            raise InputError(
                f"span {number}, characters {start} to {end} {text[start:end]!r}, contains no "
                "token, or less than half of each; pass complete words that the model reads"
            )
        found.append(words.Word((start, end), pieces))
    if not found:
        raise InputError("spans is empty; pass at least one (start, end)")
    return found


def _holds(start: int, end: int, token: Span) -> bool:
    """Whether a span contains at least half of a token's characters, and at least one."""
    shared = min(end, token[1]) - max(start, token[0])
    return shared > 0 and 2 * shared >= token[1] - token[0]
