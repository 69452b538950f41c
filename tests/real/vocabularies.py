"""Tokenizers for models whose package holds a list of tokens and no tokenizer file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Atoms and atoms in brackets, bonds, branches, rings, and the arrow of a reaction: the pattern that
# rxnmapper and rxnfp were trained with.
SMILES = (
    r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$"
    r"|\%[0-9]{2}|[0-9])"
)
RESIDUE = "[A-Z]"  # an amino acid is a letter

_BERT = {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "unk": "[UNK]", "mask": "[MASK]"}
_ROBERTA = {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}


def bert_words(file: Path, pattern: str) -> Any:
    """A token for each match of the pattern, between [CLS] and [SEP]; the file has one a line."""
    return _tokenizer(_lines(file), pattern, _BERT, framed=True)


def roberta_words(file: Path, pattern: str) -> Any:
    """The same between <s> and </s>; the file lists "token count", without the special tokens."""
    words = [line.split()[0] for line in _lines(file)]
    special = [_ROBERTA[name] for name in ("cls", "pad", "sep", "unk")]
    return _tokenizer([*special, *words, _ROBERTA["mask"]], pattern, _ROBERTA, framed=True)


def plain_words(file: Path, pattern: str) -> Any:
    """The same with nothing around them; names in square brackets are tokens too."""
    words = _lines(file)
    extra = [word for word in words if word.startswith("[") and word not in _BERT.values()]
    return _tokenizer(words, pattern, _BERT, framed=False, extra=extra)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _tokenizer(
    words: Sequence[str],
    pattern: str,
    special: dict[str, str],
    *,
    framed: bool,
    extra: Sequence[str] = (),
) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    numbers = {word: i for i, word in enumerate(words)}
    tokenizer: Any = Tokenizer(models.WordLevel(numbers, unk_token=special["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    if framed:
        cls, sep = special["cls"], special["sep"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}", special_tokens=[(cls, numbers[cls]), (sep, numbers[sep])]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        extra_special_tokens=list(extra),
        **{f"{name}_token": token for name, token in special.items()},
    )
