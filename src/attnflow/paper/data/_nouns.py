"""`Nouns`: the singular and plural nouns of a corpus, found by spelling and neighbouring words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


def word_set(text: str) -> frozenset[str]:
    """Return the words of a string."""
    return frozenset(text.split())


_IRREGULAR = {
    "child": "children", "foot": "feet", "tooth": "teeth", "mouse": "mice", "person": "people",
    "phenomenon": "phenomena", "criterion": "criteria", "index": "indices", "matrix": "matrices",
    "vertex": "vertices",
}  # fmt: skip
# Words that come before a noun, and after one, far more often than next to a verb or an adjective.
# "" is the start or the end of a prefix.
_BEFORE = word_set(
    "the of these those many other various several two three four five his her their its some most "
    "different more 's for in with on at from by all any no such our my your both a an this that "
    "each every another new JJ first large small early local and or as under between among"
)
_AFTER = word_set(
    "of , in is are and 's for to on at with by from as or which that who was were has have "
    "had ( ) '' ; : can will also would may should -- do does VBZ VBP"
) | {""}
# Not nouns, or not in this sense, although they pass the test; found by reading the list.
_EXCLUDED = word_set("new other one like being good mean general second ten lot art custom regard")


@dataclass(frozen=True, slots=True)
class Nouns:
    """Pairs (singular, plural), and the other form of each form.

    Examples
    --------
    >>> nouns = Nouns((("key", "keys"),))
    >>> nouns.other["keys"], nouns.is_plural("keys"), nouns.is_plural("the")
    ('key', True, None)
    """

    pairs: tuple[tuple[str, str], ...]
    other: dict[str, str] = field(init=False, repr=False, compare=False)
    _plural: dict[str, bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The tags NN and NNS replace rare nouns.
        every = (*self.pairs, ("NN", "NNS"))
        object.__setattr__(self, "other", {**dict(every), **{p: s for s, p in every}})
        plural = {**{s: False for s, _ in every}, **{p: True for _, p in every}}
        object.__setattr__(self, "_plural", plural)

    def is_plural(self, word: str) -> bool | None:
        """Whether a word is a plural noun; None if it is not a known noun."""
        return self._plural.get(word)

    @classmethod
    def from_texts(cls, texts: Iterable[Sequence[str]], *, min_count: int = 3) -> Nouns:
        """Return the pairs of `texts` of which both forms occur where nouns occur.

        Both forms must occur `min_count` times. The thresholds were chosen by reading the accepted
        pairs: the words after the singular exclude adjectives, those before the plural verbs.
        """
        count: Counter[str] = Counter()
        before: Counter[str] = Counter()
        after: Counter[str] = Counter()
        for text in texts:
            for left, word, right in zip(("", *text), text, (*text[1:], ""), strict=False):
                count[word] += 1
                before[word] += left in _BEFORE
                after[word] += right in _AFTER
        pairs: list[tuple[str, str]] = []
        for singular in sorted(count):
            if not singular.isalpha() or not singular.islower() or singular in _EXCLUDED:
                continue
            for plural in _plurals(singular):
                if min(count[singular], count[plural]) < min_count:
                    continue
                shares = (
                    after[singular] / count[singular] >= 0.35,
                    before[singular] / count[singular] >= 0.3,
                    after[plural] / count[plural] >= 0.5,
                    before[plural] / count[plural] >= 0.25,
                )
                if all(shares):
                    pairs.append((singular, plural))
                    break
        # "people" is the plural of "person" before it is the singular of "peoples".
        plurals = {plural for _, plural in pairs}
        return cls(tuple(pair for pair in pairs if pair[0] not in plurals))


def _plurals(noun: str) -> tuple[str, ...]:
    """Return possible spellings of the plural of a noun, likely ones first."""
    if noun in _IRREGULAR:
        return (_IRREGULAR[noun],)
    if len(noun) < 3:
        return ()
    if noun.endswith("man"):
        return (noun[:-2] + "en",)
    if noun.endswith("sis"):
        return (noun[:-2] + "es",)
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return (noun[:-1] + "ies",)
    if noun.endswith(("s", "x", "ch", "sh", "z")):
        return (noun + "es",)
    more = {"o": (noun + "es",), "f": (noun[:-1] + "ves",)}.get(noun[-1], ())
    return (noun + "s", *more, *((noun[:-2] + "ves",) if noun.endswith("fe") else ()))
