"""Generated agreement sentences, for use without data files: "the key to the cabinets".

A sentence has an optional opening, a subject, and prepositional phrases and relative clauses
between the subject and its verb. Every noun between subject and verb that has the other number is
an attractor; the caller chooses their number.
"""

import random
from collections.abc import Iterator, Sequence

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.paper.data._prefix import PLURAL, SINGULAR, Prefix

# Common words of Linzen's corpus: a model trained on the corpus knows them, and the reverse.
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
    "old", "new", "small", "large", "local", "early", "famous", "important", "other", "main",
    "first", "red",
)  # fmt: skip
_PREPOSITIONS = (
    "of", "to", "in", "near", "with", "from", "for", "on", "about", "behind", "between", "under",
)  # fmt: skip
_TRANSITIVE = (
    "saw", "knew", "liked", "made", "found", "followed", "helped", "wrote", "left", "used",
)  # fmt: skip
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
    """Return `count` prefixes with number, subject and attractors; the same seed, the same list.

    Parameters
    ----------
    count
        Number of prefixes; some may be equal.
    seed
        Seed of the random generator.
    attractors
        Number of attractors of every prefix; None draws 0 (mostly) to 3.
    number
        SINGULAR or PLURAL; None draws both with equal probability.
    nouns
        Pairs (singular, plural) to draw from.

    Examples
    --------
    >>> for prefix in generate(3, seed=1, attractors=1, number=SINGULAR):
    ...     print(prefix.text, prefix.subject)
    the plant which the members saw 1
    the woman that the patents left still 1
    the company on the laws 1
    """
    count = checks.as_int(count, "count", least=0)
    if attractors is not None:
        attractors = checks.as_int(attractors, "attractors", least=0)
    if number not in (None, SINGULAR, PLURAL):
        raise InputError(
            f"number must be SINGULAR ({SINGULAR}), PLURAL ({PLURAL}) or None, got {number!r}"
        )
    rng = random.Random(seed)  # noqa: S311 (sentences, not secrets)
    return [_sentence(rng, attractors, number, nouns) for _ in range(count)]


def _sentence(
    rng: random.Random, attractors: int | None, number: int | None, nouns: Sequence[Sequence[str]]
) -> Prefix:
    chosen = rng.choice((SINGULAR, PLURAL)) if number is None else number
    # Chosen: fewer sentences with more attractors, as in natural text, but less steeply.
    others = rng.choices(range(4), (70, 20, 7, 3))[0] if attractors is None else attractors
    same = rng.choices((0, 1), (4, 1))[0]  # nouns of the subject's number
    between = [1 - chosen] * others + [chosen] * same
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
    return Prefix(tuple(words), chosen, others, subject)


def _phrase(rng: random.Random, number: int, nouns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a noun of this number with its determiner and adjective."""
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
