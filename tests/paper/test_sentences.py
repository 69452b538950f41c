import itertools
from typing import Any

import pytest

from attnflow.errors import InputError
from attnflow.paper import PLURAL, SINGULAR, generate
from attnflow.paper._nouns import Nouns
from attnflow.paper._sentences import NOUNS

KNOWN = Nouns(NOUNS)


@pytest.mark.parametrize("attractors", range(6))
@pytest.mark.parametrize("number", [SINGULAR, PLURAL])
def test_sentences_have_the_attractors_and_the_number_asked_for(
    attractors: int, number: int
) -> None:
    made = generate(50, attractors=attractors, number=number)
    assert len(made) == 50
    for prefix in made:
        assert prefix.subject is not None
        assert (prefix.number, prefix.attractors) == (number, attractors)
        assert KNOWN.is_plural(prefix.words[prefix.subject]) is (number == PLURAL)
        after = [KNOWN.is_plural(word) for word in prefix.words[prefix.subject + 1 :]]
        assert after.count(number != PLURAL) == attractors


def test_left_to_chance_both_numbers_come_and_most_sentences_have_no_attractor() -> None:
    made = generate(1000, seed=2)
    assert 400 < sum(prefix.number for prefix in made) < 600
    assert {prefix.attractors for prefix in made} == {0, 1, 2, 3}
    assert 600 < sum(prefix.attractors == 0 for prefix in made) < 800


def test_a_seed_gives_the_same_sentences_and_another_seed_others() -> None:
    assert generate(20, seed=7) == generate(20, seed=7)
    assert generate(20, seed=7) != generate(20, seed=8)


def test_a_longer_list_begins_like_a_shorter_one() -> None:
    assert generate(20, seed=7)[:5] == generate(5, seed=7)


def test_articles_agree_with_the_word_that_follows() -> None:
    made = generate(2000, seed=3)
    assert {"a", "an", "this", "these"} <= {word for prefix in made for word in prefix.words}
    for prefix in made:
        for word, following in itertools.pairwise(prefix.words):
            if word in {"a", "an"}:
                assert (word == "an") is (following[0] in "aeiou"), prefix.words
            if word in {"this", "these"}:
                nouns = [KNOWN.is_plural(w) for w in prefix.words[prefix.words.index(word) :]]
                first = next(plural for plural in nouns if plural is not None)
                assert first is (prefix.words[prefix.words.index(word)] == "these")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"count": -1}, "count is -1"),
        ({"count": 1.5}, "count is 1.5"),
        ({"count": 1, "attractors": -1}, "attractors is -1"),
        ({"count": 1, "number": 2}, "number is 2"),
    ],
)
def test_sentences_that_cannot_be_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        _ = generate(**settings)
