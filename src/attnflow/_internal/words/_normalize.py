"""Normalization of texts, so that a text and its tokens can be compared."""

import functools
import itertools
import unicodedata
from typing import NamedTuple

# SentencePiece's mark for a space.
_LOWER_BLOCK = "\u2581"
# Decoders insert it for invalid bytes; BERT removes it.
_REPLACEMENT = "\ufffd"


class NormalizedChar(NamedTuple):
    """A normalized character, " " for any white space, and the offset of its original."""

    char: str
    offset: int


def normalize(text: str) -> list[NormalizedChar]:
    """Return a text decomposed (NFKD) and case-folded.

    Lower-casing and Unicode's four normal forms do not change the result. Only characters that a
    tokenizer removes, such as accents, make a difference.

    >>> "".join(char for char, _ in normalize("Ｃａｆé ﬁ")) == "cafe\u0301 fi"
    True
    """
    chars = [NormalizedChar(c, offset) for offset, char in enumerate(text) for c in _fold(char)]
    # Combining marks of one letter may have any order; Unicode defines a canonical one.
    runs = itertools.groupby(chars, key=lambda item: unicodedata.combining(item.char) > 0)
    return [
        item
        for combining, run in runs
        for item in (
            sorted(run, key=lambda item: unicodedata.combining(item.char)) if combining else run
        )
    ]


@functools.lru_cache(maxsize=4096)  # more than the alphabets of most texts; chosen by eye
def may_be_dropped(char: str) -> bool:
    """Return whether tokenizers remove a normalized character: spaces, marks, control characters.

    >>> may_be_dropped(" "), may_be_dropped("a")
    (True, False)
    """
    return char in (" ", _REPLACEMENT) or unicodedata.category(char)[0] in "CM"


def is_mark(char: str) -> bool:
    """Return whether a character belongs to the one before: accents and invisible formatting.

    >>> is_mark("\u0301"), is_mark("e")
    (True, False)
    """
    category = unicodedata.category(char)
    return category[0] == "M" or category == "Cf"


@functools.lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    if char.isspace() or char == _LOWER_BLOCK:
        return " "
    # Marks keep their case: the case fold of an iota subscript is a letter.
    return "".join(
        part if unicodedata.combining(part) else _decompose(part.casefold())
        for part in _decompose(char)
    )


def _decompose(char: str) -> str:
    return unicodedata.normalize("NFKD", char)
