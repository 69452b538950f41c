"""Agreement sentences of our own, for when there is no data: "the key to the cabinets".

A sentence is a subject, perhaps something before it, and what stands between it and its verb:
prepositional phrases and relative clauses. Every noun between subject and verb that has the other
number is an attractor, and how many there are is chosen.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.paper._prefix import PLURAL, SINGULAR, Prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Common words of Linzen's corpus, so that a model trained on either knows them.
_PAIRS = """
key/keys cabinet/cabinets monk/monks patent/patents article/articles system/systems
author/authors book/books editor/editors report/reports river/rivers bridge/bridges
village/villages church/churches road/roads student/students teacher/teachers school/schools
picture/pictures painting/paintings artist/artists museum/museums song/songs album/albums
singer/singers band/bands member/members group/groups player/players team/teams game/games
rule/rules plant/plants leaf/leaves flower/flowers tree/trees bird/birds animal/animals
island/islands king/kings soldier/soldiers army/armies city/cities country/countries
law/laws judge/judges court/courts case/cases doctor/doctors hospital/hospitals
patient/patients engine/engines car/cars train/trains station/stations child/children
man/men woman/women idea/ideas theory/theories result/results method/methods model/models
problem/problems page/pages link/links user/users company/companies product/products
letter/letters word/words language/languages film/films director/directors scene/scenes
actor/actors
"""
NOUNS: tuple[tuple[str, str], ...] = tuple(
    (singular, plural) for singular, _, plural in (pair.partition("/") for pair in _PAIRS.split())
)
_ADJECTIVES = (
    "old",
    "new",
    "small",
    "large",
    "local",
    "early",
    "famous",
    "important",
    "other",
    "main",
    "first",
    "red",
)
_PREPOSITIONS = (
    "of",
    "to",
    "in",
    "near",
    "with",
    "from",
    "for",
    "on",
    "about",
    "behind",
    "between",
    "under",
)
_TRANSITIVE = (
    "saw",
    "knew",
    "liked",
    "made",
    "found",
    "followed",
    "helped",
    "wrote",
    "left",
    "used",
)
_FRONTED = ("in the {} ,", "for the {} ,", "after the {} ,", "however ,", "today ,", "here")
_ADVERBS = ("also", "often", "now", "still", "usually")


def generate(
    count: int,
    *,
    seed: int = 0,
    attractors: int | None = None,
    number: int | None = None,
    nouns: Sequence[Sequence[str]] = NOUNS,
) -> list[Prefix]:
    """`count` prefixes with their number, subject and attractors; a seed gives the same ones again.

    Parameters
    ----------
    count
        How many; some may be equal.
    seed
        Chooses everything that is left to chance.
    attractors
        Exactly so many between subject and verb; None draws 0 (mostly) to 3.
    number
        SINGULAR or PLURAL; None draws either with equal chance.
    nouns
        Pairs (singular, plural) to build from.

    Examples
    --------
    >>> for prefix in generate(3, seed=1, attractors=1, number=SINGULAR):
    ...     print(" ".join(prefix.words), prefix.subject)
    the plant which the members saw 1
    the woman that the patents left still 1
    the company on the laws 1
    """
    count = _from_zero(count, "count")
    if attractors is not None:
        attractors = _from_zero(attractors, "attractors")
    if number not in (None, SINGULAR, PLURAL):
        raise InputError(
            f"number is {number!r}; SINGULAR ({SINGULAR}) or PLURAL ({PLURAL}) is wanted"
        )
    rng = random.Random(seed)  # noqa: S311 (sentences, not secrets)
    return [_sentence(rng, attractors, number, nouns) for _ in range(count)]


def _from_zero(value: int, name: str) -> int:
    if checks.as_int(value, name) < 0:
        raise InputError(f"{name} is {value}; 0 or more are wanted")
    return value


def _sentence(
    rng: random.Random, attractors: int | None, number: int | None, nouns: Sequence[Sequence[str]]
) -> Prefix:
    chosen = rng.choice((SINGULAR, PLURAL)) if number is None else number
    # 0 to 3 attractors, falling as in natural text, though not as steeply
    wanted = rng.choices(range(4), (70, 20, 7, 3))[0] if attractors is None else attractors
    helpers = rng.choices((0, 1), (4, 1))[0]  # nouns of the subject's number
    between = [1 - chosen] * wanted + [chosen] * helpers
    rng.shuffle(between)

    words: list[str] = []
    if rng.random() < 0.2:
        words += rng.choice(_FRONTED).format(rng.choice(rng.choice(nouns))).split()
    words += _phrase(rng, chosen, nouns)
    subject = len(words) - 1
    for noun in between:
        phrase = _phrase(rng, noun, nouns)
        kind = rng.random()
        if kind < 0.75:
            words += [rng.choice(_PREPOSITIONS), *phrase]
        elif kind < 0.9:
            words += [rng.choice(("that", "which")), *phrase, rng.choice(_TRANSITIVE)]
        else:
            words += ["that", rng.choice(_TRANSITIVE), *phrase]
    if rng.random() < 0.1:
        words.append(rng.choice(_ADVERBS))
    return Prefix(tuple(words), chosen, wanted, subject)


def _phrase(rng: random.Random, number: int, nouns: Sequence[Sequence[str]]) -> Iterator[str]:
    """A noun of this number, with what may stand before it."""
    adjective = [rng.choice(_ADJECTIVES)] if rng.random() < 0.25 else []
    phrase = [*adjective, rng.choice(nouns)[number]]
    kind = rng.random()
    if kind < 0.6 or (kind >= 0.9 and number == SINGULAR):
        yield "the"
    elif kind < 0.7:
        yield ("this", "these")[number]
    elif kind < 0.8:
        yield rng.choice(("his", "her", "their", "its"))
    elif kind < 0.9:
        yield "some" if number == PLURAL else "an" if phrase[0][0] in "aeiou" else "a"
    yield from phrase
