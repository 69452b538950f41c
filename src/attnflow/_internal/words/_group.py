"""Which tokens make a word."""

import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnflow._internal.words._segment import Span, stripped, word_spans
from attnflow.errors import InputError


class Word(NamedTuple):
    """Tokens that make a word, and its characters; None where it has none, as [CLS]."""

    span: Span | None
    pieces: tuple[int, ...]


def grouped(spans: Sequence[Span | None], text: str) -> list[Word]:
    """Tokens put together to words of the text: each token in exactly one, in their order.

    Words that share a token are joined to one. A token without a span stays apart, and so does one
    of nothing but white space, together only with other pieces of the same characters. A token of
    no width is the white space right before it, if there is some; else it is a piece of the word
    that begins there, or ends there. Where there is neither it has no characters.

    Spans that go beyond the end of the text, or back in it, are an InputError.

    >>> grouped([None, (0, 3), (3, 5), (5, 7), None], "don't: no")[1:4]
    [Word(span=(0, 5), pieces=(1, 2)), Word(span=(5, 6), pieces=(3,)), Word(span=None, pieces=(4,))]
    """
    _refuse_another_text(spans, text)
    words = word_spans(text)
    extents = [span and _extent(span, text, words) for span in spans]
    joined = _joined(extent for extent in extents if extent)
    starts = [start for start, _ in joined]
    pieces: dict[Span | int, list[int]] = {}
    furthest = 0
    for token, extent in enumerate(extents):
        key = joined[bisect.bisect(starts, extent[0]) - 1] if extent else token
        if isinstance(key, tuple):
            if key[0] < furthest:
                raise InputError(
                    f"token {token} has the characters {spans[token]}, before those of an earlier "
                    "token; spans of one text from left to right are wanted"
                )
            furthest = key[0]
        pieces.setdefault(key, []).append(token)
    return [
        Word(None if isinstance(key, int) else key, tuple(tokens)) for key, tokens in pieces.items()
    ]


def _refuse_another_text(spans: Sequence[Span | None], text: str) -> None:
    for token, span in enumerate(spans):
        if span and not 0 <= span[0] <= span[1] <= len(text):
            raise InputError(
                f"token {token} has the characters {span}, but the text has {len(text)}: these are "
                "spans of another text; give the very text that the model read"
            )


def _extent(span: Span, text: str, words: Sequence[Span]) -> Span | None:
    """A span widened to whole words; white space as it is."""
    start, end = stripped(span, text)
    if start == end:
        if text[start - 1 : start].isspace():
            start -= 1
        elif text[start : start + 1].strip():
            end += 1
        elif start > 0:
            start -= 1
        else:
            return None
    if text[start:end].isspace():
        return start, end
    return _word_at(start, words)[0], _word_at(end - 1, words)[1]


def _word_at(char: int, words: Sequence[Span]) -> Span:
    return words[bisect.bisect(words, char, key=lambda word: word[0]) - 1]


def _joined(extents: Iterable[Span]) -> list[Span]:
    """Spans that share characters made one, from left to right."""
    joined: list[Span] = []
    for start, end in sorted(extents):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
