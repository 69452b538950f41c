"""Data augmentation: prefixes of other verbs, nouns of the other number, prepended clauses."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from attnflow._internal import checks
from attnflow.paper.data._nouns import Nouns, word_set
from attnflow.paper.data._prefix import PLURAL, SINGULAR, Prefix

# Verb forms that show their number in every tense.
_VERBS = {
    **dict.fromkeys(("is", "has", "was", "does", "VBZ"), SINGULAR),
    **dict.fromkeys(("are", "have", "were", "do", "VBP"), PLURAL),
}
# Words before such a verb that say nothing about a noun: pronouns have their own agreement, and a
# verb may follow another verb ("to have", "may have", "did not do").
_NOT_BEFORE = word_set(
    "i you he she it we they there who which that what this these those one to not n't and or "
    "but if as than can could may might must shall should will would did do does , ; : -- - ( "
    "`` '' . where when how why here so let please 'll 'd both all some many most others each "
    "either is are was were be been has have had"
)
# Words that fix the number of the following noun and have no counterpart.
_FIXED_NUMBER = word_set(
    "each every another one either neither many several few two three four five six seven "
    "eight nine ten both all various numerous other most some more these those CD different "
    "multiple"
)
# Words that begin a modifier of the preceding noun: without it the prefix is still complete.
_MODIFIERS = word_set(
    "of in for to on with from by at as about between that which who where ( into"
)
# Words in -s that are not plurals.
_NOT_PLURAL = word_set("'s s this as its his various was is has us famous does always")
# Determiners of one number, and those of the other.
_DETERMINERS = {"this": "these", "these": "this", "those": "that"}
# Words that make it unclear which noun is the subject.
_CONJUNCTIONS = word_set("and or & nor plus NNP NNPS")
# After these, a singular noun needs a determiner.
_PREPOSITIONS = word_set(", of in to for on with from by at as about between that if")
_ADJECTIVES = word_set(
    "JJ VBN VBG NN main first new large small old early local common major important current same "
    "only original last final second modern american british german french present primary best "
    "great high long little young national political public whole own"
)
_OPENS_CLAUSE = word_set(", that but while because if where when although since whether as ;")
_OPENS_SUBJECT = word_set("the a an this these his her its their our my your some most many")
# The parts of a clause made from another prefix: opening, verb, words after the verb, connection.
_CLAUSE_OPENINGS = ("", "", "", "if", "while", "although", "when", "i think")
_CLAUSE_VERBS = (("is", "has", "was", "VBZ", "VBZ"), ("are", "have", "were", "VBP", "VBP"))
_AFTER_VERB = (
    "", "JJ", "VBN", "a NN", "the NN", "the NNS", "NNS", "used by NNS", "VBN in the NN", "not",
    "RB JJ", "in NNP",
)  # fmt: skip
_CONNECTIONS = (
    "that", ", and", ", but", ", while", "because", "if", "when", ";", ", so", "although",
    "and that", ", where", ", which means", "as",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Augmentation:
    """The probability of each change. The defaults were chosen on the validation split.

    Parameters
    ----------
    flip_subject_prob
        That a known subject changes number, with the label.
    flip_noun_prob
        That a noun after a known subject changes number; the label stays.
    swap_noun_prob
        That another noun of the same number replaces a noun.
    prepend_prob
        That the beginning of another sentence ("in most species ,") or another clause comes before
        the prefix.
    truncate_prob
        That the prefix ends after its known subject, if a modifier follows: "the key to the
        cabinets" becomes "the key".
    """

    flip_subject_prob: float = 0.3
    flip_noun_prob: float = 0.5
    swap_noun_prob: float = 0.15
    prepend_prob: float = 0.3
    truncate_prob: float = 0.2

    def __post_init__(self) -> None:
        for item in fields(self):
            _ = checks.as_float(getattr(self, item.name), item.name, "[0, 1]")


def augment(
    prefix: Prefix, nouns: Nouns, settings: Augmentation, rng: random.Random
) -> tuple[list[str], int]:
    """Return words and number of a prefix after random changes; nothing is prepended here."""
    words, number, subject = list(prefix.words), prefix.number, prefix.subject
    if subject is None:
        if prefix.attractors:
            _flip_last_attractor(words, number, nouns, settings, rng)
    else:
        if rng.random() < settings.truncate_prob and _MODIFIERS.intersection(
            words[subject + 1 : subject + 2]
        ):
            del words[subject + 1 :]
        # From right to left: a change may add or drop a word before the noun.
        for position in range(len(words) - 1, subject, -1):
            is_noun = nouns.is_plural(words[position]) is not None
            if is_noun and rng.random() < settings.flip_noun_prob:
                _ = flip(words, position, nouns, first=subject + 1)
        if rng.random() < settings.flip_subject_prob and flip(words, subject, nouns):
            number = 1 - number
    for position, word in enumerate(words):
        if rng.random() < settings.swap_noun_prob:
            plural = nouns.is_plural(word)
            if plural is not None:
                words[position] = rng.choice(nouns.pairs)[plural]
    return words, number


def _flip_last_attractor(
    words: list[str], number: int, nouns: Nouns, settings: Augmentation, rng: random.Random
) -> None:
    """Flip the last noun with probability `flip_noun_prob` if it is an attractor."""
    for position in range(len(words) - 1, 0, -1):
        plural = nouns.is_plural(words[position])
        if plural is not None:
            if plural is not (number == PLURAL) and rng.random() < settings.flip_noun_prob:
                _ = flip(words, position, nouns)
            return


def flip(words: list[str], position: int, nouns: Nouns, *, first: int = 0) -> bool:
    """Change the number of a noun and its determiner in place; return False if impossible.

    Words before position `first` are neither read nor changed.
    """
    plural = nouns.is_plural(words[position])
    start = position  # of the noun phrase, without the determiner
    while start > max(first, position - 4) and (
        words[start - 1] in _ADJECTIVES or nouns.is_plural(words[start - 1]) is False
    ):
        start -= 1
    before = words[start - 1] if start > first else ""
    phrase = (before, *words[start:position])
    if any(word in _FIXED_NUMBER and word not in _DETERMINERS for word in phrase):
        return False
    words[position] = nouns.other[words[position]]
    if before in _DETERMINERS:
        words[start - 1] = _DETERMINERS[before]
    elif before in {"a", "an"} and not plural:
        del words[start - 1]
    elif plural and (start == 0 or before in _PREPOSITIONS):
        words.insert(start, "the")
    return True


def with_subjects(prefixes: Sequence[Prefix], nouns: Nouns) -> list[Prefix]:
    """Return the same prefixes with their subjects, None where the subject is unclear."""
    return [replace(prefix, subject=find_subject(prefix, nouns)) for prefix in prefixes]


def find_subject(prefix: Prefix, nouns: Nouns) -> int | None:
    """Return the position of the subject, or None if no noun or several may be the subject."""
    plurals = [nouns.is_plural(word) for word in prefix.words]
    same = [i for i, plural in enumerate(plurals) if plural is (prefix.number == PLURAL)]
    if prefix.subject is not None:
        return prefix.subject if prefix.subject in same else None
    # Verbs of other clauses agree with other subjects, and "x and y" is plural.
    if len(same) != 1 or any(
        word in _VERBS or word in _CONJUNCTIONS for word in prefix.words[: same[0] + 2]
    ):
        return None
    unknown = (w for w, plural in zip(prefix.words, plurals, strict=True) if plural is None)
    if prefix.number == PLURAL and any(w.endswith("s") and w not in _NOT_PLURAL for w in unknown):
        return None
    return same[0]


def inner_prefixes(
    prefixes: Iterable[Prefix], *, exclude: frozenset[tuple[str, ...]]
) -> list[Prefix]:
    """Return a prefix for every other verb of the sentences whose form shows its number.

    "the NNS are made of stone , the upper structures" also contains "the NNS", plural. Every prefix
    occurs once; those in `exclude` are left out.
    """
    found: dict[tuple[str, ...], Prefix] = {}
    for prefix in prefixes:
        words = (*prefix.words, *prefix.rest)
        for position, word in enumerate(words):
            if position in (0, len(prefix.words)) or word not in _VERBS:
                continue
            before = words[:position]
            if before[-1] in _NOT_BEFORE or before in exclude or before in found:
                continue
            if "there" not in before[-3:]:
                found[before] = Prefix(before, _VERBS[word])
    return list(found.values())


def find_openings(prefixes: Iterable[Prefix], nouns: Nouns) -> list[tuple[str, ...]]:
    """Return the words before the last clause of `prefixes` if that clause has the subject.

    "in practice , though , the word" gives "in practice , though ,".
    """
    found: dict[tuple[str, ...], None] = {}
    for prefix in prefixes:
        words = prefix.words
        for position in range(len(words) - 2, 0, -1):
            if words[position] not in _OPENS_CLAUSE or words[position + 1] not in _OPENS_SUBJECT:
                continue
            clause = words[position + 1 :]
            plurals = [nouns.is_plural(word) for word in clause]
            known = [plural for plural in plurals if plural is not None]
            if known and known[0] is (prefix.number == PLURAL) and "," not in clause:
                found[words[: position + 1]] = None
            break
    return list(found)


def random_opening(
    openings: Sequence[tuple[str, ...]], others: Sequence[Prefix], nouns: Nouns, rng: random.Random
) -> list[str]:
    """Return words to prepend to a prefix: one of `openings`, or a clause made of `others`."""
    if openings and rng.random() < 0.5:
        words = list(rng.choice(openings))
        for position, word in enumerate(words):
            # Nouns here say nothing about the verb, so their number is random.
            if nouns.is_plural(word) is not None and rng.random() < 0.3:
                words[position] = nouns.other[word]
        return words
    other = rng.choice(others)
    verb = rng.choice((*_CLAUSE_VERBS[other.number], "VBD", "can VB"))
    start = rng.choice(_CLAUSE_OPENINGS).split()
    end = rng.choice(_AFTER_VERB).split()
    return [*start, *other.words, *verb.split(), *end, *rng.choice(_CONNECTIONS).split()]
