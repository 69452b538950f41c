"""The score of a target: one number for each row of logits.

probability
    `p(t)`, the probability of the target t: softmax over all classes, or the sigmoid of its own
    logit if the model's classes are independent (multi-label).
log_probability
    `log p(t)`, computed from logits, so that it is accurate for small probabilities.
logit
    `z(t)`, the logit of the target.
difference
    `p(t) − p(o)`, the probability of the target minus that of the other class. With more than two
    classes, the other class is the most probable one besides the target for the unchanged input;
    it stays the same for changed inputs.
logit_difference
    `z(t) − z(o)`, the logit of the target minus that of the other class: with softmax the
    logarithm of how many times as probable the target is; for independent classes, of how many
    times as large its odds are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from attnflow._internal import display
from attnflow.errors import InputError
from attnflow.models.inputs import Inputs, TextInput, model_and_tokenizer
from attnflow.models.scoring._passes import Logits
from attnflow.models.scoring._single import SingleInput, single_inputs
from attnflow.models.scoring._target import Classes, OneTarget, Target, targets_for

if TYPE_CHECKING:
    from torch import Tensor, nn

Score: TypeAlias = Literal[
    "probability", "log_probability", "logit", "difference", "logit_difference"
]
_COMPARING = ("difference", "logit_difference")  # scores of two classes
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The target for one input, and its score for the unchanged input."""

    target: int
    other: int  # the most probable class besides the target; the target if there is no other
    score: float
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A model, its inputs, and the score of a target for each of them."""

    model: nn.Module
    tokenizer: Any
    inputs: list[SingleInput]
    single: bool  # whether the caller passed one text
    score: Score
    targets: tuple[OneTarget, ...]
    against: OneTarget = None  # the other class of a difference; None: the most probable other

    @classmethod
    def of(
        cls,
        model: nn.Module,
        tokenizer: Any,
        text: TextInput,
        score: object = "probability",
        target: Target = None,
        *,
        against: OneTarget = None,
        position: int | None = None,
        truncate: bool = False,
    ) -> Scorer:
        """Return the scorer for what callers pass."""
        if not isinstance(text, Inputs):  # these were prepared for a checked model
            model, tokenizer = model_and_tokenizer(model, tokenizer)
        inputs, single = single_inputs(model, tokenizer, text, position=position, truncate=truncate)
        for known in get_args(Score):
            if isinstance(score, str) and score == known:
                if against is not None and known not in _COMPARING:
                    raise InputError(
                        f"against={against!r} needs a score of two classes, score='difference' or "
                        f"score='logit_difference', got {known!r}"
                    )
                targets = targets_for(target, len(inputs))
                return cls(model, tokenizer, inputs, single, known, targets, against)
        raise InputError(f"score: expected one of {', '.join(get_args(Score))}, got {score!r}")

    def one_or_all(self, results: list[T]) -> T | list[T]:
        """Return one result for one text, else the list."""
        return results[0] if self.single else results

    def target_scores(self, logits: Logits, numbers: Sequence[int]) -> list[TargetScore]:
        """Return the targets of the inputs of these numbers, from the logits of these inputs."""
        if not numbers:
            return []
        values = logits.values.detach()  # (input, class)
        self._check(values.shape[1])
        classes = self.classes(logits)
        found: list[TargetScore] = []
        for row, number in zip(values, numbers, strict=True):
            given, item = self.targets[number], self.inputs[number]
            target = int(row.argmax()) if given is None else classes.likeliest(given, row)
            best: list[int] = row.topk(min(2, len(row))).indices.tolist()
            other = next((number for number in best if number != target), target)
            if self.against is not None:
                other = classes.likeliest(self.against, row, "against")
                if other == target:
                    raise InputError(
                        f"against: expected another answer than the target, got "
                        f"{display.token_names([classes.name(other)])[0]!r} for both"
                    )
            score = float(self._scored(row[None], [target], [other])[0])
            settings: dict[str, Any] = {
                "score": self.score,
                "target": target,
                "target_name": classes.name(target),
                "target_given": given is not None,
                "input_score": score,
            }
            if self.score in _COMPARING:
                settings |= {"other": other, "other_name": classes.name(other)}
            if logits.per_position:
                settings["decoder_position" if item.decodes else "position"] = item.position
            found.append(TargetScore(target, other, score, settings))
        return found

    def classes(self, logits: Logits) -> Classes:
        """Return the classes that the logits are of."""
        count = logits.values.shape[1]
        return Classes.of(self.model, self.tokenizer, count, per_position=logits.per_position)

    def probabilities(self, values: Tensor) -> Tensor:
        """Return probabilities (row, class) of logits; an error if the output has none."""
        self._check(values.shape[1])
        return values.sigmoid() if independent_classes(self.model) else values.softmax(dim=-1)

    def scores(self, values: Tensor, targets: Sequence[TargetScore]) -> Tensor:
        """Return the scores (row) of logits (row, class), with a target for each row."""
        return self._scored(
            values, [item.target for item in targets], [item.other for item in targets]
        )

    def _scored(self, values: Tensor, targets: Sequence[int], others: Sequence[int]) -> Tensor:
        import torch

        rows = torch.arange(len(targets), device=values.device)
        if self.score == "logit":
            return values[rows, list(targets)]
        if self.score == "logit_difference":
            return values[rows, list(targets)] - values[rows, list(others)]
        if self.score == "log_probability":
            functional, independent = torch.nn.functional, independent_classes(self.model)
            log_p = functional.logsigmoid(values) if independent else values.log_softmax(dim=-1)
            return log_p[rows, list(targets)]
        p = self.probabilities(values)
        if self.score == "probability":
            return p[rows, list(targets)]
        return p[rows, list(targets)] - p[rows, list(others)]

    def _check(self, count: int) -> None:
        """Refuse scores that the output of the model does not have."""
        name, independent = type(self.model).__name__, independent_classes(self.model)
        if independent and self.score == "difference":
            raise InputError(
                f"score='difference' compares two classes, and the classes of {name} are "
                "independent; use score='probability' or score='logit'"
            )
        one = count == 1 and not independent
        linear = self.score == "logit" or (self.score == "logit_difference" and count > 1)
        if not linear and (one or _problem_type(self.model) == "regression"):
            raise InputError(
                f"{name} is a regression model with {count} outputs, which have no probabilities; "
                "attnflow.importance.blank_out and the other functions there explain an output as "
                "it is with score='logit'"
            )


def independent_classes(model: nn.Module) -> bool:
    """Whether classes do not exclude one another, according to the model's configuration."""
    return _problem_type(model) == "multi_label_classification"


def _problem_type(model: nn.Module) -> Any:
    return getattr(getattr(model, "config", None), "problem_type", None)
