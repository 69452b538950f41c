"""`integrated_gradients`: gradients along the way from a baseline to the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.importance._ablate import Special, replacement
from attnflow.importance._batches import Row, batches
from attnflow.importance._embedding import answer_through
from attnflow.importance._example import Example, examples_of
from attnflow.importance._gradient import Leaf, gradient
from attnflow.importance._passes import Answer, reading
from attnflow.importance._question import Asking
from attnflow.models.inputs import unwrap_compiled
from attnflow.types import Importance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from attnflow.importance._score import Score
    from attnflow.importance._target import Target
    from attnflow.models.inputs import ModelInput

# Where the way begins: embeddings of nothing but zeros, or those of one token at every position.
Baseline: TypeAlias = Literal["zero"] | Special | int


@overload
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    baseline: Baseline = "zero",
    steps: int = 50,
    target: Target = None,
    score: Score = "probability",
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance: ...
@overload
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    *,
    baseline: Baseline = "zero",
    steps: int = 50,
    target: Target = None,
    score: Score = "probability",
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> list[Importance]: ...
@overload
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: Mapping[str, Any] | Tensor,
    *,
    baseline: Baseline = "zero",
    steps: int = 50,
    target: Target = None,
    score: Score = "probability",
    position: int | None = None,
    batch_size: int | None = None,
) -> Importance | list[Importance]: ...
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    baseline: Baseline = "zero",
    steps: int = 50,
    target: Target = None,
    score: Score = "probability",
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance | list[Importance]:
    """What each token adds to the answer of a model on the way from a baseline to the input.

    `values[i] = sum over d of (e[i, d] − b[i, d]) · ∫ g[i, d](b + a (e − b)) da`, a from 0 to 1,
    where e are the embeddings of the input, b those of the baseline and g is the gradient of the
    score. Values have a sign and add up to the score of the input less that of the baseline; by how
    much the sum misses it is in `settings["gap"]`. `absolute()` gives them without the sign.

    Parameters
    ----------
    model, tokenizer, text, target, score, position, truncate
        As for `blank_out`; ready inputs may hold embeddings (batch, position, width) in place of
        ids.
    baseline
        "zero" for embeddings of zeros, as its authors take for text; or, for a token at every
        position, "pad", "mask", "unk" or its id. Embeddings of positions are not part of it.
    steps
        Points of the Gauss–Legendre rule that stands for the integral.
    batch_size
        How many points are run at once, by default as for `input_gradient`; it changes nothing but
        rounding.

    Notes
    -----
    `steps` forward and backward passes a text and three forward ones, many at a time.
    Sundararajan, Taly & Yan (2017), https://doi.org/10.48550/arXiv.1703.01365

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import integrated_gradients
    >>> table = torch.nn.Embedding.from_pretrained(torch.tensor([[1.0], [2.0], [4.0]]))
    >>> class Product(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.table = table
    ...     def forward(self, ids):
    ...         return self.table(ids).prod(dim=1)
    >>> i = integrated_gradients(Product(), None, torch.tensor([[1, 2]]), score="logit")
    >>> i.values.round(6), i.settings["whole"]
    (array([4., 4.]), 8.0)
    """
    model = unwrap_compiled(model)
    steps = checks.as_int(steps, "steps")
    if steps < 1:
        raise InputError(f"steps is {steps}; 1 or more is wanted")
    examples, single = examples_of(model, tokenizer, text, position=position, truncate=truncate)
    asking = Asking.of(model, tokenizer, score=score, target=target, count=len(examples))
    token = None
    if baseline != "zero":
        token, _ = replacement(model, tokenizer, baseline, examples, name="baseline")
    with reading(model, gradients=True):
        results = [
            _integrated(asking, examples, number, token, steps=steps, size=batch_size)
            for number in range(len(examples))
        ]
    made = {"baseline": baseline, "steps": steps}
    found = [
        Importance(
            values, example.tokens, "integrated_gradients", {**settings, **made}, example.origin
        )
        for example, (values, settings) in zip(examples, results, strict=True)
    ]
    return found[0] if single else found


def _integrated(
    asking: Asking,
    examples: Sequence[Example],
    number: int,
    token: int | None,
    *,
    steps: int,
    size: int | None,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """The values of one example, and what there is to say about them."""
    import torch

    model, example = asking.model, examples[number]
    end, answer = _looked_up(asking, examples, Row(number))
    (question,) = asking.questions(answer, examples, [number])
    start = torch.zeros_like(end)
    if token is not None:
        start, _ = _looked_up(asking, examples, Row(number, example.kept), blank=token)

    points, weights = np.polynomial.legendre.leggauss(steps)
    points, weights = (points + 1) / 2, weights / 2  # from [-1, 1] to [0, 1]
    total = torch.zeros(end.shape[1:], dtype=torch.float64)  # (position, width)
    rows = [Row(number)] * steps
    for numbers, fields in batches(model, examples, rows, size=size, gradients=True):
        at = torch.tensor(points[numbers], dtype=end.dtype, device=end.device)
        leaf = Leaf(start + at[:, None, None] * (end - start))
        answer = answer_through(model, fields, [example] * len(numbers), leaf)
        scores = asking.measured(answer.logits, [question] * len(numbers))
        slopes = gradient(model, scores, leaf).cpu().double()  # (point, position, width)
        total += torch.einsum("p,pid->id", torch.from_numpy(weights[numbers]), slopes)
    values = ((end - start)[0].cpu().double() * total).sum(dim=-1).numpy()[list(example.kept)]

    (_, fields), *_ = batches(model, examples, [Row(number)], size=1)
    with torch.no_grad():
        answer = answer_through(model, fields, [example], lambda _: start)
    nothing = float(asking.measured(answer.logits, [question])[0])
    gap = float(values.sum()) - (question.whole - nothing)
    return values, {**question.settings, "nothing": nothing, "gap": gap}


def _looked_up(
    asking: Asking, examples: Sequence[Example], row: Row, *, blank: int = 0
) -> tuple[Tensor, Answer]:
    """The embeddings (1, position, width) that a model looks up, and its answer to them."""
    import torch

    found: list[Tensor] = []

    def catch(embeddings: Tensor) -> Tensor:
        found.append(embeddings.detach())
        return embeddings

    (_, fields), *_ = batches(asking.model, examples, [row], size=1, blank=blank)
    with torch.no_grad():
        answer = answer_through(asking.model, fields, [examples[row.example]], catch)
    return found[0], answer
