from pathlib import Path
from typing import Any

import pytest

from attnflow import InputError
from attnflow.paper import Splits, generate
from attnflow.paper.model import SPECIAL, Vocabulary, tokenizer
from attnflow.paper.training._dataset import TrainingData

WORDS = [
    "a", "i", "the", "key", "keys", "to", "cabinets", "article", "on", "NNP", "large", "systems",
    "it", "is", "do", "ca", "n't", "'s", "'ll", "'ve", "'re", ",", ";", ":", ".", "!", "?", "(",
    ")", "``", "''", "'", "--", "-", "well-known", "o'brien", "'the", "café", "PRP$", "1", "000",
    "[", "]", "dogs", "old", "they", "u.s.", "x-ray",
]  # fmt: skip


@pytest.fixture(scope="module")
def tokenize() -> Any:
    return tokenizer(Vocabulary.from_texts([WORDS]), max_length=64)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The key to the cabinets,", "the key to the cabinets ,"),
        ("the article on NNP large systems", "the article on NNP large systems"),
        ("A key", "a key"),
        ("I", "i"),
        ("It isn't; can't they?", "it is n't ; ca n't they ?"),
        ("It's they've they're I'll", "it 's they 've they 're i 'll"),
        ("The dogs' key.", "the dogs ' key ."),
        ("'old' keys", "' old ' keys"),
        ('The "old" (large) key', "the `` old '' ( large ) key"),
        ("The “old” key!", "the `` old '' key !"),
        ("they\u2019re", "they 're"),
        ("keys—old", "keys -- old"),
        ("keys--old", "keys -- old"),
        ("Well-Known O'Brien's X-ray", "well-known o'brien 's x-ray"),
        ("1,000 keys", "1 , 000 keys"),
        ("the U.S. key", "the u.s. key"),
        ("Café", "café"),
        ("'the PRP$", "'the PRP$"),
        ("[ key ]", "[ key ]"),
        ("  the\tkey \n", "the key"),
    ],
)
def test_what_people_type_becomes_words_of_the_corpus(tokenize: Any, text: str, words: str) -> None:
    found = tokenize.convert_ids_to_tokens(tokenize(text)["input_ids"])
    assert found == ["[CLS]", *words.split(), "<?>"]


def test_spans_point_into_the_text_as_typed(tokenize: Any) -> None:
    text = "The \"Florp\" isn\u2019t O'Brien's—(key),"
    encoded = tokenize(text, return_offsets_mapping=True)
    names = tokenize.convert_ids_to_tokens(encoded["input_ids"])[1:-1]
    shown = [text[start:end] for start, end in encoded["offset_mapping"][1:-1]]
    assert list(zip(names, shown, strict=True)) == [
        ("the", "The"), ("``", '"'), ("[UNK]", "Florp"), ("''", '"'), ("is", "is"),
        ("n't", "n\u2019t"), ("o'brien", "O'Brien"), ("'s", "'s"), ("--", "—"), ("(", "("),
        ("key", "key"), (")", ")"), (",", ","),
    ]  # fmt: skip


def test_an_unknown_word_is_one_token(tokenize: Any) -> None:
    names = tokenize.convert_ids_to_tokens(tokenize("the unheard-of KEY")["input_ids"])
    assert names == ["[CLS]", "the", "[UNK]", "[UNK]", "<?>"]


def test_texts_are_padded_and_the_padding_is_masked(tokenize: Any) -> None:
    both = tokenize(["the key", "the key to the cabinets"], padding=True)
    assert both["input_ids"][0][-3:] == [0, 0, 0]
    assert both["attention_mask"] == [[1] * 4 + [0] * 3, [1] * 7]


def test_every_word_of_a_vocabulary_stays_one_token(tokenize: Any) -> None:
    vocabulary = Vocabulary.from_texts([WORDS])
    assert tokenize(list(WORDS))["input_ids"] == [vocabulary.encode([word]) for word in WORDS]


def test_generated_sentences_are_encoded_as_in_training() -> None:
    texts = [prefix.words for prefix in generate(500)]
    vocabulary = Vocabulary.from_texts(texts[:250]).with_unknown()
    found = tokenizer(vocabulary, max_length=64)([" ".join(words) for words in texts])["input_ids"]
    assert found == [vocabulary.encode(words) for words in texts]


def test_every_prefix_of_the_data_is_encoded_as_in_training(
    data: Path, data_splits: Splits
) -> None:
    vocabulary = TrainingData.from_splits(data_splits).vocabulary.with_unknown()
    assert len(vocabulary) == 9650
    tokenize = tokenizer(vocabulary, max_length=64)
    words = vocabulary.words[4:-1]
    assert tokenize(list(words))["input_ids"] == [vocabulary.encode([word]) for word in words]
    texts = _texts(data)
    assert len(texts) > 70_000
    for start in range(0, len(texts), 5000):
        part = texts[start : start + 5000]
        found = tokenize(part)["input_ids"]
        for text, ids in zip(part, found, strict=True):
            assert ids == vocabulary.encode(text.split()), text


def _texts(data: Path) -> list[str]:
    """Each distinct prefix of numpred files, and each whole sentence of the others."""
    found: dict[str, None] = {}
    for folder, column in (("linzen", 1), ("linzen-sentences", 0)):
        pattern = "numpred.*" if column else "wiki-*.txt"
        for path in sorted((data / folder).glob(pattern)):
            for line in path.read_text("utf-8").splitlines():
                found[" ".join(line.split("\t")[column].split())] = None
    return list(found)


# ---- the vocabulary ---------------------------------------------------------------------------


def test_common_words_come_first_and_ties_go_by_the_alphabet() -> None:
    vocabulary = Vocabulary.from_texts([["b", "a"], ["c", "b"]])
    assert vocabulary.words == (*SPECIAL, "b", "a", "c")


def test_the_vocabulary_has_at_most_the_given_number_of_words() -> None:
    vocabulary = Vocabulary.from_texts([["b", "b", "a", "c"]], size=2)
    assert vocabulary.words == (*SPECIAL, "b", "a")
    assert vocabulary.encode(["a", "c"]) == [2, 5, 1, 3]
    assert "c" not in vocabulary


def test_a_special_word_in_a_text_keeps_its_number() -> None:
    assert Vocabulary.from_texts([["[UNK]", "a"]]).words == (*SPECIAL, "a")


def test_a_duplicate_word_is_refused() -> None:
    with pytest.raises(InputError, match="must be unique, got 'a' twice"):
        _ = Vocabulary((*SPECIAL, "a", "a"))


def test_a_vocabulary_without_the_special_words_is_refused() -> None:
    with pytest.raises(InputError, match=r"must begin with \[PAD\].*, got a, b"):
        _ = Vocabulary(("a", "b"))
