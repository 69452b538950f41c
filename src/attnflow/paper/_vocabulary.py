"""Words and their numbers: the vocabulary of the verb-number model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnflow.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# MASK stands for words that are hidden in training; <?> is the paper's mark of the verb's place.
PAD, MASK, CLS, END = "[PAD]", "[MASK]", "[CLS]", "<?>"
SPECIAL = (PAD, MASK, CLS, END)
UNK = "[UNK]"  # is not trained: see `Vocabulary.with_unknown`


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a model knows, in the order of their numbers; the four special ones come first.

    Examples
    --------
    >>> vocabulary = Vocabulary.of([["the", "key"], ["the", "cabinets"]])
    >>> vocabulary.encode(["the", "key"])
    [2, 4, 6, 3]
    >>> vocabulary.words[4]
    'the'
    """

    words: tuple[str, ...]
    numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise InputError(
                f"a vocabulary begins with {', '.join(SPECIAL)}, and this one with "
                f"{', '.join(self.words[: len(SPECIAL)]) or 'nothing'}"
            )
        numbers = {word: number for number, word in enumerate(self.words)}
        if len(numbers) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise InputError(f"{twice!r} stands in the vocabulary twice")
        object.__setattr__(self, "numbers", numbers)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], *, size: int = 10_000) -> Vocabulary:
        """The `size` most common words of `texts` beside the special ones; ties by the alphabet."""
        counts = Counter(word for text in texts for word in text)
        for special in (*SPECIAL, UNK):
            _ = counts.pop(special, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *ranked[:size]))

    def with_unknown(self) -> Vocabulary:
        """The same with UNK at the end: the vocabulary of a trained model.

        The corpus has no unknown words, since it replaces rare ones by their part of speech. So UNK
        is nothing that could be learnt, in the paper as here, and blank-out, which puts it in the
        place of a word, takes the word away.
        """
        return self if UNK in self else Vocabulary((*self.words, UNK))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.numbers

    def encode(self, words: Iterable[str]) -> list[int]:
        """Numbers of CLS, the words and the end marker; an unknown word gets UNK's.

        In training, where there is no UNK, it is a hidden word.
        """
        unknown = self.numbers.get(UNK, self.numbers[MASK])
        inner = [self.numbers.get(word, unknown) for word in words]
        return [self.numbers[CLS], *inner, self.numbers[END]]
