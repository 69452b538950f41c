"""`predict`: what a model answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from attnflow.importance._batches import Row, batches
from attnflow.importance._example import examples_of
from attnflow.importance._passes import answer_of, reading
from attnflow.importance._prediction import Prediction
from attnflow.importance._question import Asking
from attnflow.models.inputs import unwrap_compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from attnflow.importance._target import Classes
    from attnflow.models.inputs import ModelInput

# How many tokens of a vocabulary are told; chosen as what is read at a glance.
_TOKENS_TOLD = 10


@overload
def predict(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Prediction: ...
@overload
def predict(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    *,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> list[Prediction]: ...
@overload
def predict(
    model: nn.Module,
    tokenizer: Any,
    text: Mapping[str, Any] | Tensor,
    *,
    position: int | None = None,
    batch_size: int | None = None,
) -> Prediction | list[Prediction]: ...
def predict(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Prediction | list[Prediction]:
    """What a model answers, and how sure it is: the answer that importance is about by default.

    `p = softmax(logits)`; where the model's configuration says that classes do not exclude one
    another (multi-label), `p = sigmoid(logits)`, and the label is the most probable one.

    Parameters
    ----------
    model, tokenizer, text, position, truncate, batch_size
        As for `blank_out`.

    Notes
    -----
    A classifier tells every class, in its own order; a language model its ten most probable tokens,
    the best first. A model that answers with numbers and not with classes (regression) has no
    probabilities: an InputError.
    One forward pass a text, many at a time.

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import predict
    >>> class Counts(torch.nn.Module):
    ...     def forward(self, ids):
    ...         return torch.stack([(ids == 1).sum(1), (ids == 2).sum(1)], 1).float()
    >>> p = predict(Counts(), None, torch.tensor([[1, 2, 2, 3]]))
    >>> p
    Prediction('1', probability=0.731)
    >>> round(p.probabilities["0"], 3)
    0.269
    """
    model = unwrap_compiled(model)
    examples, single = examples_of(model, tokenizer, text, position=position, truncate=truncate)
    asking = Asking.of(model, tokenizer, score="probability", target=None, count=len(examples))
    rows = [Row(number) for number in range(len(examples))]
    found: dict[int, Prediction] = {}
    with reading(model, gradients=False):
        for numbers, fields in batches(model, examples, rows, size=batch_size):
            answer = answer_of(model, fields, [examples[number] for number in numbers])
            classes = asking.classes(answer)
            # Answers at positions that have no names of their own are tokens of a vocabulary.
            tokens = answer.placed and classes.labels is None
            p = asking.probabilities(answer.logits.cpu().double())
            for number, row in zip(numbers, p, strict=True):
                at = examples[number].answering if answer.placed else None
                found[number] = _prediction(classes, row, at, tokens=tokens)
    results = [found[number] for number in range(len(examples))]
    return results[0] if single else results


def _prediction(classes: Classes, p: Tensor, at: int | None, *, tokens: bool) -> Prediction:
    """The answer in probabilities (class)."""
    best = int(p.argmax())  # of equal ones the same as the target of importance
    told = list(range(len(p)))
    if tokens:
        others = p.topk(min(_TOKENS_TOLD, len(p))).indices.tolist()
        told = [best, *(number for number in others if number != best)][:_TOKENS_TOLD]
    names = {number: classes.name(number) for number in told}
    if len(set(names.values())) < len(names):  # a configuration that gives one name to two classes
        names = {number: f"{name} ({number})" for number, name in names.items()}
    each = dict(zip(names.values(), p[told].tolist(), strict=True))
    return Prediction(names[best], each, at)
