"""ModelFacts: what an evaluation has to know about a model before it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import (
    AttnflowError,
    InputError,
    MissingDependencyError,
    NoPredictionError,
    UnsupportedModelError,
)
from attnflow.evaluate._plan import FAITHFULNESS_METRICS, EvaluationPlan
from attnflow.models import attend
from attnflow.models.inputs import TokenizedText, batch_texts, has_decoder, layer_count
from attnflow.models.scoring import Classes, Scorer, evaluation, read_logits
from attnflow.types import Attention

if TYPE_CHECKING:
    from torch import nn

_SHORT_TEXT = "a"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is the same for all texts of a model."""

    n_layers: int
    n_heads: int
    causal: bool
    classes: Classes | None  # None if nothing that is computed needs logits
    per_position: bool  # whether there are logits at every position, of which one is read

    def check_target(self, target: object, argument: str) -> None:
        """Reject a class or token that the model does not have."""
        if self.classes is not None:
            _ = self.classes.number(cast("int | str", target), argument)


def model_facts(
    model: nn.Module, tokenizer: Any, texts: Iterable[TokenizedText], plan: EvaluationPlan
) -> ModelFacts:
    """Return the facts, from a pass over the first text that the model runs on.

    An error if the model cannot be evaluated. If it runs on none of the texts, each of them has an
    error of its own later, and the facts are the number of layers alone.
    """
    if has_decoder(model):
        raise UnsupportedModelError(
            f"{type(model).__name__} is an encoder-decoder, and evaluation takes models with one "
            "sequence of tokens"
        )
    first: AttnflowError | None = None
    for text in texts:
        try:
            return _facts(model, tokenizer, text, plan)
        except (MissingDependencyError, NoPredictionError):  # they are about every text
            raise
        except AttnflowError as reason:
            first = first or reason
    if (n_layers := _layer_count(model, tokenizer)) is None:
        raise first or InputError("expected a text that can be tokenised, got none")
    return ModelFacts(n_layers, 1, causal=False, classes=None, per_position=False)


def _layer_count(model: nn.Module, tokenizer: Any) -> int | None:
    """Return the number of layers of a pass over a short text; if it fails, of the configuration.

    A part of a corpus in which every text fails has as many values as the others, and not every
    configuration has the number of layers. None if it is unknown.
    """
    try:
        return cast("Attention", attend(model, tokenizer, _SHORT_TEXT, heads="mean")).n_layers
    except AttnflowError:
        return layer_count(model)


def _facts(
    model: nn.Module, tokenizer: Any, text: TokenizedText, plan: EvaluationPlan
) -> ModelFacts:
    inputs = batch_texts(model, [text], single=True)
    attention = cast("Attention", attend(model, tokenizer, cast("Any", inputs)))
    sizes: Any = {"n_layers": attention.n_layers, "n_heads": attention.n_heads}
    if not _needs_logits(plan):
        return ModelFacts(**sizes, causal=attention.causal, classes=None, per_position=False)
    scorer = Scorer.of(model, tokenizer, inputs)
    with evaluation(model, gradients=False):
        logits = read_logits(model, scorer.inputs[0].fields, scorer.inputs)
    classes, per_position = scorer.classes(logits), logits.per_position
    return ModelFacts(**sizes, causal=attention.causal, classes=classes, per_position=per_position)


def _needs_logits(plan: EvaluationPlan) -> bool:
    """Return whether the output of the model matters, not only its attention."""
    metrics = any(
        importance is not None or metric in FAITHFULNESS_METRICS
        for importance, metric in plan.columns
    )
    baselines = any(baseline != "random" for baseline in plan.baselines)
    return metrics or baselines or plan.row == "read" or "gradient" in plan.edges
