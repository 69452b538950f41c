"""The score that gradients and contributions explain: a logit, or the difference of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnflow.models.inputs import Inputs
from attnflow.models.scoring import OneTarget, Scorer, SingleInput, read_output, split_batch

if TYPE_CHECKING:
    from torch import Tensor, nn


def target_scorer(
    model: nn.Module, tokenizer: Any, inputs: Inputs, target: OneTarget, position: int | None
) -> Scorer:
    """Return the scorer of one input."""
    [(fields, main, _)] = split_batch(inputs)
    if fields[main].ndim <= 3:
        return Scorer.of(model, tokenizer, inputs, "logit", target, position=position)
    # An image has no tokens before the pass, and its classifier no position to read.
    item = SingleInput(fields, main, (), (), None, "", None, position is not None)
    return Scorer(model, tokenizer, [item], single=True, score="logit", targets=(target,))


def target_logit(scorer: Scorer, output: Any, against: OneTarget) -> tuple[Tensor, dict[str, Any]]:
    """Return the score of a pass, and settings that describe it."""
    [item] = scorer.inputs
    logits = read_output(scorer.model, output, item.fields, [item])
    [found] = scorer.target_scores(logits, [0])
    score = logits.values[0, found.target]
    settings = {
        name: value
        for name, value in found.settings.items()
        if name in ("target", "target_name", "position", "decoder_position")
    }
    if against is not None:
        classes = scorer.classes(logits)
        other = classes.number(against)
        score = score - logits.values[0, other]
        settings |= {"against": other, "against_name": classes.name(other)}
    return score, {**settings, "score": float(score.detach())}
