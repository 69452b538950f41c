"""`predict` and `predict_among`: what a model predicts, and with which probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, overload

from attnflow.errors import InputError
from attnflow.importance._prediction import Prediction
from attnflow.importance._settings import PassSettings
from attnflow.models.inputs import OneText, SeveralTexts, TextInput, WithTokenizer, takes_pipeline
from attnflow.models.scoring import (
    Classes,
    Logits,
    Scorer,
    SingleInput,
    Variant,
    batches,
    evaluation,
    read_logits,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

# Tokens of a vocabulary in a prediction. Chosen.
_TOKENS_SHOWN = 10

# A label, and the probabilities that a prediction shows.
Choice: TypeAlias = tuple[str, dict[str, float]]
Choose: TypeAlias = "Callable[[Classes, Tensor], Choice]"


@overload
def predict(
    model: nn.Module, tokenizer: Any, text: OneText, **settings: Unpack[PassSettings]
) -> Prediction: ...
@overload
def predict(
    model: nn.Module, tokenizer: Any, text: SeveralTexts, **settings: Unpack[PassSettings]
) -> list[Prediction]: ...
@overload
def predict(
    model: WithTokenizer, text: OneText, **settings: Unpack[PassSettings]
) -> Prediction: ...
@overload
def predict(
    model: WithTokenizer, text: SeveralTexts, **settings: Unpack[PassSettings]
) -> list[Prediction]: ...
@takes_pipeline
def predict(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    *,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Prediction | list[Prediction]:
    """Return what a model predicts, with probabilities: by default the target of importance.

    `p = softmax(logits)`; if the model's configuration says that classes are independent
    (multi-label), `p = sigmoid(logits)`, and the label is the most probable class.

    Parameters
    ----------
    model, tokenizer, text, position, truncate, batch_size
        As for `blank_out`.

    Notes
    -----
    A classifier gives every class, in its own order; a language model its ten most probable tokens,
    the best first. A regression model has no probabilities: an InputError.
    One row for each text, in batches.

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import predict
    >>> class Counts(torch.nn.Module):
    ...     def forward(self, ids):
    ...         return torch.stack([(ids == 1).sum(1), (ids == 2).sum(1)], 1).float()
    >>> [p] = predict(Counts(), None, torch.tensor([[1, 2, 2, 3]]))
    >>> p
    Prediction('1', probability=0.731)
    >>> round(p.probabilities["0"], 3)
    0.269
    """
    passes = {"position": position, "truncate": truncate, "batch_size": batch_size}
    return _predict(model, tokenizer, text, most_probable, **passes)


@overload
def predict_among(
    model: nn.Module,
    tokenizer: Any,
    text: OneText,
    answers: Sequence[str],
    *,
    after_space: bool = False,
    **settings: Unpack[PassSettings],
) -> Prediction: ...
@overload
def predict_among(
    model: nn.Module,
    tokenizer: Any,
    text: SeveralTexts,
    answers: Sequence[str],
    *,
    after_space: bool = False,
    **settings: Unpack[PassSettings],
) -> list[Prediction]: ...
@overload
def predict_among(
    model: WithTokenizer,
    text: OneText,
    answers: Sequence[str],
    *,
    after_space: bool = False,
    **settings: Unpack[PassSettings],
) -> Prediction: ...
@overload
def predict_among(
    model: WithTokenizer,
    text: SeveralTexts,
    answers: Sequence[str],
    *,
    after_space: bool = False,
    **settings: Unpack[PassSettings],
) -> list[Prediction]: ...
@takes_pipeline
def predict_among(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    answers: Sequence[str],
    *,
    after_space: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Prediction | list[Prediction]:
    """Return the probabilities of some answers, and of the one that the model predicts.

    Parameters
    ----------
    model, tokenizer, text, position, truncate, batch_size
        As for `blank_out`.
    answers
        Classes or tokens, by name.
    after_space
        Take the token of an answer with a space before it, as inside a text, if the tokenizer has
        one.

    Notes
    -----
    The probabilities have the names in `answers`, and the label, the most probable class or token.
    One row for each text, in batches.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.importance import predict_among
    >>> shipped = paper.load()
    >>> text = "the key to the cabinets"
    >>> found = predict_among(shipped.model, shipped.tokenizer, text, ["plural"])
    >>> found.label, list(found.probabilities)
    ('singular', ['plural', 'singular'])
    """
    numbers: dict[str, int] = {}  # looked up once, because tokenizers copy their vocabulary

    def choose(classes: Classes, p: Tensor) -> Choice:
        if not numbers:
            numbers.update(
                {name: _number(classes, name, after_space=after_space) for name in answers}
            )
        return _among(classes, p, numbers)

    passes = {"position": position, "truncate": truncate, "batch_size": batch_size}
    return _predict(model, tokenizer, text, choose, **passes)


def _predict(
    model: nn.Module, tokenizer: Any, text: TextInput, choose: Choose, **passes: Any
) -> Prediction | list[Prediction]:
    batch_size = passes.pop("batch_size")
    scorer = Scorer.of(model, tokenizer, text, **passes)
    model, inputs = scorer.model, scorer.inputs
    rows = [Variant(number) for number in range(len(inputs))]
    found: dict[int, Prediction] = {}
    with evaluation(model, gradients=False):
        for numbers, fields in batches(model, inputs, rows, batch_size=batch_size):
            own = [inputs[number] for number in numbers]
            made = predictions(scorer, read_logits(model, fields, own), own, choose)
            found |= dict(zip(numbers, made, strict=True))
    return scorer.one_or_all([found[number] for number in range(len(inputs))])


def predictions(
    scorer: Scorer, logits: Logits, inputs: Sequence[SingleInput], choose: Choose
) -> list[Prediction]:
    """Return the predictions in the logits of unchanged inputs."""
    classes = scorer.classes(logits)
    p = scorer.probabilities(logits.values.detach().cpu().double())
    found: list[Prediction] = []
    for row, item in zip(p, inputs, strict=True):
        label, shown = choose(classes, row)
        found.append(Prediction(label, shown, item.position if logits.per_position else None))
    return found


def most_probable(classes: Classes, p: Tensor) -> Choice:
    """Return the label, and the probabilities of all classes or of the most probable tokens."""
    best = int(p.argmax())  # of equal ones the same as the default target of importance
    numbers = list(range(len(p)))
    if classes.tokens:
        others = p.topk(min(_TOKENS_SHOWN, len(p))).indices.tolist()
        numbers = [best, *(number for number in others if number != best)][:_TOKENS_SHOWN]
    names = {number: classes.name(number) for number in numbers}
    if len(set(names.values())) < len(names):  # a configuration that gives two classes one name
        names = {number: f"{name} ({number})" for number, name in names.items()}
    return names[best], dict(zip(names.values(), p[numbers].tolist(), strict=True))


def _among(classes: Classes, p: Tensor, numbers: dict[str, int]) -> Choice:
    best = int(p.argmax())
    label = classes.name(best)
    if numbers.get(label, best) != best:  # an answer with its space is another token of this name
        label = f"{label} ({best})"
    return label, {name: float(p[number]) for name, number in {**numbers, label: best}.items()}


def _number(classes: Classes, answer: str, *, after_space: bool) -> int:
    """Return the number of an answer; tokenizers write the space before a word as " " or "▁"."""
    for spelling in (f" {answer}", f"▁{answer}") if after_space else ():
        try:
            return classes.number(spelling)
        except InputError:
            continue
    return classes.number(answer)
