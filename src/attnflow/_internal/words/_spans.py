"""Split a text into words."""

import functools
import re
import unicodedata
from typing import TypeAlias

# Characters [start, end) of a text.
Span: TypeAlias = tuple[int, int]

# Each character is first replaced by the letter of its class, and then one expression splits:
#   s  white space                      m  belongs to the character before it: marks, variation
#   w  letters, digits, underscore         selectors, skin tones, invisible formatting
#   c  ideographs and kana              z  the joiner of emoji
#   a  apostrophes                      r  the letters of flags
#   p  symbols and emoji                o  others, such as punctuation
_WORD = re.compile(
    r"""
      w[mz]* (?: a? w[mz]* )*   # an apostrophe between two letters is inside: don't
    | rr[mz]*                   # a flag is a pair
    | p[mz]* (?: (?<=z) p[mz]* )*
    | [^s][mz]*
    """,
    re.VERBOSE,
)

# Ranges of code points, ends included, from Unicode's table of blocks. Ideographs are those that
# BERT's tokenizer splits, and all planes that hold nothing else.
_IDEOGRAPHS_AND_KANA = (
    (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFD),
)  # fmt: skip
_FLAG_LETTERS = ((0x1F1E6, 0x1F1FF),)
# Emoji that this Python does not know yet have no category.
_PICTOGRAPHS = ((0x1F000, 0x1FBFF),)
_SKIN_TONES = ((0x1F3FB, 0x1F3FF),)
_HALFWIDTH_VOICED_MARKS = ((0xFF9E, 0xFF9F),)
# Invisible or enclosing signs before the number or word they belong to.
_SIGNS_BEFORE = (
    (0x0600, 0x0605), (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2),
    (0x110BD, 0x110BD), (0x110CD, 0x110CD),
)  # fmt: skip

_ZERO_WIDTH_SPACE, _ZERO_WIDTH_JOINER = "\u200b", "\u200d"

_CLASSES = (
    ("m", _SKIN_TONES + _HALFWIDTH_VOICED_MARKS),
    ("r", _FLAG_LETTERS),
    ("p", _PICTOGRAPHS),
    ("w", _SIGNS_BEFORE),
)


def word_spans(text: str) -> list[Span]:
    """Return the words of a text as character spans, from left to right.

    A word is a run of letters, digits and underscores with their marks and with single apostrophes
    inside. Each ideograph, kana or other symbol is a word, and so is an emoji or a flag of several
    characters. Every character that is not white space is in exactly one word. Invisible formatting
    belongs to the character before it, except the zero width space, which separates words. Scripts
    without spaces, such as Thai, are not split.

    >>> text = "Don't ask: 東京 👍🏽"
    >>> [text[start:end] for start, end in word_spans(text)]
    ["Don't", 'ask', ':', '東', '京', '👍🏽']
    """
    return [match.span() for match in _WORD.finditer("".join(map(_char_class, text)))]


def strip_span(span: Span, text: str) -> Span:
    """Return a span without white space at its ends; a span of white space stays as it is.

    Tokenizers differ in whether the space before a word belongs to its first token. Spans in an
    Origin have none.

    >>> strip_span((1, 5), "a bcd"), strip_span((1, 2), "a bcd")
    ((2, 5), (1, 2))
    """
    start, end = span
    part = text[start:end]
    if not part or part.isspace():
        return span
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


@functools.lru_cache(maxsize=4096)  # more than the alphabets of most texts; chosen by eye
def _char_class(char: str) -> str:
    if char.isspace():
        return "s"
    if char in "'’＇":  # noqa: RUF001 - also the typographic and the full-width apostrophe
        return "a"
    if char == _ZERO_WIDTH_JOINER:
        return "z"
    for letter, ranges in _CLASSES:
        if _within(char, ranges):
            return letter
    return _class_by_category(char)


def _class_by_category(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "M" or (category == "Cf" and char != _ZERO_WIDTH_SPACE):
        return "m"
    if category[0] in "LN" or char == "_":
        return "c" if _within(char, _IDEOGRAPHS_AND_KANA) else "w"
    return "p" if category[0] == "S" else "o"


def _within(char: str, ranges: tuple[Span, ...]) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)
