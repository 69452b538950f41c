"""The words before a verb, and its number: what the verb-number model reads and what it says."""

from __future__ import annotations

from dataclasses import dataclass

SINGULAR, PLURAL = 0, 1
LONGEST = 62  # words the model takes, beside CLS and the end marker


@dataclass(frozen=True, slots=True)
class Prefix:
    """The words before a verb and the verb's number.

    Parameters
    ----------
    words
        The words, most common ones as they are, the others as their part of speech.
    number
        SINGULAR or PLURAL.
    attractors
        Nouns of the other number between subject and verb; None where nobody counted.
    subject
        Position of the subject; None where it is not known.
    times
        How often this prefix stands in its file: with it, shares are those of natural text.
    rest
        What follows the words in the sentence, the verb first; empty where it is not known.

    Examples
    --------
    >>> prefix = Prefix(("the", "key", "to", "the", "cabinets"), SINGULAR, 1, subject=1)
    >>> prefix.words[prefix.subject]
    'key'
    """

    words: tuple[str, ...]
    number: int
    attractors: int | None = None
    subject: int | None = None
    times: int = 1
    rest: tuple[str, ...] = ()
