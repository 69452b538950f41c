"""What a model is asked: how sure it is of which answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.importance._score import Score, checked_score, probabilities, scores
from attnflow.importance._target import Classes, OneTarget, Target, targets_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from attnflow.importance._example import Example
    from attnflow.importance._passes import Answer


@dataclass(frozen=True, slots=True)
class Question:
    """The answer in question for one example, and its score for the whole input."""

    target: int
    other: int  # the best class besides the target, for the whole input
    whole: float
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a model is asked about each of several examples."""

    model: nn.Module
    tokenizer: Any
    score: Score
    targets: tuple[OneTarget, ...]

    @classmethod
    def of(
        cls, model: nn.Module, tokenizer: Any, *, score: Score, target: Target, count: int
    ) -> Asking:
        """What callers ask about `count` examples."""
        return cls(model, tokenizer, checked_score(score), targets_for(target, count))

    def questions(
        self, answer: Answer, examples: Sequence[Example], numbers: Sequence[int]
    ) -> list[Question]:
        """The questions about the examples of these numbers, after the answers to them."""
        logits = answer.logits.detach()  # (example, class)
        self._check(logits.shape[1])
        classes = self.classes(answer)
        found: list[Question] = []
        for row, number in zip(logits, numbers, strict=True):
            given = self.targets[number]
            target = int(row.argmax()) if given is None else classes.number(given)
            other = _best_other(row, target)
            whole = float(self._scored(row[None], [target], [other])[0])
            settings: dict[str, Any] = {
                "score": self.score,
                "target": target,
                "target_name": classes.name(target),
                "target_given": given is not None,
                "whole": whole,
            }
            if self.score == "difference":
                settings |= {"other": other, "other_name": classes.name(other)}
            if answer.placed:
                settings["position"] = examples[number].answering
            found.append(Question(target, other, whole, settings))
        return found

    def classes(self, answer: Answer) -> Classes:
        """What the model chooses from when it answers."""
        tokens = self.tokenizer is not None and answer.placed
        return Classes.of(self.model, self.tokenizer, answer.logits.shape[1], tokens=tokens)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probabilities (row, class) of logits; an error where the model's answer has none."""
        self._check(logits.shape[1])
        return probabilities(logits, independent=self._independent)

    def measured(self, logits: Tensor, questions: Sequence[Question]) -> Tensor:
        """The score (row) of logits (row, class), with a question for each row."""
        targets, others = zip(*((each.target, each.other) for each in questions), strict=True)
        return self._scored(logits, targets, others)

    def _scored(self, logits: Tensor, targets: Sequence[int], others: Sequence[int]) -> Tensor:
        independent = self._independent
        return scores(logits, targets, others, score=self.score, independent=independent)

    @property
    def _independent(self) -> bool:
        """Whether the classes do not exclude one another, as the model's configuration says."""
        return self._problem == "multi_label_classification"

    @property
    def _problem(self) -> Any:
        return getattr(getattr(self.model, "config", None), "problem_type", None)

    def _check(self, count: int) -> None:
        """Refuse scores that say nothing about a model."""
        name = type(self.model).__name__
        if self._independent and self.score == "difference":
            raise InputError(
                f"the classes of {name} do not exclude one another, so the target has no other "
                "class to be compared with; use score='probability' or score='logit'"
            )
        one = count == 1 and not self._independent
        if self.score != "logit" and (one or self._problem == "regression"):
            came = "one number, which has" if one else f"{count} numbers, which have"
            raise InputError(
                f"{name} answers with {came} no probability, and score={self.score!r} needs one; "
                "importance takes score='logit' for the number as it is"
            )


def _best_other(logits: Tensor, target: int) -> int:
    """The best class besides the target; the target where there is no other."""
    best = logits.topk(min(2, len(logits))).indices.tolist()
    return next((number for number in best if number != target), target)
