"""The score of a target: inputs one by one, their passes in batches, and what is read from logits.

This is the interface of `attnflow.models` for the other packages of attnflow, not for users.
"""

from attnflow.models.scoring._batches import Variant, batches
from attnflow.models.scoring._passes import (
    Logits,
    all_logits,
    evaluation,
    read_logits,
    read_output,
    recordable,
)
from attnflow.models.scoring._scorer import Score, Scorer, TargetScore, independent_classes
from attnflow.models.scoring._single import SingleInput, single_inputs, split_batch
from attnflow.models.scoring._target import Classes, OneTarget, Target

__all__ = [
    "Classes", "Logits", "OneTarget", "Score", "Scorer", "SingleInput", "Target", "TargetScore",
    "Variant", "all_logits", "batches", "evaluation", "independent_classes", "read_logits",
    "read_output", "recordable", "single_inputs", "split_batch",
]  # fmt: skip
