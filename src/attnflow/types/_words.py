"""A text as the words that a model's tokens are pieces of."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnflow._internal.words import Word, align, grouped
from attnflow.errors import InputError
from attnflow.types._origin import Origin


class Reading(NamedTuple):
    """Words in place of tokens: their pieces, their names and where they come from."""

    words: list[Word]
    names: tuple[str, ...]
    origin: Origin


def read_words(tokens: Sequence[str], text: object, origin: Origin | None) -> Reading:
    """The words of the text that a model read, `origin.text` where `text` is None.

    >>> found = read_words(["the", "key", "##s"], "The keys", None)
    >>> found.names, found.words[1].pieces
    (('The', 'keys'), (1, 2))
    """
    kept = origin.text if origin else None
    text = kept if text is None else text
    if not isinstance(text, str):
        raise InputError(f"text is {text!r}; the text that the model read is wanted")
    if kept is not None and kept != text:
        raise InputError(
            f"the text begins with {text[:20]!r}, and is not the one that the model read: that is "
            f"in origin.text and begins with {kept[:20]!r}; leave text out"
        )
    spans = origin.spans if origin else None
    found = grouped(align(tokens, text) if spans is None else spans, text)
    given = len(tokens) - (origin.generated if origin else 0)
    made = Origin(
        spans=tuple(word.span for word in found),
        generated=sum(word.pieces[0] >= given for word in found),
        text=kept,
    )
    return Reading(found, word_names(found, tokens, text), made)


def word_names(found: Iterable[Word], tokens: Sequence[str], text: str) -> tuple[str, ...]:
    """What words are called: as they stand in the text, and as their token where they have none.

    >>> word_names([Word(None, (0,)), Word((0, 4), (1, 2))], ["<s>", "a", "b"], "Keys")
    ('<s>', 'Keys')
    """
    return tuple(text[slice(*word.span)] if word.span else tokens[word.pieces[0]] for word in found)
