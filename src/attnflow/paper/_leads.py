"""What may stand before a clause: openings of other sentences, and other clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnflow.paper._nouns import words_in
from attnflow.paper._prefix import PLURAL

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from attnflow.paper._nouns import Nouns
    from attnflow.paper._prefix import Prefix

_OPENS_CLAUSE = words_in(", that but while because if where when although since whether as ;")
_OPENS_SUBJECT = words_in("the a an this these his her its their our my your some most many")
# How a made clause begins, goes on after its verb, and is tied to the next.
_LINKS = (
    "that", ", and", ", but", ", while", "because", "if", "when", ";", ", so", "although",
    "and that", ", where", ", which means", "as",
)  # fmt: skip
_AFTER_VERB = (
    "", "JJ", "VBN", "a NN", "the NN", "the NNS", "NNS", "used by NNS", "VBN in the NN", "not",
    "RB JJ", "in NNP",
)  # fmt: skip
_BEFORE_CLAUSE = ("", "", "", "if", "while", "although", "when", "i think")
_VERBS = (("is", "has", "was", "VBZ", "VBZ"), ("are", "have", "were", "VBP", "VBP"))


def leads(prefixes: Iterable[Prefix], nouns: Nouns) -> list[tuple[str, ...]]:
    """What stands before the last clause of `prefixes`, where that clause holds the subject.

    "in practice , though , the word" gives "in practice , though ,".
    """
    found: dict[tuple[str, ...], None] = {}
    for prefix in prefixes:
        words = prefix.words
        for place in range(len(words) - 2, 0, -1):
            if words[place] not in _OPENS_CLAUSE or words[place + 1] not in _OPENS_SUBJECT:
                continue
            clause = words[place + 1 :]
            plurals = [nouns.is_plural(word) for word in clause]
            known = [plural for plural in plurals if plural is not None]
            if known and known[0] is (prefix.number == PLURAL) and "," not in clause:
                found[words[: place + 1]] = None
            break
    return list(found)


def lead_in(
    pool: Sequence[tuple[str, ...]], others: Sequence[Prefix], nouns: Nouns, rng: random.Random
) -> list[str]:
    """Something to stand before a clause: from the pool, or another prefix made into a clause."""
    if pool and rng.random() < 0.5:
        words = list(rng.choice(pool))
        for place, word in enumerate(words):
            # Nouns here say nothing about the verb, so their number is left to chance.
            if nouns.is_plural(word) is not None and rng.random() < 0.3:
                words[place] = nouns.other[word]
        return words
    other = rng.choice(others)
    verb = rng.choice((*_VERBS[other.number], "VBD", "can VB"))
    start = rng.choice(_BEFORE_CLAUSE).split()
    end = rng.choice(_AFTER_VERB).split()
    return [*start, *other.words, *verb.split(), *end, *rng.choice(_LINKS).split()]
