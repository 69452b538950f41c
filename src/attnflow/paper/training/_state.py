"""The state of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnflow.paper.runs import RunState
from attnflow.paper.training._recipe import Recipe

if TYPE_CHECKING:
    from torch import nn

    from attnflow.paper.training._dataset import TrainingData
    from attnflow.paper.training._loop import TrainingModel


@dataclass(slots=True, kw_only=True)
class TrainingState(RunState[Recipe, "TrainingModel"]):
    """Everything that changes during a run; `ema_model` holds the averaged weights."""

    ema_model: TrainingModel
    data: TrainingData
    teacher: nn.Module | None = None  # in evaluation mode; not part of a checkpoint

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules whose parameters a checkpoint contains."""
        return {"model": self.model, "ema": self.ema_model}
