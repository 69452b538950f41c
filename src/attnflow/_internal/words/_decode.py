"""Decode tokens: remove the marks of the tokenizer family, and turn bytes into characters.

Tokenizers mark where words begin or continue, and some write bytes as letters. The tokens alone do
not tell the family, so they are decoded for every known one; the text decides which is right.
"""

import codecs
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from attnflow._internal.words._normalize import NormalizedChar, normalize
from attnflow._internal.words._spans import Span

_UNKNOWN = frozenset({"[UNK]", "<unk>", "<UNK>"})
# [CLS], </s>, <|endoftext|>, but not <0xE2>, which is a byte.
_SPECIAL_FORM = re.compile(r"\[[A-Z][A-Z0-9_]*\]|<(?!0x[0-9A-F]{2}>)[^<>\s]+>")
_BYTE_FORM = re.compile(r"<0x([0-9A-F]{2})>")

# Prefix and suffix of a marked token, and whether its letters stand for bytes. SentencePiece's mark
# is kept: normalization turns it into a space.
_FAMILIES = (
    ("", "", True),  # byte-level BPE: GPT-2, RoBERTa, Llama 3, Qwen, Whisper
    ("", "</w>", True),  # the same with marked ends: CLIP
    ("##", "", False),  # WordPiece: BERT
    ("", "", False),  # SentencePiece: T5, Marian, Llama 2; and plain words
    ("", "</w>", False),  # BPE with marked ends: the first GPT, XLM
    ("", "@@", False),  # BPE with marked breaks: PhoBERT, CTRL
)


class Kind(Enum):
    """Kind of a run of tokens."""

    TEXT = "its characters are known"
    SPECIAL = "it has no characters, unless its name is in the text"
    UNKNOWN = "its characters are not known"


class TokenRun(NamedTuple):
    """Adjacent tokens that are decoded together, since tokens may share a character.

    Token `first + i` has the characters `parts[i]` of `text`; `chars` is the text normalized.
    """

    kind: Kind
    first: int
    text: str
    parts: tuple[Span, ...]
    chars: list[NormalizedChar]

    def token_of(self, index: int) -> int:
        """Return the first token with a byte of character `index`."""
        return self.first + [index < end for _, end in self.parts].index(True)


def decodings(
    tokens: Sequence[str], special: Collection[str] | None
) -> Iterator[tuple[TokenRun, ...]]:
    """Yield the tokens decoded for each family whose marks they show.

    >>> [run.text for run in list(decodings(["[CLS]", "play", "##ing"], None))[1]]
    ['[CLS]', 'playing']
    """
    kinds = [_kind(token, special) for token in tokens]
    for prefix, suffix, byte_level in _FAMILIES:
        # A mark alone is text: "##".
        marked = [len(t) > len(prefix + suffix) and t.startswith(prefix) and t.endswith(suffix)
                  for t in tokens]  # fmt: skip
        if any(marked) or not prefix + suffix:
            pieces = [
                _bytes(t[len(prefix) : len(t) - len(suffix)] if m else t, byte_level=byte_level)
                for t, m in zip(tokens, marked, strict=True)
            ]
            yield tuple(_runs(tokens, kinds, pieces))


def _kind(token: str, special: Collection[str] | None) -> Kind:
    if token in _UNKNOWN:
        return Kind.UNKNOWN
    is_special = _SPECIAL_FORM.fullmatch(token) if special is None else token in special
    return Kind.SPECIAL if is_special else Kind.TEXT


def _runs(
    tokens: Sequence[str], kinds: Sequence[Kind], pieces: Sequence[bytes]
) -> Iterator[TokenRun]:
    for (kind, _), run in itertools.groupby(
        range(len(tokens)),
        # Tokens of text form one run, the others one run each.
        key=lambda token: (kinds[token], kinds[token] is Kind.TEXT or token),
    ):
        first, *others = run
        if kind is Kind.TEXT:
            text, parts = _decode(pieces[first : first + 1 + len(others)])
        # If the first two tokens are equal, the tokenizer added the first one and the text begins
        # with the name of the second.
        elif first == 0 and tokens[1:2] == tokens[:1]:
            text, parts = "", ()
        else:
            text, parts = tokens[first], ((0, len(tokens[first])),)
        yield TokenRun(kind, first, text, parts, normalize(text))


def _bytes_by_letter() -> dict[str, int]:
    """Return GPT-2's alphabet of bytes: printable Latin-1 is itself, the rest starts at 256."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTE_OF = _bytes_by_letter()


def _bytes(piece: str, *, byte_level: bool) -> bytes:
    if byte_level and all(letter in _BYTE_OF for letter in piece):
        return bytes(_BYTE_OF[letter] for letter in piece)
    byte = _BYTE_FORM.fullmatch(piece)
    # A token that was added to a byte-level vocabulary is plain text.
    return bytes([int(byte[1], 16)]) if byte else piece.encode("utf-8", "replace")


def _decode(pieces: Sequence[bytes]) -> tuple[str, tuple[Span, ...]]:
    """Return the text of all pieces, and for each piece the characters it has a byte of."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    chars, parts = "", list[Span]()
    for piece in pieces:
        start = len(chars)  # also the index of an incomplete character
        last = start - 1
        for byte in piece:
            chars += decoder.decode(bytes([byte]))
            incomplete = bool(decoder.getstate()[0])
            last = len(chars) if incomplete else len(chars) - 1
        parts.append((start, last + 1))
    return chars + decoder.decode(b"", final=True), tuple(parts)
