"""The vocabulary of the verb-number model, and its tokenizer.

The corpus is in lower case except for tags (NNP, JJ), with punctuation and clitics as separate
words: "it 's the king 's , is n't it". Text in this form is unchanged; other text is converted to
it. Offsets refer to the original text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnflow.errors import InputError

# MASK replaces words in training; <?> is the paper's marker at the position of the verb.
PAD, MASK, CLS, END = "[PAD]", "[MASK]", "[CLS]", "<?>"
SPECIAL = (PAD, MASK, CLS, END)
UNK = "[UNK]"  # not trained: see `Vocabulary.with_unknown`

# Typed quotes and dashes, and those of the corpus. A straight quote opens a quotation after a space
# or an opening bracket.
_PUNCTUATION = (
    ("[\u2018\u2019]", "'"),
    (r'“|(?<![^\s(\[])"', "``"),
    ('[”"]', "''"),
    ("—", "--"),
)
# Separate words within a string without spaces, in this order.
_SEPARATE = (
    r"(?:\b[a-zA-Z]\.){2,}",  # an abbreviation with its points: u.s.
    r"``|''|--|\.{2,}|[,;:!?()\[\]{}…]",
    r"\.(?=\W*\z)",
    r"(?<=\w)n't(?!\w)",
    r"(?<=\w)'(?:s|m|re|ve|d|ll)(?!\w)",
    r"(?<!\w)'|'(?!\w)",  # a quote, or the possessive of a plural; not that of o'brien
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a model in the order of their token ids; the four special tokens come first.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_texts([["the", "key"], ["the", "cabinets"]])
    >>> vocabulary.encode(["the", "key"])
    [2, 4, 6, 3]
    >>> vocabulary.words[4]
    'the'
    """

    words: tuple[str, ...]
    ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first = self.words[: len(SPECIAL)]
        if first != SPECIAL:
            raise InputError(
                f"a vocabulary must begin with {', '.join(SPECIAL)}, got "
                f"{', '.join(first) or 'no words'}"
            )
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) != len(self.words):
            duplicate = next(word for word, n in Counter(self.words).items() if n > 1)
            raise InputError(f"the words of a vocabulary must be unique, got {duplicate!r} twice")
        object.__setattr__(self, "ids", ids)

    @classmethod
    def from_texts(cls, texts: Iterable[Sequence[str]], *, size: int = 10_000) -> Vocabulary:
        """Return the `size` most common words of `texts` after the special tokens.

        Words that are equally common are in alphabetical order.
        """
        counts = Counter(word for text in texts for word in text)
        for special in (*SPECIAL, UNK):
            _ = counts.pop(special, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *ranked[:size]))

    def with_unknown(self) -> Vocabulary:
        """Return the vocabulary of a trained model: the same words, and UNK at the end.

        The corpus has no unknown words, since it replaces rare words by their part of speech. UNK
        can therefore not be trained, in the paper as here, and blank-out, which replaces a word by
        UNK, removes the word.
        """
        return self if UNK in self else Vocabulary((*self.words, UNK))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the ids of CLS, the words and the end marker.

        The id of an unknown word is that of UNK; during training, without UNK, that of MASK.
        """
        unknown = self.ids.get(UNK, self.ids[MASK])
        return [self.ids[CLS], *(self.ids.get(word, unknown) for word in words), self.ids[END]]


def tokenizer(vocabulary: Vocabulary, *, max_length: int) -> Any:
    """Return a transformers tokenizer for typed text of up to `max_length` tokens.

    CLS and the end marker count as tokens. Words of the vocabulary, and therefore texts of the
    corpus, are unchanged.

    Examples
    --------
    >>> words = ["the", "key", "to", "cabinets", ","]
    >>> tokenize = tokenizer(Vocabulary.from_texts([words]), max_length=64)
    >>> tokenize.convert_ids_to_tokens(tokenize("The key to the cabinets,").input_ids)
    ['[CLS]', 'the', 'key', 'to', 'the', 'cabinets', ',', '<?>']
    """
    from tokenizers import (  # noqa: PLC0415 - a dependency of transformers
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from transformers import PreTrainedTokenizerFast

    vocabulary = vocabulary.with_unknown()
    backend = Tokenizer(models.WordLevel(vocabulary.ids, unk_token=UNK))
    replacements = [*_PUNCTUATION, *_lower_case(vocabulary)]
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), *(normalizers.Replace(Regex(old), new) for old, new in replacements)]
    )
    intact = "|".join(re.escape(word) for word in vocabulary.words if re.search(r"[^\w-]", word))
    pattern = "|".join((rf"\A(?:{intact})\z", *_SEPARATE) if intact else _SEPARATE)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(pattern), "isolated")]
    )
    backend.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {END}",
        special_tokens=[(token, vocabulary.ids[token]) for token in (CLS, END)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        unk_token=UNK,
        cls_token=CLS,
        sep_token=END,
        mask_token=MASK,
        model_max_length=max_length,
    )


def _lower_case(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return rules that lower a capital at the start of a word if no other capital follows.

    A rule has one replacement, so there is one rule for each letter of the vocabulary.
    """
    letters = sorted({letter for word in vocabulary.words for letter in word if letter.islower()})
    pairs = [(letter.upper(), letter) for letter in letters if len(letter.upper()) == 1]
    # The letter comes first: the search is faster than with a look-behind first.
    return [(rf"{capital}(?<!\w{capital})(?![[:upper:]])", small) for capital, small in pairs]
