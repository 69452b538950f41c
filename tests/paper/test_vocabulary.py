import pytest

from attnflow import InputError
from attnflow.paper._vocabulary import SPECIAL, Vocabulary


def test_common_words_come_first_and_ties_go_by_the_alphabet() -> None:
    vocabulary = Vocabulary.of([["b", "a"], ["c", "b"]])
    assert vocabulary.words == (*SPECIAL, "b", "a", "c")


def test_no_more_words_than_asked_for_are_kept() -> None:
    vocabulary = Vocabulary.of([["b", "b", "a", "c"]], size=2)
    assert vocabulary.words == (*SPECIAL, "b", "a")
    assert vocabulary.encode(["a", "c"]) == [2, 5, 1, 3]
    assert "c" not in vocabulary


def test_a_special_word_in_a_text_keeps_its_number() -> None:
    assert Vocabulary.of([["[UNK]", "a"]]).words == (*SPECIAL, "a")


def test_a_word_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'a' stands in the vocabulary twice"):
        _ = Vocabulary((*SPECIAL, "a", "a"))


def test_a_vocabulary_without_the_special_words_is_refused() -> None:
    with pytest.raises(InputError, match=r"begins with \[PAD\].*, and this one with a, b"):
        _ = Vocabulary(("a", "b"))
