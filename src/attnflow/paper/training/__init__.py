"""Training the verb-number model: recipe, data of an epoch, loop, checkpoints and model card."""

from attnflow.paper.training._folder import CHECKPOINT, TEACHER
from attnflow.paper.training._recipe import ACCURATE_RECIPE, MAX_SEED, SMALL_RECIPE, Mix, Recipe
from attnflow.paper.training._state import EpochLog, StepLog
from attnflow.paper.training._train import TrainingResult, train

__all__ = [
    "ACCURATE_RECIPE", "CHECKPOINT", "MAX_SEED", "SMALL_RECIPE", "TEACHER", "EpochLog", "Mix",
    "Recipe", "StepLog", "TrainingResult", "train",
]  # fmt: skip
