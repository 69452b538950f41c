"""The words of a text that a model's tokens are pieces of."""

from collections.abc import Sequence
from typing import NamedTuple

from attnflow._internal.words import Word, align, group_tokens, word_names
from attnflow.errors import InputError
from attnflow.types._origin import Origin


class TextWords(NamedTuple):
    """Words of a text: their tokens, their names, and the origin of the words as positions."""

    words: list[Word]
    names: tuple[str, ...]
    origin: Origin


def read_words(tokens: Sequence[str], text: object, origin: Origin | None) -> TextWords:
    """Return the words of `text`, by default of `origin.text`, with the tokens of each.

    >>> found = read_words(["the", "key", "##s"], "The keys", None)
    >>> found.names, found.words[1].pieces
    (('The', 'keys'), (1, 2))
    """
    stored = origin.text if origin else None
    text = stored if text is None else text
    if not isinstance(text, str):
        raise InputError(f"text must be the text that was tokenized, got {text!r}")
    if stored is not None and stored != text:
        raise InputError(
            f"text: expected origin.text, which begins with {stored[:20]!r}, got one that begins "
            f"with {text[:20]!r}. Leave text out"
        )
    spans = origin.spans if origin else None
    words = group_tokens(align(tokens, text) if spans is None else spans, text)
    n_given = len(tokens) - (origin.generated if origin else 0)
    word_origin = Origin(
        spans=tuple(word.span for word in words),
        generated=sum(word.pieces[0] >= n_given for word in words),
        text=stored,
    )
    return TextWords(words, word_names(words, tokens, text), word_origin)
