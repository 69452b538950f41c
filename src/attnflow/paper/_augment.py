"""More to learn from the same sentences: other verbs in them, and nouns of the other number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnflow.paper._nouns import words_in
from attnflow.paper._prefix import PLURAL, SINGULAR, Prefix

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from attnflow.paper._nouns import Nouns

# Verb forms that tell their number whatever the tense.
_VERBS = {
    **dict.fromkeys(("is", "has", "was", "does", "VBZ"), SINGULAR),
    **dict.fromkeys(("are", "have", "were", "do", "VBP"), PLURAL),
}
# What may stand right before such a verb and says nothing about a noun: pronouns agree in their own
# way, and verbs may follow another verb ("to have", "may have", "did not do").
_NOT_BEFORE = words_in(
    "i you he she it we they there who which that what this these those one to not n't and or "
    "but if as than can could may might must shall should will would did do does , ; : -- - ( "
    "`` '' . where when how why here so let please 'll 'd both all some many most others each "
    "either is are was were be been has have had"
)
# Words that fix the number of the noun they stand before and have no counterpart.
_FIXED = words_in(
    "each every another one either neither many several few two three four five six seven "
    "eight nine ten both all various numerous other most some more these those CD different "
    "multiple"
)
# A noun phrase ends before these.
_CUTS = words_in("of in for to on with from by at as about between that which who where ( into")
# Words in -s that are no plurals.
_NO_PLURALS = words_in("'s s this as its his various was is has us famous does always")
# Determiners of one number, and those of the other.
_SWAPPED = {"this": "these", "these": "this", "those": "that"}
# What makes it unsure which noun is the subject.
_JOINED = words_in("and or & nor plus NNP NNPS")


def inner_prefixes(
    prefixes: Iterable[Prefix], *, without: frozenset[tuple[str, ...]]
) -> list[Prefix]:
    """A prefix for every other verb of the sentences whose form tells its number.

    "the NNS are made of stone , the upper structures" also holds "the NNS", plural. Each prefix
    comes once; those in `without` do not come at all.
    """
    found: dict[tuple[str, ...], Prefix] = {}
    for prefix in prefixes:
        words = (*prefix.words, *prefix.rest)
        for place, word in enumerate(words):
            if place == 0 or place == len(prefix.words) or word not in _VERBS:
                continue
            before = words[:place]
            if before[-1] in _NOT_BEFORE or before in without or before in found:
                continue
            if "there" in before[-3:]:
                continue
            found[before] = Prefix(before, _VERBS[word])
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How often each change is made. The defaults were chosen on the validation split.

    Parameters
    ----------
    flip_subject
        Share of prefixes whose subject is known and changes number, with the label.
    flip_others
        Share of the nouns after a known subject that change number; the label stays.
    swap_noun
        Share of nouns that another noun of the same number takes the place of.
    lead
        Share of prefixes that get something in front of them, with nouns that are not the subject:
        what opens another sentence ("in most species ,") or a clause of its own.
    cut
        Share of prefixes that end right after their subject, where that is known and a word
        follows that no verb's subject ends before: "the key to the cabinets" becomes "the key".
    """

    flip_subject: float = 0.3
    flip_others: float = 0.5
    swap_noun: float = 0.15
    lead: float = 0.3
    cut: float = 0.2


def subject_of(prefix: Prefix, nouns: Nouns) -> int | None:
    """Where the subject stands, if no more than one noun can be it; None where that is not sure."""
    plurals = [nouns.is_plural(word) for word in prefix.words]
    own = [i for i, plural in enumerate(plurals) if plural is (prefix.number == PLURAL)]
    if prefix.subject is not None:
        return prefix.subject if prefix.subject in own else None
    # The verbs of other clauses agree with their own subjects, and "x and y" is plural.
    if len(own) != 1 or any(w in _VERBS or w in _JOINED for w in prefix.words[: own[0] + 2]):
        return None
    unknown = (w for w, plural in zip(prefix.words, plurals, strict=True) if plural is None)
    if prefix.number == PLURAL and any(w.endswith("s") and w not in _NO_PLURALS for w in unknown):
        return None
    return own[0]


def changed(
    prefix: Prefix, subject: int | None, nouns: Nouns, how: Augmentation, rng: random.Random
) -> tuple[list[str], int]:
    """Words and number of a prefix after chance has changed it as `how` says."""
    words, number = list(prefix.words), prefix.number
    if subject is None:
        if prefix.attractors:
            _flip_last_attractor(words, number, nouns, how, rng)
    else:
        if rng.random() < how.cut and _CUTS.intersection(words[subject + 1 : subject + 2]):
            del words[subject + 1 :]
        # From the right, since a change may add or drop a word to the left of a noun.
        for place in range(len(words) - 1, subject, -1):
            if nouns.is_plural(words[place]) is not None and rng.random() < how.flip_others:
                _ = flip(words, place, nouns, first=subject + 1)
        if rng.random() < how.flip_subject and flip(words, subject, nouns):
            number = 1 - number
    _swap_nouns(words, nouns, how.swap_noun, rng)
    return words, number


def _flip_last_attractor(
    words: list[str], number: int, nouns: Nouns, how: Augmentation, rng: random.Random
) -> None:
    """Flip, by chance, the last noun of a sentence with attractors, if it is one of them."""
    for place in range(len(words) - 1, 0, -1):
        plural = nouns.is_plural(words[place])
        if plural is not None:
            if plural is not (number == PLURAL) and rng.random() < how.flip_others:
                _ = flip(words, place, nouns)
            return


def flip(words: list[str], place: int, nouns: Nouns, *, first: int = 0) -> bool:
    """Change the number of a noun in place, and of its determiner; False if that cannot be.

    Nothing before position `first` is looked at or changed.
    """
    plural = nouns.is_plural(words[place])
    start = place
    while start > max(first, place - 4) and _in_phrase(words[start - 1], nouns):
        start -= 1
    before = words[start - 1] if start > first else ""
    if any(word in _FIXED and word not in _SWAPPED for word in (before, *words[start:place])):
        return False
    words[place] = nouns.other[words[place]]
    if before in _SWAPPED:
        words[start - 1] = _SWAPPED[before]
    elif before in {"a", "an"} and not plural:
        del words[start - 1]
    elif plural and (start == 0 or before in _PREPOSITIONS):
        words.insert(start, "the")
    return True


_PREPOSITIONS = words_in(", of in to for on with from by at as about between that if")
_ADJECTIVES = words_in(
    "JJ VBN VBG NN main first new large small old early local common major important current same "
    "only original last final second modern american british german french present primary best "
    "great high long little young national political public whole own"
)


def _in_phrase(word: str, nouns: Nouns) -> bool:
    """Whether a word may stand between a determiner and its noun."""
    return word in _ADJECTIVES or nouns.is_plural(word) is False


def _swap_nouns(words: list[str], nouns: Nouns, share: float, rng: random.Random) -> None:
    """Replace a share of the nouns by others of the same number, in place."""
    for place, word in enumerate(words):
        if rng.random() < share:
            plural = nouns.is_plural(word)
            if plural is not None:
                words[place] = rng.choice(nouns.pairs)[plural]


def with_subjects(prefixes: Sequence[Prefix], nouns: Nouns) -> list[Prefix]:
    """The same prefixes, each with its subject where it is sure."""
    return [replace(prefix, subject=subject_of(prefix, nouns)) for prefix in prefixes]
