"""`Recipe`: all settings of a training run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.paper.data import Augmentation

MAX_SEED = 2**32 - 1  # the seed of an epoch, computed from it, is an integer of 64 bits
# The lowest values of integers, and the intervals of other numbers.
_LOWEST = {"seed": 0, "epochs": 1, "batch_size": 1, "warmup_steps": 0, "visible_padding": 0}
_INTERVALS = {
    "(0, inf)": "learning_rate init_std embedding_std",
    "[0, inf)": "weight_decay l2_penalty mlm_weight",
    "[0, 1)": "attn_dropout resid_dropout embd_dropout",
    "[0, 1]": "cooldown_ratio label_smoothing teacher_weight mask_prob ema_decay",
}


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

    def __post_init__(self) -> None:
        for name in ("natural", "inner", "attractors"):
            _ = checks.as_float(getattr(self, name), name, "[0, inf)")
        _ = checks.as_int(self.generated, "generated", least=0)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings that, together with the data, determine a run.

    The defaults follow the training of the paper's model: strong dropout, an L2 penalty, padding
    that tokens attend to, and a teacher. What the paper leaves open was chosen on the validation
    split. `ACCURATE_RECIPE` trains the teacher.

    Parameters
    ----------
    seed
        Seed of all random generators.
    epochs, batch_size
        Number of epochs; sentences in a batch.
    learning_rate, warmup_steps, cooldown_ratio
        The learning rate of AdamW, the steps over which it rises, and the share of all steps, at
        the end, over which it falls to almost zero.
    attn_dropout, resid_dropout, embd_dropout
        Dropout of attention weights, of residual branches and of embeddings.
    weight_decay, l2_penalty
        Decoupled weight decay of matrices; factor of the sum of squares of all matrices, embeddings
        included, in the loss.
    regularization_ramp
        Two shares of all steps: dropout and the L2 penalty rise from zero at the first to their
        full values at the second. At full values from the start, the penalty shrinks the
        feed-forward parts to zero before they have learnt anything.
    label_smoothing
        Of the loss with respect to the labels.
    teacher_weight
        Weight of the cross-entropy with the teacher's probabilities; that of the labels is the
        rest. 0 trains without a teacher.
    visible_padding
        Every batch has up to this many padding tokens more than its longest sentence needs, as far
        as the model has positions, and tokens attend to padding, so that its embedding learns to
        mean nothing. 0 masks padding.
    mask_prob, mlm_weight
        Probability that MASK replaces a word, and the weight of the masked language modelling loss,
        an auxiliary loss computed in the same forward pass.
    ema_decay
        Decay of the exponential moving average of the weights; the averaged weights are evaluated
        and saved.
    init_std
        Standard deviation of the truncated normal distribution of initial matrices; None leaves
        them as transformers initialises GPT-2.
    embedding_std
        Standard deviation of the initial word embeddings, which come from co-occurrence counts.
    bf16
        Compute matrix products in bfloat16. Faster on processors with instructions for it; weights,
        losses and the optimizer stay in float32.
    mix, augmentation
        The composition of an epoch, and its random changes.

    Examples
    --------
    >>> Recipe(epochs=2).epochs, Recipe().attn_dropout, ACCURATE_RECIPE.attn_dropout
    (2, 0.6, 0.0)
    """

    seed: int = 0
    epochs: int = 24
    batch_size: int = 64
    learning_rate: float = 1e-3
    warmup_steps: int = 300
    cooldown_ratio: float = 0.35
    attn_dropout: float = 0.6
    resid_dropout: float = 0.4
    embd_dropout: float = 0.2
    weight_decay: float = 0.0
    l2_penalty: float = 1e-4
    regularization_ramp: tuple[float, float] = (0.13, 0.33)
    label_smoothing: float = 0.0
    teacher_weight: float = 0.9
    visible_padding: int = 8
    mask_prob: float = 0.0
    mlm_weight: float = 0.0
    ema_decay: float = 0.999
    init_std: float | None = 0.05
    embedding_std: float = 0.05
    bf16: bool = False
    mix: Mix = field(
        default_factory=lambda: Mix(natural=2.0, inner=1.0, attractors=0.3, generated=6000)
    )
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        for name, least in _LOWEST.items():
            most = MAX_SEED if name == "seed" else None
            _ = checks.as_int(getattr(self, name), name, least=least, most=most)
        for interval, names in _INTERVALS.items():
            for name in names.split():
                if name != "init_std" or self.init_std is not None:
                    _ = checks.as_float(getattr(self, name), name, interval)
        _ = checks.as_bool(self.bf16, "bf16")
        for name, kind in (("mix", Mix), ("augmentation", Augmentation)):
            if not isinstance(value := getattr(self, name), kind):
                raise InputError(f"{name} must be of type {kind.__name__}, got {value!r}")
        ramp: Any = self.regularization_ramp
        numbers = isinstance(ramp, tuple) and all(type(share) in (int, float) for share in ramp)
        if not (numbers and len(ramp) == 2 and 0 <= ramp[0] <= ramp[1] <= 1):
            raise InputError(
                f"regularization_ramp must be two numbers, 0 <= start <= end <= 1, got {ramp!r}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return json.loads(json.dumps(asdict(self), default=float))


# Little dropout, no teacher, masked language modelling: a more accurate model.
ACCURATE_RECIPE = Recipe(
    epochs=18,
    batch_size=128,
    attn_dropout=0.0,
    resid_dropout=0.1,
    embd_dropout=0.1,
    weight_decay=0.05,
    l2_penalty=0.0,
    regularization_ramp=(0.0, 0.0),
    label_smoothing=0.05,
    teacher_weight=0.0,
    visible_padding=0,
    mask_prob=0.1,
    mlm_weight=0.3,
    ema_decay=0.998,
    init_std=None,
    embedding_std=0.1,
    mix=Mix(),
)

# For a few thousand generated sentences: takes a minute or two.
SMALL_RECIPE = replace(
    ACCURATE_RECIPE,
    epochs=8,
    batch_size=64,
    warmup_steps=60,
    mask_prob=0.03,
    mlm_weight=0.1,
    ema_decay=0.98,
    mix=Mix(generated=0),
    augmentation=Augmentation(swap_noun_prob=0.3, prepend_prob=0.0),
)
