"""Small tokenizers of every kind, made here without any download; ids fit the small models."""

import functools
import string
from typing import Any

import tokenizers
import transformers
from small_models import DECODERS, PAIRS, VOCABULARY
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

_WORDS = ["the", "cat", "sat", "on", "mat", "key", "ni", "tra", "old", "man"]
_LETTERS = [*string.ascii_lowercase, *string.digits, *".,:;!?'-()"]


@functools.cache
def word_piece() -> Any:
    """As BERT's: lower case, accents stripped, [CLS] … [SEP], unknown characters [UNK]."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LETTERS, *_WORDS]
    names += [f"##{piece}" for piece in (*_LETTERS, "s", "at", "ght")]
    ids = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tokenizer: Any = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))  # noqa: S106 (no password)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ends = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ends
    )
    special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return _wrapped(tokenizer, special)


@functools.cache
def byte_level() -> Any:
    """As GPT-2's: any text in bytes, spaces within tokens, no special tokens added."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("c", "a"), ("ca", "t"), ("Ġ", "s"), ("Ġ", "the")]
    names = ["<pad>", "<bos>", "<eos>", *alphabet, *("".join(pair) for pair in merges)]
    # Up to all that the small models may write, as words that no text has.
    names += [f"Ġw{number}" for number in range(len(names), VOCABULARY)]
    ids = {name: number for number, name in enumerate(names)}
    tokenizer: Any = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _wrapped(tokenizer, {"pad": "<pad>", "bos": "<bos>", "eos": "<eos>"})


@functools.cache
def metaspace() -> Any:
    """As T5's: a mark for each space, the end token </s> behind the text, unknown ones <unk>."""
    pieces = ["▁", *_LETTERS, *string.ascii_uppercase, *_WORDS, *(f"▁{word}" for word in _WORDS)]
    vocabulary = [("<pad>", 0.0), ("<unk>", -20.0), ("</s>", 0.0)]
    vocabulary += [(piece, -4.0 / len(piece)) for piece in pieces]
    vocabulary += [(f"▁w{number}", -90.0) for number in range(len(vocabulary), VOCABULARY)]
    tokenizer: Any = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=1))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)]
    )
    return _wrapped(tokenizer, {"pad": "<pad>", "unk": "<unk>", "eos": "</s>"})


def _wrapped(tokenizer: Any, special: dict[str, str]) -> Any:
    named = {f"{name}_token": token for name, token in special.items()}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


class InPython(transformers.PreTrainedTokenizer):
    """A tokenizer written in Python, which gives no offsets: words in lower case, [CLS] … [SEP]."""

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012 (its base has it so)

    def __init__(self, **settings: Any) -> None:
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *_WORDS, "café"]
        self._ids = {name: number for number, name in enumerate(names)}
        special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
        super().__init__(**{f"{name}_token": each for name, each in special.items()}, **settings)

    @property
    def vocab_size(self) -> int:
        return len(self._ids)

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids)

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return text.lower().split()

    def _convert_token_to_id(self, token: str) -> int:
        return self._ids.get(token, self._ids["[UNK]"])

    def _convert_id_to_token(self, index: int) -> str:
        return list(self._ids)[index]

    # Without a `get_special_tokens_mask`, as in many a tokenizer that comes with a model's code.
    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        return [2, *token_ids_0, 3, *(token_ids_1 or [])]


def tokenizer_for(family: str) -> Any:
    """A tokenizer of the kind that the family uses."""
    if family in DECODERS:
        return byte_level()
    return metaspace() if family in PAIRS else word_piece()
