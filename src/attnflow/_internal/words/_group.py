"""Group tokens into words."""

import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnflow._internal.words._spans import Span, strip_span, word_spans
from attnflow.errors import InputError


class Word(NamedTuple):
    """Characters of a word and the tokens it consists of; span None for tokens such as [CLS]."""

    span: Span | None
    pieces: tuple[int, ...]


def group_tokens(spans: Sequence[Span | None], text: str) -> list[Word]:
    """Return the words of the text, each with its tokens; every token is in exactly one word.

    Words that share a token become one. A token without a span is a word of its own. So are tokens
    of white space, except that those with the same characters form one word. A token with an empty
    span belongs to the white space before it, otherwise to the word that begins or ends there, and
    otherwise it has no span.

    Spans beyond the end of the text, or not from left to right, are an InputError.

    >>> group_tokens([None, (0, 3), (3, 5), (5, 7), None], "don't: no")[1:4]
    [Word(span=(0, 5), pieces=(1, 2)), Word(span=(5, 6), pieces=(3,)), Word(span=None, pieces=(4,))]
    """
    for token, span in enumerate(spans):
        if span and not 0 <= span[0] <= span[1] <= len(text):
            raise InputError(
                f"spans: token {token} has characters {span}, but the text has {len(text)}. These "
                "are spans of another text; pass the text that was tokenized"
            )
    words = word_spans(text)
    widened = [span and _widen(span, text, words) for span in spans]
    joined = _join(span for span in widened if span)
    starts = [start for start, _ in joined]
    pieces: dict[Span | int, list[int]] = {}
    furthest = 0
    for token, span in enumerate(widened):
        key = joined[bisect.bisect(starts, span[0]) - 1] if span else token
        if isinstance(key, tuple):
            if key[0] < furthest:
                raise InputError(
                    f"spans: expected spans from left to right, got {spans[token]} for token "
                    f"{token} after a later one. Pass the tokens in the order of the text"
                )
            furthest = key[0]
        pieces.setdefault(key, []).append(token)
    return [
        Word(None if isinstance(key, int) else key, tuple(tokens)) for key, tokens in pieces.items()
    ]


def word_names(words: Iterable[Word], tokens: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the characters of each word; for a word without characters, its token.

    >>> word_names([Word(None, (0,)), Word((0, 4), (1, 2))], ["<s>", "a", "b"], "Keys")
    ('<s>', 'Keys')
    """
    return tuple(text[slice(*word.span)] if word.span else tokens[word.pieces[0]] for word in words)


def _widen(span: Span, text: str, words: Sequence[Span]) -> Span | None:
    """Return a span widened to complete words; white space stays as it is."""
    start, end = strip_span(span, text)
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


def _join(spans: Iterable[Span]) -> list[Span]:
    """Return the spans from left to right, those that share characters joined."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
