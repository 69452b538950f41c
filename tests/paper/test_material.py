from collections.abc import Callable
from dataclasses import replace

from attnflow.paper import PLURAL, SINGULAR, Augmentation, Mix, Prefix, Splits
from attnflow.paper._augment import flip, inner_prefixes, subject_of
from attnflow.paper._leads import leads
from attnflow.paper._material import Material
from attnflow.paper._nouns import Nouns

NOUNS = Nouns((("key", "keys"), ("cabinet", "cabinets"), ("person", "people")))


def _prefix(text: str, number: int) -> Prefix:
    return Prefix(tuple(text.split()), number)


def test_nothing_that_is_measured_is_trained_on(small_splits: Callable[[int], Splits]) -> None:
    splits = small_splits(200)
    material = Material.of(splits)
    vocabulary = material.vocabulary
    measured = {tuple(vocabulary.encode(words)) for words in splits.measured}
    unknown = 1
    for number in range(3):
        epoch = material.epoch(Mix(), Augmentation(), seed=0, number=number)
        assert not [ids for ids, _ in epoch if unknown not in ids and tuple(ids) in measured]
    loose = replace(material, measured=frozenset())
    met = loose.epoch(Mix(), Augmentation(), seed=0, number=0)
    assert [ids for ids, _ in met if tuple(ids) in measured]  # without the check it would happen


def test_an_epoch_is_the_same_each_time_and_another_epoch_another(
    small_splits: Callable[[int], Splits],
) -> None:
    material = Material.of(small_splits(50))
    first = material.epoch(Mix(), Augmentation(), seed=0, number=0)
    assert first == Material.of(small_splits(50)).epoch(Mix(), Augmentation(), seed=0, number=0)
    assert first != material.epoch(Mix(), Augmentation(), seed=0, number=1)
    assert first != material.epoch(Mix(), Augmentation(), seed=1, number=0)


def test_without_changes_an_epoch_is_the_sentences_themselves(
    small_splits: Callable[[int], Splits],
) -> None:
    splits = small_splits(50)
    material = Material.of(splits)
    plain = Augmentation(flip_subject=0, flip_others=0, swap_noun=0, lead=0, cut=0)
    epoch = material.epoch(Mix(generated=0), plain, seed=0, number=0)
    expected = [(material.vocabulary.encode(p.words), p.number) for p in splits.natural]
    assert sorted(epoch) == sorted(expected)


def test_flipping_a_noun_takes_its_determiner_along() -> None:
    for before, place, after in [
        ("this old key", 2, "these old keys"),
        ("these keys", 1, "this key"),
        ("a key", 1, "keys"),
        ("keys", 0, "the key"),
        ("the key", 1, "the keys"),
    ]:
        words = before.split()
        assert flip(words, place, NOUNS), before
        assert " ".join(words) == after
    fixed = ["every", "key"]
    assert not flip(fixed, 1, NOUNS)
    assert fixed == ["every", "key"]


def test_a_subject_is_known_only_where_one_noun_can_be_it() -> None:
    assert subject_of(_prefix("the key to the cabinets", SINGULAR), NOUNS) == 1
    assert subject_of(_prefix("the key to the cabinet", SINGULAR), NOUNS) is None
    assert subject_of(_prefix("the key and the cabinets", PLURAL), NOUNS) is None


def test_other_verbs_of_a_sentence_give_prefixes_of_their_own() -> None:
    found = inner_prefixes(
        [Prefix(("the", "keys", "are", "old", ",", "the", "cabinet"), SINGULAR, rest=("is",))],
        without=frozenset(),
    )
    assert [(p.words, p.number) for p in found] == [(("the", "keys"), PLURAL)]
    without = frozenset({("the", "keys")})
    assert not inner_prefixes([_prefix("the keys are old", PLURAL)], without=without)


def test_what_stands_before_the_last_clause_may_stand_before_others() -> None:
    found = leads([_prefix("in the cabinets , the key", SINGULAR)], NOUNS)
    assert found == [("in", "the", "cabinets", ",")]
    assert leads([_prefix("in the cabinets , the key", PLURAL)], NOUNS) == []


def test_people_are_persons_and_not_one_of_the_peoples() -> None:
    text = "the {} of the {} are of the {} and the {} ,"
    texts = [text.format("person", "people", "people", "peoples").split()] * 5
    assert Nouns.of(texts).pairs == (("person", "people"),)
