"""Words and phrases of a text, and which tokens they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from attnflow._internal import checks, words
from attnflow.errors import InputError
from attnflow.types import Span

if TYPE_CHECKING:
    from attnflow.importance._example import Example

# Characters (start, end) of a text, as many as wanted; or all of its words.
Spans: TypeAlias = Literal["words"] | Sequence[Span]


def spans_of(spans: object, examples: Sequence[Example], *, single: bool) -> list[list[words.Word]]:
    """For each example what is left out in turn: characters, and the tokens that hold them."""
    if isinstance(spans, str):
        if spans != "words":
            raise InputError(f"spans is {spans!r}; use words, or a list of characters (start, end)")
        return [words.group_tokens(_placed(example), example.text) for example in examples]
    if not isinstance(spans, Iterable):
        raise InputError(f"spans is {spans!r}; a list of characters (start, end) is wanted")
    each: list[Any] = [spans] if single else list(cast("Iterable[Any]", spans))
    if len(each) != len(examples):
        raise InputError(
            f"{len(each)} lists of spans came for {len(examples)} texts; give one for each text"
        )
    return [_of_text(part, example) for part, example in zip(each, examples, strict=True)]


def _placed(example: Example) -> tuple[Span | None, ...]:
    """The characters of the tokens."""
    if example.origin is not None and example.origin.spans is not None:
        return example.origin.spans
    return words.align(example.tokens, example.text)


def _of_text(spans: Any, example: Example) -> list[words.Word]:
    placed, text = _placed(example), example.text
    found: list[words.Word] = []
    for number, span in enumerate(spans):
        ends = checks.as_ints(span, f"span {number}")
        if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= len(text):
            raise InputError(
                f"span {number} is {span!r}; (start, end) within the text's {len(text)} characters "
                "is wanted"
            )
        start, end = ends
        pieces = tuple(i for i, token in enumerate(placed) if token and _holds(start, end, token))
        if not pieces:
            raise InputError(
                f"span {number} ({start}, {end}) {text[start:end]!r} holds no token, or less than "
                "half of each; give whole words, of what the model has read of the text"
            )
        found.append(words.Word((start, end), pieces))
    if not found:
        raise InputError("spans is empty; give at least one (start, end)")
    return found


def _holds(start: int, end: int, token: Span) -> bool:
    """Whether a span holds at least half of a token's characters, and at least one."""
    shared = min(end, token[1]) - max(start, token[0])
    return shared > 0 and 2 * shared >= token[1] - token[0]
