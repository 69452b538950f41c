"""`SentimentRecipe`: all settings of fine-tuning."""

from dataclasses import asdict, dataclass
from typing import Any

from attnflow._internal import checks

MAX_SEED = 2**32 - 1  # the seed of an epoch, computed from it, is an integer of 64 bits
_LOWEST = {"seed": 0, "epochs": 1, "batch_size": 1}
_INTERVALS = {"learning_rate": "(0, inf)", "weight_decay": "[0, inf)", "warmup_ratio": "[0, 1]"}


@dataclass(frozen=True, slots=True)
class SentimentRecipe:
    """The settings that, together with the base model and the data, determine a run.

    None of them was chosen on the dev split: they are usual values for compact encoders (Turc et
    al., 2019, https://arxiv.org/abs/1908.08962, try rates from 3e-5 to 3e-4).

    Parameters
    ----------
    seed
        Seed of all random generators.
    epochs, batch_size
        Number of epochs; sentences in a batch.
    learning_rate, warmup_ratio
        The highest learning rate of AdamW, and the share of all steps over which it rises; it then
        falls linearly to zero.
    weight_decay
        Decoupled weight decay of matrices.
    bf16
        Compute matrix products in bfloat16. Faster on processors with instructions for it; weights,
        losses and the optimizer stay in float32.

    Examples
    --------
    >>> SentimentRecipe(epochs=1).learning_rate
    0.0001
    """

    seed: int = 0
    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-4
    warmup_ratio: float = 0.1
    weight_decay: float = 0.01
    bf16: bool = False

    def __post_init__(self) -> None:
        for name, least in _LOWEST.items():
            most = MAX_SEED if name == "seed" else None
            _ = checks.as_int(getattr(self, name), name, least=least, most=most)
        for name, interval in _INTERVALS.items():
            _ = checks.as_float(getattr(self, name), name, interval)
        _ = checks.as_bool(self.bf16, "bf16")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)
