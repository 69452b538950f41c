"""`importance_with_prediction`: everything about one prepared text, each pass made once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from attnflow.importance._blank_out import blank_out_inputs
from attnflow.importance._input_gradient import input_gradient_inputs
from attnflow.importance._inputs import single_inputs
from attnflow.importance._predict import most_probable, predictions
from attnflow.importance._scorer import Scorer, independent_classes
from attnflow.models.inputs import unwrap_compiled

if TYPE_CHECKING:
    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.importance._passes import Logits
    from attnflow.importance._prediction import Prediction
    from attnflow.importance._settings import Replace
    from attnflow.importance._target import OneTarget
    from attnflow.models.inputs import Inputs
    from attnflow.types import Importance


def importance_with_prediction(
    model: nn.Module,
    tokenizer: Any,
    inputs: Inputs,
    *,
    target: OneTarget = None,
    position: int | None = None,
    replace: Replace = "unk",
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> tuple[Prediction, dict[str, Importance]]:
    """Return `predict`, and `blank_out` and `input_gradient` by name, of one prepared text.

    Parameters
    ----------
    inputs
        One text, as `attnflow.models.inputs.prepare` returns it.
    model, tokenizer, target, position, replace, batch_size
        As for `blank_out`. The gradient is of the difference of two classes, or of the probability
        if classes are independent.
    progress
        Called with (steps done, steps in total): a step for each token and one for the gradient.

    Notes
    -----
    The prediction comes from the passes of `blank_out`.
    """
    model = unwrap_compiled(model)
    items, _ = single_inputs(model, tokenizer, inputs, position=position)
    scorer = Scorer.of(model, tokenizer, score="probability", target=target, count=len(items))
    steps = 1 + len(items[0].kept)
    found: list[Prediction] = []

    def observe(logits: Logits) -> None:
        found.extend(predictions(scorer, logits, items, most_probable))

    def report(done: int, _total: int) -> None:
        if progress is not None:
            progress(done, steps)

    [blanked] = blank_out_inputs(
        scorer, items, replace, batch_size=batch_size, progress=report, observe=observe
    )
    if not independent_classes(model):
        scorer = dataclasses.replace(scorer, score="difference")
    [gradient] = input_gradient_inputs(scorer, items, reduce=None)
    report(steps, steps)
    return found[0], {"blank_out": blanked, "input_gradient": gradient}
