"""Texts in the one form that they keep through everything a tokenizer does to them."""

import functools
import itertools
import unicodedata
from typing import NamedTuple

# SentencePiece's mark for a space.
_LOWER_BLOCK = "\u2581"
# Put for bytes that are no text; BERT drops it.
_REPLACEMENT = "\ufffd"


class Unit(NamedTuple):
    """A letter of the folded form, " " for any white space, and the character it comes from."""

    letter: str
    char: int


def units_of(text: str) -> list[Unit]:
    """A text decomposed and without case, so that the forms of a letter are all the same.

    Lower case, Unicode's four normal forms, and all of them together give the same units. Only
    what is left out of a text, such as accents, makes a difference.

    >>> "".join(unit.letter for unit in units_of("Ｃａｆé ﬁ")) == "cafe\u0301 fi"
    True
    """
    units = [Unit(letter, char) for char, each in enumerate(text) for letter in _folded(each)]
    # Marks on one letter may come in any order; Unicode has a canonical one.
    runs = itertools.groupby(units, key=lambda unit: unicodedata.combining(unit.letter) > 0)
    return [
        unit
        for marks, run in runs
        for unit in (
            sorted(run, key=lambda unit: unicodedata.combining(unit.letter)) if marks else run
        )
    ]


@functools.lru_cache(maxsize=4096)  # more than the alphabets of most texts; chosen by eye
def may_be_dropped(letter: str) -> bool:
    """Whether tokenizers leave it out: spaces, marks, control characters and the like.

    >>> may_be_dropped(" "), may_be_dropped("a")
    (True, False)
    """
    return letter in (" ", _REPLACEMENT) or unicodedata.category(letter)[0] in "CM"


def is_mark(char: str) -> bool:
    """Whether it goes with the letter before: accents, and invisible formatting.

    >>> is_mark("\u0301"), is_mark("e")
    (True, False)
    """
    category = unicodedata.category(char)
    return category[0] == "M" or category == "Cf"


@functools.lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if char.isspace() or char == _LOWER_BLOCK:
        return " "
    # Marks keep their case: a small iota below is a mark, and dropped as such.
    return "".join(
        letter if unicodedata.combining(letter) else _decomposed(letter.casefold())
        for letter in _decomposed(char)
    )


def _decomposed(char: str) -> str:
    return unicodedata.normalize("NFKD", char)
