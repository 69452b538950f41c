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


class Family(NamedTuple):
    """Prefix and suffix of a marked token, and whether its letters stand for bytes."""

    prefix: str
    suffix: str
    byte_level: bool

    def marks(self, token: str) -> bool:
        """Return whether the token has the marks; a mark alone, as "##", is text."""
        marked = token.startswith(self.prefix) and token.endswith(self.suffix)
        return marked and len(token) > len(self.prefix + self.suffix)


BYTE_LEVEL = Family("", "", byte_level=True)  # GPT-2, RoBERTa, Llama 3, Qwen, Whisper
BYTE_LEVEL_ENDS = Family("", "</w>", byte_level=True)  # the same with marked ends: CLIP
WORD_PIECE = Family("##", "", byte_level=False)  # BERT
# SentencePiece (T5, Marian, Llama 2), whose mark is kept: normalization turns it into a space.
PLAIN = Family("", "", byte_level=False)
MARKED_ENDS = Family("", "</w>", byte_level=False)  # the first GPT, XLM
MARKED_BREAKS = Family("", "@@", byte_level=False)  # PhoBERT, CTRL
_FAMILIES = (BYTE_LEVEL, BYTE_LEVEL_ENDS, WORD_PIECE, PLAIN, MARKED_ENDS, MARKED_BREAKS)


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
    for family in _FAMILIES:
        if any(map(family.marks, tokens)) or not family.prefix + family.suffix:
            yield decode_runs(tokens, family, special)


def decode_runs(
    tokens: Sequence[str], family: Family, special: Collection[str] | None = None
) -> tuple[TokenRun, ...]:
    """Return the tokens decoded as those of a family."""
    kinds = [_kind(token, special) for token in tokens]
    return tuple(_runs(tokens, kinds, [_bytes(token, family) for token in tokens]))


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


def _bytes(token: str, family: Family) -> bytes:
    """Return the bytes of a token without its marks."""
    piece = token
    if family.marks(token):
        piece = token[len(family.prefix) : len(token) - len(family.suffix)]
    if family.byte_level and all(letter in _BYTE_OF for letter in piece):
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
        if piece.isascii() and not decoder.getstate()[0]:
            chars += piece.decode()
            parts.append((start, len(chars)))
            continue
        for byte in piece:
            chars += decoder.decode(bytes([byte]))
            incomplete = bool(decoder.getstate()[0])
            last = len(chars) if incomplete else len(chars) - 1
        parts.append((start, last + 1))
    return chars + decoder.decode(b"", final=True), tuple(parts)
