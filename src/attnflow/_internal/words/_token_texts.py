"""Characters of tokens, read from the tokens alone."""

import re
import unicodedata
from collections.abc import Sequence

from attnflow._internal.words._decode import (
    BYTE_LEVEL,
    BYTE_LEVEL_ENDS,
    MARKED_BREAKS,
    MARKED_ENDS,
    PLAIN,
    WORD_PIECE,
    Family,
    Kind,
    decode_runs,
)

_BYTE_SPACE = "\u0120"  # Ġ, a space in the alphabet of byte-level tokenizers
_LOWER_BLOCK = "\u2581"  # ▁, a space in SentencePiece
_SURROGATE = re.compile("[\ud800-\udfff]")


def token_texts(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the characters of each token, with its spaces; special tokens keep their names.

    The marks and letters of all tokens tell the family of the tokenizer. Tokens that share a
    character, as those of an emoji do, all have it.

    >>> token_texts(["[CLS]", "play", "##ing"]), token_texts(["<s>", "Ġcaf", "Ã©"])
    (('[CLS]', 'play', 'ing'), ('<s>', ' caf', 'é'))
    """
    texts = list(tokens)
    for run in decode_runs(tokens, _family(tokens)):
        parts = run.parts if run.kind is Kind.TEXT else ()
        for token, part in enumerate(parts, start=run.first):
            if not _SURROGATE.search(tokens[token]):  # it has no bytes, and keeps its name
                texts[token] = run.text[slice(*part)].replace(_LOWER_BLOCK, " ")
    return tuple(texts)


def _family(tokens: Sequence[str]) -> Family:
    """Return the family whose marks the tokens show."""
    # "###" is a token of many families, and no continuation.
    if any(WORD_PIECE.marks(token) and token[2] != "#" for token in tokens):
        return WORD_PIECE
    if any(_LOWER_BLOCK in token for token in tokens):
        return PLAIN
    if any(map(MARKED_ENDS.marks, tokens)):
        return BYTE_LEVEL_ENDS if _is_byte_level(tokens, BYTE_LEVEL_ENDS) else MARKED_ENDS
    if any(map(MARKED_BREAKS.marks, tokens)) and not _has_byte_spaces(tokens):
        return MARKED_BREAKS
    return BYTE_LEVEL if _is_byte_level(tokens, BYTE_LEVEL) else PLAIN


def _has_byte_spaces(tokens: Sequence[str]) -> bool:
    return any(token.startswith(_BYTE_SPACE) for token in tokens)


def _is_byte_level(tokens: Sequence[str], family: Family) -> bool:
    """Return whether the letters of the tokens are bytes of a text."""
    if all(token.isascii() and "\n" not in token for token in tokens):
        return False  # these letters stand for themselves: nothing shows bytes
    runs = decode_runs(tokens, family)
    text = "".join(run.text for run in runs if run.kind is Kind.TEXT)
    controls = {char for char in text if unicodedata.category(char) == "Cc"}
    if _has_byte_spaces(tokens):
        return all(map(str.isspace, controls))  # others are letters of another alphabet
    # Without a mark, letters that would be control characters or no UTF-8 are letters: "č" would be
    # a carriage return, and "é" is the byte E9.
    shows_bytes = "\n" in controls or not text.isascii()
    return shows_bytes and controls <= {"\n"} and "\ufffd" not in text
