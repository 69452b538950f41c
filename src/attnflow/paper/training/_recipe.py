"""`Recipe`: all settings of a training run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from attnflow.errors import InputError
from attnflow.paper.data import Augmentation


@dataclass(frozen=True, slots=True)
class Mix:
    """How often an epoch contains each kind of prefix; 1.5 is each once and half of them twice.

    The defaults were chosen on the validation split.

    Parameters
    ----------
    natural
        Prefixes in their natural mix.
    inner
        Prefixes of other verbs of the same sentences.
    attractors
        Prefixes from the attractor files.
    generated
        The number of generated prefixes, new in every epoch.
    """

    natural: float = 1.0
    inner: float = 0.5
    attractors: float = 0.2
    generated: int = 1000


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings that, together with the data, determine a run. Chosen on the validation split.

    Parameters
    ----------
    seed
        Seed of all random generators.
    epochs, batch_size
        Number of epochs; sentences in a batch.
    learning_rate, warmup_steps, cooldown_ratio
        The learning rate of AdamW, the steps over which it rises, and the share of all steps, at
        the end, over which it falls to almost zero.
    weight_decay, label_smoothing, dropout
        Weight decay of matrices, label smoothing, dropout of embeddings and of residual branches.
    mask_prob, mlm_weight
        Probability that MASK replaces a word, and the weight of the masked language modelling loss,
        an auxiliary loss computed in the same forward pass.
    ema_decay
        Decay of the exponential moving average of the weights; the averaged weights are evaluated
        and saved.
    init_std
        Standard deviation of the initial word embeddings, which come from co-occurrence counts.
    mix, augmentation
        The composition of an epoch, and its random changes.

    Examples
    --------
    >>> Recipe(epochs=2).epochs, Recipe().batch_size
    (2, 128)
    """

    seed: int = 0
    epochs: int = 18
    batch_size: int = 128
    learning_rate: float = 1e-3
    warmup_steps: int = 300
    cooldown_ratio: float = 0.35
    weight_decay: float = 0.05
    label_smoothing: float = 0.05
    dropout: float = 0.1
    mask_prob: float = 0.1
    mlm_weight: float = 0.3
    ema_decay: float = 0.998
    init_std: float = 0.1
    mix: Mix = field(default_factory=Mix)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        for name, lowest in (("seed", 0), ("epochs", 1), ("batch_size", 1)):
            value = getattr(self, name)
            if value < lowest:
                raise InputError(f"{name} must be an integer >= {lowest}, got {value}")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return json.loads(json.dumps(asdict(self)))


# For a few thousand generated sentences: takes a minute or two.
SMALL_RECIPE = Recipe(
    epochs=8,
    batch_size=64,
    warmup_steps=60,
    mask_prob=0.03,
    mlm_weight=0.1,
    ema_decay=0.98,
    mix=Mix(generated=0),
    augmentation=Augmentation(swap_noun_prob=0.3, prepend_prob=0.0),
)
