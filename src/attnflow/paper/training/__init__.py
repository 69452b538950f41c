"""Training the verb-number model: recipe, data of an epoch, loop and model card."""

from attnflow.paper.training._recipe import ACCURATE_RECIPE, MAX_SEED, SMALL_RECIPE, Mix, Recipe
from attnflow.paper.training._train import TEACHER, TrainingResult, train

__all__ = [
    "ACCURATE_RECIPE", "MAX_SEED", "SMALL_RECIPE", "TEACHER", "Mix", "Recipe", "TrainingResult",
    "train",
]  # fmt: skip
