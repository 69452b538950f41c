"""How a model is trained: all settings of a run, in one place."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from attnflow.errors import InputError
from attnflow.paper._augment import Augmentation
from attnflow.paper._material import Mix


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides how a run ends, beside the data. Chosen on the validation split.

    Parameters
    ----------
    seed
        Of everything left to chance.
    epochs, batch
        How long, and how many sentences a step.
    rate, warmup, cooldown
        The learning rate of AdamW, the steps it takes to rise to it, and the share of all steps,
        the last ones, over which it falls to nothing.
    decay, smoothing, dropout
        Weight decay of matrices, label smoothing, dropout of embeddings and of what blocks add.
    hide, guess
        Share of words that MASK takes the place of, and the weight of the loss of guessing them
        from the last embeddings: masked-word training beside the task, which costs next to nothing.
    average
        Kept of the mean of the weights at each step; it is the mean that is measured and shipped.
    spread
        Standard deviation of the first word embeddings, which come from the words' neighbours.
    mix, augmentation
        What an epoch is made of.

    Examples
    --------
    >>> Recipe(epochs=2).epochs, Recipe().batch
    (2, 128)
    """

    seed: int = 0
    epochs: int = 18
    batch: int = 128
    rate: float = 1e-3
    warmup: int = 300
    cooldown: float = 0.35
    decay: float = 0.05
    smoothing: float = 0.05
    dropout: float = 0.1
    hide: float = 0.1
    guess: float = 0.3
    average: float = 0.998
    spread: float = 0.1
    mix: Mix = field(default_factory=Mix)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        for name, lowest in (("seed", 0), ("epochs", 1), ("batch", 1)):
            value = getattr(self, name)
            if value < lowest:
                raise InputError(f"{name} is {value}; give a whole number from {lowest}")

    def plain(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return json.loads(json.dumps(asdict(self)))


def differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Which settings of two recipes differ, in words; `one` is what is wanted.

    >>> differences(Recipe(epochs=3).plain(), Recipe().plain())
    'epochs is 18 there and 3 here'
    """
    names = [each.name for each in fields(Recipe)]
    return ", ".join(
        f"{name} is {other.get(name)} there and {one[name]} here"
        for name in names
        if one[name] != other.get(name)
    )


# For the few thousand sentences of our own: a minute or two, to see how training goes.
SMALL = Recipe(
    epochs=8,
    batch=64,
    warmup=60,
    hide=0.03,
    guess=0.1,
    average=0.98,
    mix=Mix(generated=0),
    augmentation=Augmentation(swap_noun=0.3, lead=0.0),
)
