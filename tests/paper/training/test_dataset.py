from collections.abc import Callable
from dataclasses import replace

from attnflow.paper import Augmentation, Mix, Recipe, Splits
from attnflow.paper.training._dataset import TrainingData

MASK_ID = 1


def test_held_out_prefixes_are_not_trained_on(small_splits: Callable[[int], Splits]) -> None:
    splits = small_splits(200)
    data = TrainingData.from_splits(splits)
    held_out = {tuple(data.vocabulary.encode(words)) for words in splits.held_out}
    for number in range(3):
        epoch = data.epoch(Recipe(), number)
        assert len(epoch) > 200
        # Words outside the vocabulary have the id of MASK, so encoded prefixes may be equal.
        assert not [ids for ids, _ in epoch if MASK_ID not in ids and tuple(ids) in held_out]
    unchecked = replace(data, held_out=frozenset()).epoch(Recipe(), 0)
    assert [ids for ids, _ in unchecked if tuple(ids) in held_out]  # without the check it happens


def test_an_epoch_depends_on_seed_and_number_alone(small_splits: Callable[[int], Splits]) -> None:
    data = TrainingData.from_splits(small_splits(50))
    first = data.epoch(Recipe(), 0)
    assert first == TrainingData.from_splits(small_splits(50)).epoch(Recipe(), 0)
    assert first != data.epoch(Recipe(), 1)
    assert first != data.epoch(Recipe(seed=1), 0)


def test_without_augmentation_an_epoch_is_the_sentences_themselves(
    small_splits: Callable[[int], Splits],
) -> None:
    splits = small_splits(50)
    data = TrainingData.from_splits(splits)
    recipe = Recipe(mix=Mix(generated=0), augmentation=Augmentation(0, 0, 0, 0, 0))
    expected = [(data.vocabulary.encode(p.words), p.number) for p in splits.train]
    assert sorted(data.epoch(recipe, 0)) == sorted(expected)
