"""What tokens say they stand for, once the marks of their family are taken off.

A tokenizer marks where words begin or go on, and some write bytes as letters. How it does so is not
told by the tokens alone, so they are read in every known way; the text decides which is right.
"""

import codecs
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from attnflow._internal.words._fold import Unit, units_of
from attnflow._internal.words._segment import Span

_UNKNOWN = frozenset({"[UNK]", "<unk>", "<UNK>"})
# [CLS], </s>, <|endoftext|>, but not <0xE2>, which is a byte.
_SPECIAL_FORM = re.compile(r"\[[A-Z][A-Z0-9_]*\]|<(?!0x[0-9A-F]{2}>)[^<>\s]+>")
_BYTE_FORM = re.compile(r"<0x([0-9A-F]{2})>")

# Marks before and after a piece, and whether its letters are bytes in disguise. SentencePiece's
# mark is a kind of space and is left on.
_FAMILIES = (
    ("", "", True),  # byte-level BPE: GPT-2, RoBERTa, Llama 3, Qwen, Whisper
    ("", "</w>", True),  # the same with marked ends: CLIP
    ("##", "", False),  # WordPiece: BERT
    ("", "", False),  # SentencePiece: T5, Marian, Llama 2; and plain words
    ("", "</w>", False),  # BPE with marked ends: the first GPT, XLM
    ("", "@@", False),  # BPE with marked breaks: PhoBERT, CTRL
)


class Kind(Enum):
    """What a stretch of tokens is."""

    READ = "its characters are known"
    SPECIAL = "it stands for no characters, unless its very name is in the text"
    UNKNOWN = "it stands for characters that it does not tell"


class Stretch(NamedTuple):
    """Tokens next to each other that are read together, as pieces may share a character.

    `parts[i]` are the characters of `chars` that token `first + i` has a part of; `units` are
    their folded form.
    """

    kind: Kind
    first: int
    chars: str
    parts: tuple[Span, ...]
    units: list[Unit]

    def token_of(self, char: int) -> int:
        """The first token that has a part of a character."""
        return self.first + [char < end for _, end in self.parts].index(True)


def readings(
    tokens: Sequence[str], special: Collection[str] | None
) -> Iterator[tuple[Stretch, ...]]:
    """Every way of reading the tokens, those with the marks of a family only where it shows them.

    >>> [s.chars for s in list(readings(["[CLS]", "play", "##ing"], None))[1]]
    ['[CLS]', 'playing']
    """
    kinds = [_kind(token, special) for token in tokens]
    for before, after, in_bytes in _FAMILIES:
        # A mark alone is no mark: "##" may stand in the text.
        marked = [len(t) > len(before + after) and t.startswith(before) and t.endswith(after)
                  for t in tokens]  # fmt: skip
        if any(marked) or not before + after:
            pieces = [
                _bytes(t[len(before) : len(t) - len(after)] if mark else t, in_bytes=in_bytes)
                for t, mark in zip(tokens, marked, strict=True)
            ]
            yield tuple(_stretches(tokens, kinds, pieces))


def _kind(token: str, special: Collection[str] | None) -> Kind:
    if token in _UNKNOWN:
        return Kind.UNKNOWN
    named = _SPECIAL_FORM.fullmatch(token) if special is None else token in special
    return Kind.SPECIAL if named else Kind.READ


def _stretches(
    tokens: Sequence[str], kinds: Sequence[Kind], pieces: Sequence[bytes]
) -> Iterator[Stretch]:
    for (kind, _), run in itertools.groupby(
        range(len(tokens)),
        # Pieces are read together, the others one by one.
        key=lambda token: (kinds[token], kinds[token] is Kind.READ or token),
    ):
        first, *others = run
        if kind is Kind.READ:
            chars, parts = _decoded(pieces[first : first + 1 + len(others)])
        # Where the first token comes twice, the text begins with its name and the first one is the
        # model's own.
        elif first == 0 and tokens[1:2] == tokens[:1]:
            chars, parts = "", ()
        else:
            chars, parts = tokens[first], ((0, len(tokens[first])),)
        yield Stretch(kind, first, chars, parts, units_of(chars))


def _bytes_by_letter() -> dict[str, int]:
    """GPT-2's letters for bytes: printable ones of Latin-1 are themselves, the others follow."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTE_OF = _bytes_by_letter()


def _bytes(piece: str, *, in_bytes: bool) -> bytes:
    if in_bytes and all(letter in _BYTE_OF for letter in piece):
        return bytes(_BYTE_OF[letter] for letter in piece)
    byte = _BYTE_FORM.fullmatch(piece)
    # A token that was added to a vocabulary of bytes is written in plain letters.
    return bytes([int(byte[1], 16)]) if byte else piece.encode("utf-8", "replace")


def _decoded(pieces: Sequence[bytes]) -> tuple[str, tuple[Span, ...]]:
    """The characters of all pieces together, and for each piece those it has a byte of."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    chars, parts = "", list[Span]()
    for piece in pieces:
        start = len(chars)  # an open character counts: its number is that of the next to come
        last = start - 1
        for byte in piece:
            chars += decoder.decode(bytes([byte]))
            still_open = bool(decoder.getstate()[0])
            last = len(chars) if still_open else len(chars) - 1
        parts.append((start, last + 1))
    return chars + decoder.decode(b"", final=True), tuple(parts)
