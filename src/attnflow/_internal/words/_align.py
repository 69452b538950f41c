"""Which characters of a text each token stands for, found without the tokenizer."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from attnflow._internal.words._fold import is_mark
from attnflow._internal.words._match import Misfit, Places, Source, hull, matched
from attnflow._internal.words._read import Kind, Stretch, readings
from attnflow._internal.words._segment import Span, stripped
from attnflow.errors import InputError

_BETWEEN_SPACES = re.compile(r"\S+")


def align(
    tokens: Sequence[str],
    text: str,
    *,
    special: Collection[str] | None = None,
    truncated: bool = False,
) -> tuple[Span | None, ...]:
    """For each token the characters of the text it stands for, None for special tokens.

    For tokenizers that give no offsets. Tokens are found from left to right, whatever their family
    does to a text: WordPiece, byte-level BPE, SentencePiece with byte pieces, BPE with marked ends,
    plain words; lower case, stripped accents, compatibility forms and dropped control characters.
    Spans leave out white space at their ends; a token of nothing but white space keeps it. An
    unknown token takes what is between its neighbours; several in a row take one word each if
    there are as many between spaces, else all of them together. Nothing else is guessed: a token
    that is not found is an InputError with its place.

    Parameters
    ----------
    tokens
        The tokens as the model has them, marks and special ones included.
    text
        What they were made from.
    special
        Names of special tokens. By default what looks like one: [CLS], </s>, <|endoftext|>. Where
        such a name is in the text itself, as [MASK] may be, it has its characters.
    truncated
        Whether the text may go on after the last token.

    Examples
    --------
    >>> align(["[CLS]", "un", "##believ", "##able", "cafe", "[SEP]"], "Unbelievable café")
    (None, (0, 2), (2, 8), (8, 12), (13, 17), None)
    >>> align(["Ġhi", "ĠðŁĺ", "Ĭ"], "hi 😊")
    ((0, 2), (3, 4), (3, 4))
    """
    source = Source.of(text)
    misfits: list[Misfit] = []
    for stretches in readings(tokens, special):
        try:
            places = _aligned(stretches, source, truncated=truncated)
        except Misfit as misfit:
            misfits.append(misfit)
        else:
            spans = (places.get(token) for token in range(len(tokens)))
            return tuple(span and stripped(span, text) for span in spans)
    # The reading that came furthest is the one that was meant.
    raise InputError(_message(max(misfits, key=lambda each: each.char), tokens, text))


class _Block(NamedTuple):
    """Unknown tokens, and what comes after them up to the next unknown ones."""

    unknown: list[int]
    known: list[Stretch]


def _aligned(stretches: Sequence[Stretch], source: Source, *, truncated: bool) -> Places:
    places: Places = {}
    at = so_far = 0  # units and characters
    blocks = list(_blocks(stretches, source.text))
    for number, block in enumerate(blocks, start=1):
        to_the_end = number == len(blocks) and not truncated
        if not block.unknown:
            found, at = matched(block.known, source, at, to_the_end=to_the_end)
        elif block.known:
            found, at = _after_gap(block, source, at, so_far, to_the_end=to_the_end)
        else:
            words = _words(source, at, so_far, len(source.text))
            found = _rest(block.unknown, words, truncated=truncated)
        if not found and block.unknown:
            raise Misfit(block.unknown[0], so_far)
        places |= found
        so_far = max((end for _, end in found.values()), default=so_far)
    return places


def _blocks(stretches: Sequence[Stretch], text: str) -> Iterator[_Block]:
    block = _Block([], [])
    for stretch in stretches:
        if stretch.kind is Kind.UNKNOWN:
            if block.known:
                yield block
                block = _Block([], [])
            block.unknown.append(stretch.first)
        elif stretch.kind is Kind.READ or stretch.chars in text:
            block.known.append(stretch)
    yield block


def _after_gap(
    block: _Block, source: Source, at: int, so_far: int, *, to_the_end: bool
) -> tuple[Places, int]:
    """The first place where the known tokens of a block fit; unknown ones take what is before.

    The last block must reach the end of the text; for the others, if any place leaves room for
    what comes after, the first one does.
    """
    spaced = [unit.letter for unit in block.known[0].units[:1]] == [" "]
    for start in range(at + 1, len(source.units)):
        if spaced and source.units[start].letter != " ":
            continue  # a space after an unknown token is in the text as well
        try:
            places, end = matched(block.known, source, start, to_the_end=to_the_end)
        except Misfit:
            continue
        until = min((begin for begin, _ in places.values()), default=0)
        taken = _shared_out(_words(source, at, so_far, until), block.unknown)
        if taken:
            return taken | places, end
    raise Misfit(block.known[0].first, so_far)


def _rest(unknown: Sequence[int], words: Sequence[Span], *, truncated: bool) -> Places:
    """What unknown tokens at the end take: all that is left, or of a truncated text a word each."""
    if truncated and words:
        # Where the text goes on, two of them may be pieces of one word.
        words = [hull(words[: len(unknown)])]
    return _shared_out(words, unknown)


def _shared_out(words: Sequence[Span], unknown: Sequence[int]) -> Places:
    """A word for each unknown token if there are as many, else all of them for each.

    As many words as tokens means one each: tokens do not reach across spaces, and no word is
    without a token.
    """
    if len(words) == len(unknown):
        return dict(zip(unknown, words, strict=True))
    return dict.fromkeys(unknown, hull(words)) if words else {}


def _words(source: Source, at: int, so_far: int, end: int) -> list[Span]:
    """What stands between spaces from here to `end`."""
    text = source.text
    # Marks at the beginning are those of the letter before, unless there is nothing else. If there
    # is nothing at all, it must be a part of a character that has more than one, as ½ has.
    after_marks = next((char for char in range(so_far, end) if not is_mark(text[char])), so_far)
    here = source.char(at)
    for gap in ((after_marks, end), (so_far, end), (here, here + 1)):
        words = [word.span() for word in _BETWEEN_SPACES.finditer(text, *gap)]
        if words:
            return words
    return []


def _message(misfit: Misfit, tokens: Sequence[str], text: str) -> str:
    there = text[misfit.char : misfit.char + 20]
    wanted = "give the very text that the tokens were made from"
    if misfit.token is None:
        return (
            f"the text goes on at character {misfit.char} ({there!r}) after the last token; "
            f"{wanted}, no further than the model read it"
        )
    where = f"at character {misfit.char} ({there!r})" if there else "before the end of the text"
    return f"token {misfit.token} ({tokens[misfit.token]!r}) is not found {where}; {wanted}"
