"""Align tokens with the characters of a text, without the tokenizer."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from attnflow._internal.words._decode import Kind, TokenRun, decodings
from attnflow._internal.words._match import (
    AlignmentError,
    NormalizedText,
    TokenSpans,
    enclosing_span,
    match_runs,
)
from attnflow._internal.words._normalize import is_mark
from attnflow._internal.words._spans import Span, strip_span
from attnflow.errors import InputError

_NOT_SPACE = re.compile(r"\S+")


def align(
    tokens: Sequence[str],
    text: str,
    *,
    special: Collection[str] | None = None,
    truncated: bool = False,
) -> tuple[Span | None, ...]:
    """Return the characters (start, end) of the text for each token, None for special tokens.

    For tokenizers that give no offsets. Tokens are matched from left to right. Supported are
    WordPiece, byte-level BPE, SentencePiece with byte tokens, BPE with end marks and plain words;
    lower-casing, stripped accents, compatibility forms and removed control characters. Spans have
    no white space at their ends, except that a token of white space keeps it. An unknown token has
    the characters between its neighbours. Several in a row have one word each if there are as many
    words, otherwise all of them together. A token without a match is an InputError.

    `special` are the special tokens, by default all that look like [CLS], </s> or <|endoftext|>. A
    special token whose name is in the text, as [MASK] may be, has these characters. If the text is
    `truncated`, it may continue after the last token.

    >>> align(["[CLS]", "un", "##believ", "##able", "cafe", "[SEP]"], "Unbelievable café")
    (None, (0, 2), (2, 8), (8, 12), (13, 17), None)
    >>> align(["Ġhi", "ĠðŁĺ", "Ĭ"], "hi 😊")
    ((0, 2), (3, 4), (3, 4))
    """
    source = NormalizedText.of(text)
    errors: list[AlignmentError] = []
    for runs in decodings(tokens, special):
        try:
            found = _align(runs, source, truncated=truncated)
        except AlignmentError as error:
            errors.append(error)
        else:
            spans = (found.get(token) for token in range(len(tokens)))
            return tuple(span and strip_span(span, text) for span in spans)
    # The decoding that matches most of the text is the tokenizer's.
    raise InputError(_message(max(errors, key=lambda error: error.offset), tokens, text))


class _Block(NamedTuple):
    """Unknown tokens, and the runs after them up to the next unknown token."""

    unknown: list[int]
    known: list[TokenRun]


def _align(runs: Sequence[TokenRun], source: NormalizedText, *, truncated: bool) -> TokenSpans:
    spans: TokenSpans = {}
    at = end = 0  # in the normalized text, in the text
    blocks = list(_blocks(runs, source.text))
    for number, block in enumerate(blocks, start=1):
        to_end = number == len(blocks) and not truncated
        if not block.unknown:
            found, at = match_runs(block.known, source, at, to_end=to_end)
        elif block.known:
            found, at = _match_after_gap(block, source, at, end, to_end=to_end)
        else:
            words = _words(source, at, end, len(source.text))
            if truncated and words:
                # Two unknown tokens may be pieces of one word, so all have the same span.
                words = [enclosing_span(words[: len(block.unknown)])]
            found = _assign(words, block.unknown)
        if not found and block.unknown:
            raise AlignmentError(block.unknown[0], end)
        spans |= found
        end = max((stop for _, stop in found.values()), default=end)
    return spans


def _blocks(runs: Sequence[TokenRun], text: str) -> Iterator[_Block]:
    block = _Block([], [])
    for run in runs:
        if run.kind is Kind.UNKNOWN:
            if block.known:
                yield block
                block = _Block([], [])
            block.unknown.append(run.first)
        elif run.kind is Kind.TEXT or run.text in text:
            block.known.append(run)
    yield block


def _match_after_gap(
    block: _Block, source: NormalizedText, at: int, end: int, *, to_end: bool
) -> tuple[TokenSpans, int]:
    """Match the known tokens at the first position possible; unknown ones have what is before.

    The first position is enough: if the rest of the text can be matched from a later one, it can
    be matched from the first.
    """
    starts_with_space = [item.char for item in block.known[0].chars[:1]] == [" "]
    for start in range(at + 1, len(source.chars)):
        if starts_with_space and source.chars[start].char != " ":
            continue  # after an unknown token a space is never inserted
        try:
            spans, after = match_runs(block.known, source, start, to_end=to_end)
        except AlignmentError:
            continue
        gap_end = min((begin for begin, _ in spans.values()), default=0)
        unknown = _assign(_words(source, at, end, gap_end), block.unknown)
        if unknown:
            return unknown | spans, after
    raise AlignmentError(block.known[0].first, end)


def _assign(words: Sequence[Span], unknown: Sequence[int]) -> TokenSpans:
    """Return one word for each unknown token if there are as many, otherwise all for each.

    As many words as tokens means one each: a token has no space inside, and every word has a
    token.
    """
    if len(words) == len(unknown):
        return dict(zip(unknown, words, strict=True))
    return dict.fromkeys(unknown, enclosing_span(words)) if words else {}


def _words(source: NormalizedText, at: int, start: int, end: int) -> list[Span]:
    """Return the words, separated by spaces, of the text between `start` and `end`."""
    text = source.text
    # Marks at the beginning belong to the letter before, unless there is nothing else. If there is
    # nothing at all, the gap is inside a character with several normalized ones, such as ½.
    after_marks = next((i for i in range(start, end) if not is_mark(text[i])), start)
    inside = source.offset(at)
    for gap in ((after_marks, end), (start, end), (inside, inside + 1)):
        words = [match.span() for match in _NOT_SPACE.finditer(text, *gap)]
        if words:
            return words
    return []


def _message(error: AlignmentError, tokens: Sequence[str], text: str) -> str:
    rest = text[error.offset : error.offset + 20]
    fix = "Pass the text that was tokenized"
    if error.token is None:
        return (
            f"the text continues at character {error.offset} ({rest!r}) after the last token. "
            f"{fix}, without what the model did not read"
        )
    where = f"at character {error.offset} ({rest!r})" if rest else "before the end of the text"
    return f"token {error.token} ({tokens[error.token]!r}) is not found {where}. {fix}"
