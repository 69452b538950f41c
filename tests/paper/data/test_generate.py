from collections import Counter
from typing import Any

import pytest

from attnflow.errors import InputError
from attnflow.paper import PLURAL, SINGULAR, generate
from attnflow.paper.data import NOUNS, Nouns

KNOWN = Nouns(NOUNS)


@pytest.mark.parametrize("attractors", range(6))
@pytest.mark.parametrize("number", [SINGULAR, PLURAL])
def test_sentences_have_the_given_attractors_and_number(attractors: int, number: int) -> None:
    prefixes = generate(50, attractors=attractors, number=number)
    assert len(prefixes) == 50
    for prefix in prefixes:
        assert prefix.subject is not None
        assert (prefix.number, prefix.attractors) == (number, attractors)
        assert KNOWN.is_plural(prefix.words[prefix.subject]) is (number == PLURAL)
        after = [KNOWN.is_plural(word) for word in prefix.words[prefix.subject + 1 :]]
        assert after.count(number != PLURAL) == attractors


def test_by_default_both_numbers_occur_and_most_sentences_have_no_attractor() -> None:
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
    seen: Counter[str] = Counter()
    for prefix in generate(2000, seed=3):
        for word, following in zip(prefix.words, prefix.words[1:], strict=False):
            seen[word] += 1
            if word in {"a", "an"}:
                assert (word == "an") is (following[0] in "aeiou"), prefix.words
            if word in {"this", "these"}:
                nouns = [KNOWN.is_plural(w) for w in prefix.words[prefix.words.index(word) :]]
                first = next(plural for plural in nouns if plural is not None)
                assert first is (prefix.words[prefix.words.index(word)] == "these")
    assert min(seen[word] for word in ("a", "an", "this", "these")) > 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": -1}, "count must be 0 or more, got -1"),
        ({"count": 1.5}, "count"),
        ({"count": 1, "attractors": -1}, "attractors must be 0 or more, got -1"),
        ({"count": 1, "number": 2}, "number must be .* got 2"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = generate(**settings)
