"""`Prefix`: the words before a verb and the number of the verb, one labelled example."""

from dataclasses import dataclass

SINGULAR, PLURAL = 0, 1
MAX_WORDS = 62  # the model has 64 positions: these words, CLS and the end marker


@dataclass(frozen=True, slots=True)
class Prefix:
    """The words before a verb and the verb's number.

    Parameters
    ----------
    words
        The words. The corpus replaces rare words by their part of speech.
    number
        The label: SINGULAR or PLURAL.
    attractors
        Number of nouns of the other number between subject and verb; None if not counted.
    subject
        Position of the subject; None if unknown.
    count
        How often this prefix occurs in its file.
    rest
        The words of the sentence from the verb on; empty if unknown.

    Examples
    --------
    >>> prefix = Prefix(("the", "key", "to", "the", "cabinets"), SINGULAR, 1, subject=1)
    >>> prefix.words[prefix.subject], prefix.text
    ('key', 'the key to the cabinets')
    """

    words: tuple[str, ...]
    number: int
    attractors: int | None = None
    subject: int | None = None
    count: int = 1
    rest: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The words separated by spaces."""
        return " ".join(self.words)
