"""Known tokens, followed through a text letter by letter."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Self, TypeAlias

from attnflow._internal.words._fold import Unit, may_be_dropped, units_of
from attnflow._internal.words._read import Kind, Stretch
from attnflow._internal.words._segment import Span

Places: TypeAlias = dict[int, Span]  # token to characters of the text


class Misfit(Exception):  # noqa: N818 - `align` turns it into an InputError
    """A token is not where it should be in the text; None: the text goes on after the last."""

    def __init__(self, token: int | None, char: int) -> None:
        super().__init__(token, char)
        self.token, self.char = token, char


class Source(NamedTuple):
    """A text and its units."""

    text: str
    units: list[Unit]

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(text, units_of(text))

    def char(self, at: int) -> int:
        """The character that unit `at` comes from; after the last, the end of the text."""
        return self.units[at].char if at < len(self.units) else len(self.text)

    def has(self, letter: str, at: int) -> bool:
        return at < len(self.units) and self.units[at].letter == letter

    def reach(self, letter: str, at: int) -> int:
        """The unit from `at` on where the letter comes, if only what may be dropped is before."""
        while at < len(self.units) and not self.has(letter, at):
            if not may_be_dropped(self.units[at].letter):
                break
            at += 1
        return at


def matched(
    stretches: Sequence[Stretch], source: Source, at: int, *, to_the_end: bool
) -> tuple[Places, int]:
    """Where the tokens are if the text goes on with them at unit `at`, and the unit after them.

    Special tokens are found where their very name is in the text. A Misfit says what does not fit.

    >>> from attnflow._internal.words._read import readings
    >>> stretches = next(readings(["a", "Ġb"], None))
    >>> matched(stretches, Source.of("a  B."), 0, to_the_end=False)
    ({0: (0, 1), 1: (1, 4)}, 4)
    """
    places: Places = {}
    for number, stretch in enumerate(stretches):
        if stretch.kind is Kind.READ or _by_name(stretches[number:], source, at):
            chars, at = _followed(stretch, source, at)
            for token, (start, end) in enumerate(stretch.parts, start=stretch.first):
                if start < end:
                    places[token] = hull(chars[start:end])
    if to_the_end:
        left = next((unit for unit in source.units[at:] if not may_be_dropped(unit.letter)), None)
        if left:
            raise Misfit(None, left.char)
    return places, at


def hull(spans: Collection[Span]) -> Span:
    """From the first to the last character; spans of no width count only if there are no others.

    >>> hull([(0, 0), (3, 4), (4, 6)])
    (3, 6)
    """
    wide = [span for span in spans if span[0] < span[1]] or spans
    return min(start for start, _ in wide), max(end for _, end in wide)


def _by_name(stretches: Sequence[Stretch], source: Source, at: int) -> bool:
    """Whether the text goes on with the name of a special token, and not with it in pieces."""
    after = next((stretch for stretch in stretches if stretch.kind is Kind.READ), None)
    return _fits(stretches[0], source, at) and not (after and _fits(after, source, at))


def _fits(stretch: Stretch, source: Source, at: int) -> bool:
    try:
        _ = _followed(stretch, source, at)
    except Misfit:
        return False
    return True


def _followed(stretch: Stretch, source: Source, at: int) -> tuple[list[Span], int]:
    """For each character of a stretch those of the text, and the unit after it.

    What a tokenizer drops is passed over. A space that it put there itself has no width.
    """
    starts, ends = [len(source.text)] * len(stretch.chars), [0] * len(stretch.chars)
    for letter, char in stretch.units:
        before = at
        if letter != " ":
            at = source.reach(letter, at)
        found = source.has(letter, at)
        if not found and letter != " ":
            raise Misfit(stretch.token_of(char), source.char(before))
        place = source.char(at)
        starts[char] = min(starts[char], place)
        ends[char] = max(ends[char], place + found)
        at += found
    return list(zip(starts, ends, strict=True)), at
