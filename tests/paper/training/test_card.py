import re
from dataclasses import replace

from attnflow.paper import (
    Accuracies,
    Accuracy,
    DataFile,
    EpochLog,
    Recipe,
    Splits,
    generated_splits,
)
from attnflow.paper.training._card import model_card

GOOD, WEAK = Accuracy(0.96, 0.97, 0.1, 1241, 1413), Accuracy(0.49, 0.5, 0.9, 108, 110)
ACCURACIES = Accuracies(GOOD, GOOD, replace(GOOD, count=3314), {1: GOOD, 5: WEAK}, {0: GOOD})
HISTORY = [EpochLog(n, 0.5, 0.9 + n / 1000, 0.2, 0.8, 60.0) for n in range(1, 51)]
FILES = Splits(files=(DataFile("numpred.val", 14169, 2), DataFile("numpred.test.1", 52599)))


def _card(splits: Splits, accuracies: Accuracies = ACCURACIES, *, bf16: bool = False) -> str:
    """Return the card, with one space between its words."""
    card = model_card(
        accuracies,
        splits,
        Recipe(epochs=50, seed=7, bf16=bf16),
        HISTORY,
        vocabulary_size=9649,
        weights_size=4_900_000,
        environment="threads: 1",
    )
    return re.sub(" +", " ", card)


def test_the_card_has_the_accuracies_with_their_counts() -> None:
    text = _card(FILES)
    assert "| validation | 1,241 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| test, a tenth of numpred.val | 1,241 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| wiki-test.txt, another file | 3,314 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| 1 | test part of numpred.test.1 | 1,241 | 0.9600 |" in text
    assert "| 0 | wiki-test.txt | 1,241 | 0.9600 |" in text


def test_the_card_lists_low_accuracies_as_limits() -> None:
    limit = "With 5 attractors (test part of numpred.test.5) the accuracy is 0.49 on 108 prefixes"
    assert f"{limit}, no better than chance." in _card(FILES)
    strong = replace(ACCURACIES, test_attractors={1: GOOD})
    assert "the accuracy is" not in _card(FILES, strong)


def test_the_card_has_the_settings_and_the_data_of_training() -> None:
    text = _card(FILES)
    assert "train verb-number --data DIR --out FOLDER --seed 7 --epochs 50`: 50 epochs in" in text
    assert "--out FOLDER --bf16 --seed 7 --epochs 50`" in _card(FILES, bf16=True)
    assert "minutes (threads: 1)." in text
    assert "| numpred.val | 14,169 | 2 |" in text
    assert "| numpred.test.1 | 52,599 | 0 |" in text
    assert "| ema_decay | 0.999 |" in text
    assert "| augmentation.prepend_prob | 0.3 |" in text
    assert "| 50 | 0.5000 | 0.9500 | 0.8000 |" in text
    assert "Linzen" in text
    assert "Licence of the data: the files state none" in text
    assert "9,645 words and the special tokens" in text
    assert "4.9 MB" in text


def test_the_card_of_a_long_run_shows_some_of_its_epochs() -> None:
    rows = [line for line in _card(FILES).splitlines() if line.endswith("| 0.8000 |")]
    assert [int(row.split("|")[1]) for row in rows] == list(range(2, 51, 3))


def test_the_card_of_generated_sentences_says_so() -> None:
    text = _card(generated_splits(300), Accuracies(GOOD, GOOD, None, {0: GOOD}, {}))
    assert "trained on generated sentences" in text
    assert "no data of others" in text
    assert "Linzen" not in text
    assert "wiki-test" not in text
