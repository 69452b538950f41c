"""Match decoded tokens with a text, one normalized character after the other."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Self, TypeAlias

from attnflow._internal.words._decode import Kind, TokenRun
from attnflow._internal.words._normalize import NormalizedChar, may_be_dropped, normalize
from attnflow._internal.words._spans import Span

TokenSpans: TypeAlias = dict[int, Span]  # index of a token → characters of the text


class AlignmentError(Exception):
    """Token `token` does not match the text at character `offset`.

    If `token` is None, the text continues there after the last token.
    """

    def __init__(self, token: int | None, offset: int) -> None:
        super().__init__(token, offset)
        self.token, self.offset = token, offset


class NormalizedText(NamedTuple):
    """A text and its normalized characters."""

    text: str
    chars: list[NormalizedChar]

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(text, normalize(text))

    def offset(self, at: int) -> int:
        """Return the offset in `text` of `chars[at]`; after the last one, the end of the text."""
        return self.chars[at].offset if at < len(self.chars) else len(self.text)

    def has(self, char: str, at: int) -> bool:
        return at < len(self.chars) and self.chars[at].char == char

    def skip_to(self, char: str, at: int) -> int:
        """Return where `char` is from `at` on, if only droppable characters are before it."""
        while at < len(self.chars) and not self.has(char, at):
            if not may_be_dropped(self.chars[at].char):
                break
            at += 1
        return at


def match_runs(
    runs: Sequence[TokenRun], source: NormalizedText, at: int, *, to_end: bool
) -> tuple[TokenSpans, int]:
    """Return the spans of tokens that begin at `source.chars[at]`, and the position after them.

    A special token has a span only if its name is in the text. With `to_end`, nothing but
    droppable characters may follow. Raises AlignmentError.

    >>> from attnflow._internal.words._decode import decodings
    >>> runs = next(decodings(["a", "Ġb"], None))
    >>> match_runs(runs, NormalizedText.of("a  B."), 0, to_end=False)
    ({0: (0, 1), 1: (1, 4)}, 4)
    """
    spans: TokenSpans = {}
    for number, run in enumerate(runs):
        if run.kind is Kind.TEXT or _name_is_next(runs[number:], source, at):
            chars, at = _match_run(run, source, at)
            for token, (start, end) in enumerate(run.parts, start=run.first):
                if start < end:
                    spans[token] = enclosing_span(chars[start:end])
    if to_end:
        rest = (item.offset for item in source.chars[at:] if not may_be_dropped(item.char))
        if (offset := next(rest, None)) is not None:
            raise AlignmentError(None, offset)
    return spans, at


def enclosing_span(spans: Collection[Span]) -> Span:
    """Return the smallest span around all; empty spans count only if there are no others.

    >>> enclosing_span([(0, 0), (3, 4), (4, 6)])
    (3, 6)
    """
    wide = [span for span in spans if span[0] < span[1]] or spans
    return min(start for start, _ in wide), max(end for _, end in wide)


def _name_is_next(runs: Sequence[TokenRun], source: NormalizedText, at: int) -> bool:
    """Return whether the text continues with the name of special token `runs[0]` itself.

    It does not if the same characters match the tokens of text that follow.
    """
    following = next((run for run in runs if run.kind is Kind.TEXT), None)
    return _matches(runs[0], source, at) and not (following and _matches(following, source, at))


def _matches(run: TokenRun, source: NormalizedText, at: int) -> bool:
    try:
        _ = _match_run(run, source, at)
    except AlignmentError:
        return False
    return True


def _match_run(run: TokenRun, source: NormalizedText, at: int) -> tuple[list[Span], int]:
    """Return the span of each character of a run, and the position after them.

    Characters that tokenizers drop are skipped. A space that a tokenizer inserted has an empty
    span.
    """
    starts, ends = [len(source.text)] * len(run.text), [0] * len(run.text)
    for char, index in run.chars:
        before = at
        if char != " ":
            at = source.skip_to(char, at)
        found = source.has(char, at)
        if not found and char != " ":
            raise AlignmentError(run.token_of(index), source.offset(before))
        start = source.offset(at)
        starts[index] = min(starts[index], start)
        ends[index] = max(ends[index], start + found)
        at += found
    return list(zip(starts, ends, strict=True)), at
