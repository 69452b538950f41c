from attnflow.paper import PLURAL, SINGULAR, Prefix
from attnflow.paper.data import Nouns, find_openings, inner_prefixes
from attnflow.paper.data._augment import find_subject, flip

NOUNS = Nouns((("key", "keys"), ("cabinet", "cabinets"), ("person", "people")))


def _prefix(text: str, number: int) -> Prefix:
    return Prefix(tuple(text.split()), number)


def test_flipping_a_noun_changes_its_determiner() -> None:
    for before, position, after in [
        ("this old key", 2, "these old keys"),
        ("these keys", 1, "this key"),
        ("a key", 1, "keys"),
        ("keys", 0, "the key"),
        ("the key", 1, "the keys"),
    ]:
        words = before.split()
        assert flip(words, position, NOUNS), before
        assert " ".join(words) == after
    fixed = ["every", "key"]
    assert not flip(fixed, 1, NOUNS)
    assert fixed == ["every", "key"]


def test_a_subject_is_known_only_where_one_noun_can_be_it() -> None:
    assert find_subject(_prefix("the key to the cabinets", SINGULAR), NOUNS) == 1
    assert find_subject(_prefix("the key to the cabinet", SINGULAR), NOUNS) is None
    assert find_subject(_prefix("the key and the cabinets", PLURAL), NOUNS) is None


def test_other_verbs_of_a_sentence_give_prefixes_of_their_own() -> None:
    found = inner_prefixes(
        [Prefix(("the", "keys", "are", "old", ",", "the", "cabinet"), SINGULAR, rest=("is",))],
        exclude=frozenset(),
    )
    assert [(p.words, p.number) for p in found] == [(("the", "keys"), PLURAL)]
    exclude = frozenset({("the", "keys")})
    assert not inner_prefixes([_prefix("the keys are old", PLURAL)], exclude=exclude)


def test_the_words_before_the_last_clause_are_an_opening() -> None:
    found = find_openings([_prefix("in the cabinets , the key", SINGULAR)], NOUNS)
    assert found == [("in", "the", "cabinets", ",")]
    assert find_openings([_prefix("in the cabinets , the key", PLURAL)], NOUNS) == []


def test_people_are_persons_and_not_one_of_the_peoples() -> None:
    text = "the {} of the {} are of the {} and the {} ,"
    texts = [text.format("person", "people", "people", "peoples").split()] * 5
    assert Nouns.from_texts(texts).pairs == (("person", "people"),)
