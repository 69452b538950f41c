from dataclasses import replace

from attnflow.paper import Accuracy, Epoch, Figures, Recipe, Source, Splits, generated_splits
from attnflow.paper._card import card

GOOD, WEAK = Accuracy(0.96, 0.97, 0.1, 1241, 1413), Accuracy(0.49, 0.5, 0.9, 108, 110)
FIGURES = Figures(GOOD, GOOD, replace(GOOD, count=3314), {1: GOOD, 5: WEAK}, {0: GOOD})
HISTORY = [Epoch(n, 0.5, 0.9 + n / 1000, 0.2, 0.8, 60.0) for n in range(1, 51)]
FILES = Splits(
    (), (), (), (), (), (), (),
    sources=(Source("numpred.val", 14169, 2), Source("numpred.test.1", 52599)),
)  # fmt: skip


def _card(splits: Splits, figures: Figures = FIGURES) -> str:
    recipe = Recipe(epochs=50, seed=7)
    return card(figures, splits, recipe, HISTORY, words=9649, size=4_900_000, computed="threads: 1")


def test_the_card_has_the_figures_with_their_counts() -> None:
    text = _card(FILES)
    assert "| validation | 1,241 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| held-out tenth of numpred.val | 1,241 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| wiki-test.txt, another file | 3,314 | 0.9600 | 1,413 | 0.9700 |" in text
    assert "| 1 | numpred.test.1, kept apart | 1,241 | 0.9600 |" in text
    assert "| 0 | wiki-test.txt | 1,241 | 0.9600 |" in text


def test_the_card_says_where_the_model_is_weak() -> None:
    assert "With 5 attractors (numpred.test.5, kept apart) it is right in 0.49 of 108" in _card(
        FILES
    )
    assert "no better than chance" in _card(FILES)
    strong = replace(FIGURES, test_attractors={1: GOOD})
    assert "chance." not in _card(FILES, strong)


def test_the_card_says_how_the_model_was_trained_and_on_what() -> None:
    text = _card(FILES)
    assert "train verb-number --data DIR --out FOLDER --seed 7 --epochs 50`: 50 epochs in" in text
    assert "minutes (threads: 1)." in text
    assert "| numpred.val | 14,169 | 2 |" in text
    assert "| numpred.test.1 | 52,599 | 0 |" in text
    assert "| augmentation: lead | 0.3 |" in text
    assert "| 50 | 0.5000 | 0.9500 | 0.8000 |" in text
    assert "Linzen" in text
    assert "Licence of the data: none is stated" in text
    assert "9,645 words beside the special ones" in text
    assert "4.9 MB" in text


def test_the_card_of_a_long_run_shows_some_of_its_epochs() -> None:
    rows = [line for line in _card(FILES).splitlines() if line.endswith("| 0.8000 |")]
    assert [int(row.split("|")[1]) for row in rows] == list(range(2, 51, 3))


def test_the_card_of_generated_sentences_says_so() -> None:
    figures = Figures(GOOD, GOOD, None, {0: GOOD}, {})
    text = _card(generated_splits(300), figures)
    assert "trained on generated sentences" in text
    assert "no data of others" in text
    assert "Linzen" not in text
    assert "wiki-test" not in text
