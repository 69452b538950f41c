"""From text as people type it to the words of the corpus.

The corpus has small letters but for tags (NNP, JJ), and marks and endings as words of their own:
"it 's the king 's , is n't it". What is typed like that comes out as it is; what is not is brought
into that form. Spans point into the text as typed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attnflow.paper._vocabulary import CLS, END, MASK, PAD, UNK

if TYPE_CHECKING:
    from attnflow.paper._vocabulary import Vocabulary

# Typed marks, and the corpus's own. A straight quote opens where nothing or a bracket precedes it.
_MARKS = (
    ("[\u2018\u2019]", "'"),
    (r'“|(?<![^\s(\[])"', "``"),
    ('[”"]', "''"),
    ("—", "--"),
)
# What is cut off a word, in this order. Each is looked for in what spaces part.
_CUTS = (
    r"(?:\b[a-zA-Z]\.){2,}",  # u.s.: its points belong to it
    r"``|''|--|\.{2,}|[,;:!?()\[\]{}…]",
    r"\.(?=\W*\z)",
    r"(?<=\w)n't(?!\w)",
    r"(?<=\w)'(?:s|m|re|ve|d|ll)(?!\w)",
    r"(?<!\w)'|'(?!\w)",  # a quote, or the possessive of a plural; not that of o'brien
)


def tokenizer(vocabulary: Vocabulary, *, longest: int) -> Any:
    """A tokenizer of transformers for text as typed, up to `longest` tokens with CLS and end.

    Words of the vocabulary, and so texts of the corpus, stay as they are.

    Examples
    --------
    >>> words = ["the", "key", "to", "cabinets", ","]
    >>> from attnflow.paper._vocabulary import Vocabulary
    >>> tokenize = tokenizer(Vocabulary.of([words]), longest=64)
    >>> tokenize.convert_ids_to_tokens(tokenize("The key to the cabinets,").input_ids)
    ['[CLS]', 'the', 'key', 'to', 'the', 'cabinets', ',', '<?>']
    """
    from tokenizers import (  # noqa: PLC0415 - it comes with transformers
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from transformers import PreTrainedTokenizerFast

    vocabulary = vocabulary.with_unknown()
    inner = Tokenizer(models.WordLevel(vocabulary.numbers, unk_token=UNK))
    rewritten = [*_MARKS, *_small_letters(vocabulary)]
    inner.normalizer = normalizers.Sequence(
        [normalizers.NFC(), *(normalizers.Replace(Regex(old), new) for old, new in rewritten)]
    )
    whole = "|".join(re.escape(word) for word in vocabulary.words if re.search(r"[^\w-]", word))
    pattern = "|".join((rf"\A(?:{whole})\z", *_CUTS) if whole else _CUTS)
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(pattern), "isolated")]
    )
    inner.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {END}",
        special_tokens=[(mark, vocabulary.numbers[mark]) for mark in (CLS, END)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        unk_token=UNK,
        cls_token=CLS,
        sep_token=END,
        mask_token=MASK,
        model_max_length=longest,
    )


def _small_letters(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Small letters for capitals that begin a word and are not followed by another capital.

    One rule a letter, since a rule has one outcome; for the letters of the vocabulary.
    """
    letters = sorted({letter for word in vocabulary.words for letter in word if letter.islower()})
    pairs = [(letter.upper(), letter) for letter in letters if len(letter.upper()) == 1]
    # The letter comes first, so that it is searched for before anything is looked at.
    return [(rf"{capital}(?<!\w{capital})(?![[:upper:]])", small) for capital, small in pairs]
