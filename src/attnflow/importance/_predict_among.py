"""`predict_among`: how sure a model is of answers that the caller names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.importance._example import examples_of
from attnflow.importance._passes import answer_of, reading
from attnflow.importance._prediction import Prediction
from attnflow.importance._question import Asking
from attnflow.models.inputs import unwrap_compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from attnflow.importance._target import Classes


def predict_among(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    answers: Sequence[str],
    *,
    position: int | None = None,
    after_space: bool = False,
) -> Prediction:
    """How sure a model is of some answers, and of the one that it gives.

    Parameters
    ----------
    model, tokenizer, text, position
        As for `predict`; one text.
    answers
        Classes or tokens, by name.
    after_space
        Take an answer as it stands inside a text, with the space before it, where the tokenizer has
        a token for that.

    Notes
    -----
    The probabilities are those of the answers, by the names that came, and of the most probable
    answer, which is the label. One forward pass.

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
    model = unwrap_compiled(model)
    examples, _ = examples_of(model, tokenizer, text, position=position, truncate=False)
    asking = Asking.of(model, tokenizer, score="probability", target=None, count=1)
    with reading(model, gradients=False):
        answer = answer_of(model, examples[0].fields, examples)
    p = asking.probabilities(answer.logits.cpu().double())[0]
    classes = asking.classes(answer)
    numbers = {each: _number(classes, each, after_space=after_space) for each in answers}
    best = int(p.argmax())
    label = classes.name(best)
    if numbers.get(label, best) != best:  # with its space an answer is another token of this name
        label = f"{label} ({best})"
    each = {name: float(p[number]) for name, number in {**numbers, label: best}.items()}
    return Prediction(label, each, examples[0].answering if answer.placed else None)


def _number(classes: Classes, answer: str, *, after_space: bool) -> int:
    """The number of an answer; tokenizers write the space before a word in one of two ways."""
    for spelling in (f" {answer}", f"▁{answer}") if after_space else ():
        try:
            return classes.number(spelling)
        except InputError:
            continue
    return classes.number(answer)
