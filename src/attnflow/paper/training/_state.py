"""The state of a training run, and the records of its progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from attnflow.paper.training._dataset import TrainingData
    from attnflow.paper.training._loop import TrainingModel
    from attnflow.paper.training._recipe import Recipe


@dataclass(frozen=True, slots=True)
class StepLog:
    """The progress after an optimizer step.

    Loss and accuracy are means over the epoch so far, on augmented and masked sentences and with
    dropout. The accuracy is therefore below that on the sentences themselves. `teacher` says
    whether it is the teacher that is trained.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    accuracy: float
    teacher: bool = False


@dataclass(frozen=True, slots=True)
class EpochLog:
    """The training loss of an epoch, and the accuracy and loss on the validation split after it."""

    epoch: int
    loss: float
    validation_accuracy: float
    validation_loss: float
    attractor_accuracy: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """The steps done in the current epoch, and sums over their sentences."""

    steps: int = 0
    loss_sum: float = 0.0
    correct: int = 0
    sentences: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class TrainingState:
    """Everything that changes during a run; `ema_model` holds the averaged weights."""

    recipe: Recipe
    data: TrainingData
    model: TrainingModel
    ema_model: TrainingModel
    optimizer: torch.optim.AdamW
    total_steps: int
    history: list[EpochLog]
    teacher: nn.Module | None = None  # in evaluation mode; not part of a checkpoint
    step: int = 0
    progress: EpochProgress = EpochProgress()
    rng_state: Tensor | None = None  # of torch, if the run stopped within an epoch

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules whose parameters a checkpoint contains."""
        return {"model": self.model, "ema": self.ema_model}
