"""`importance_with_prediction`: prediction and importance of one text from the same passes.

This is for the other packages of attnflow, not for users.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from attnflow._internal.checks import Progress
from attnflow.errors import NoGradientError
from attnflow.importance._blank_out import blank_out_of
from attnflow.importance._input_gradient import input_gradient_of
from attnflow.importance._predict import most_probable, predictions
from attnflow.importance._prediction import Prediction
from attnflow.importance._recorded import RecordedPass
from attnflow.importance._settings import Replace
from attnflow.models.inputs import Inputs
from attnflow.models.scoring import Logits, OneTarget, Scorer, independent_classes
from attnflow.types import Importance

if TYPE_CHECKING:
    from torch import nn


def importance_with_prediction(
    model: nn.Module,
    tokenizer: Any,
    inputs: Inputs,
    *,
    target: OneTarget = None,
    against: OneTarget = None,
    position: int | None = None,
    replace: Replace | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
    recorded: RecordedPass | None = None,
) -> tuple[Prediction, dict[str, Importance], dict[str, str]]:
    """Return `predict`, and `blank_out` and `input_gradient` by name, of one prepared text.

    The last are those that cannot be computed, with the reason: the gradient of a model that passes
    none on.

    For `attnflow.explain`. The prediction comes from the passes of `blank_out`. The gradient is of
    the difference of two classes, or of the probability if classes are independent. With `against`
    both are of the difference of two logits. `progress` is called with (steps done, steps in
    total): a step for each token and one for the gradient. The gradient is that of `recorded`, a
    pass over the text, if there was one.
    """
    contrast = against is not None
    scorer = Scorer.of(
        model,
        tokenizer,
        inputs,
        "logit_difference" if contrast else "probability",
        target,
        against=against,
        position=position,
    )
    [item] = scorer.inputs
    steps = 1 + len(item.kept)
    found: list[Prediction] = []

    def observe(logits: Logits) -> None:
        found.extend(predictions(scorer, logits, [item], most_probable))

    def report(done: int, _total: int) -> None:
        if progress is not None:
            progress(done, steps)

    [blanked] = blank_out_of(
        scorer, replace, batch_size=batch_size, progress=report, observe=observe
    )
    if not contrast:
        score = "probability" if independent_classes(scorer.model) else "difference"
        scorer = dataclasses.replace(scorer, score=score)
    importance, missing = {"blank_out": blanked}, dict[str, str]()
    try:
        [importance["input_gradient"]] = input_gradient_of(scorer, reduce=None, recorded=recorded)
    except NoGradientError as reason:
        missing["input_gradient"] = str(reason)
    report(steps, steps)
    return found[0], importance, missing
