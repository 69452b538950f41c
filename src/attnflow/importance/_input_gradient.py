"""`input_gradient`: how steeply the answer changes with the embedding of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from attnflow.importance._batches import Row, batches
from attnflow.importance._embedding import answer_through
from attnflow.importance._example import examples_of
from attnflow.importance._gradient import Leaf, gradient
from attnflow.importance._passes import reading
from attnflow.importance._question import Asking, Question
from attnflow.importance._reduce import Reduce, checked_reduce, reduced, taken
from attnflow.models.inputs import unwrap_compiled
from attnflow.types import Importance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from attnflow.importance._score import Score
    from attnflow.importance._target import Target
    from attnflow.models.inputs import ModelInput


@overload
def input_gradient(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    target: Target = None,
    score: Score = "difference",
    reduce: Reduce | None = None,
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance: ...
@overload
def input_gradient(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    *,
    target: Target = None,
    score: Score = "difference",
    reduce: Reduce | None = None,
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> list[Importance]: ...
@overload
def input_gradient(
    model: nn.Module,
    tokenizer: Any,
    text: Mapping[str, Any] | Tensor,
    *,
    target: Target = None,
    score: Score = "difference",
    reduce: Reduce | None = None,
    signed: bool = False,
    position: int | None = None,
    batch_size: int | None = None,
) -> Importance | list[Importance]: ...
def input_gradient(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: Target = None,
    score: Score = "difference",
    reduce: Reduce | None = None,
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance | list[Importance]:
    """How steeply the answer of a model changes with the embedding of each token.

    `values[i] = |sum over d of g[i, d]|`, where `g[i, d]` is the derivative of the score by
    dimension d of the embedding `e[i]` of token i. The paper's code takes the probability of one of
    its two classes less that of the other as the score, which is the default here.

    Parameters
    ----------
    model
        As for `blank_out`, with an `nn.Embedding` that looks up the ids. It is left as it was, the
        `.grad` of its weights and its hooks included.
    tokenizer, text, target, position, truncate
        As for `blank_out`; ready inputs may hold embeddings (batch, position, width) in place of
        ids.
    score
        "difference", "probability" or "logit" as for `blank_out`. Of two classes the gradient of
        the difference is twice that of the probability.
    reduce
        How the gradient of a token becomes one number: "sum" over its dimensions as in the paper's
        code, "norm" for `sqrt(sum g²)`, "input" for `sum g · e`, gradient × input. By default the
        sum; but the norm where every sum of the call is nothing but rounding. `settings` says which
        was taken.
    signed
        Keep the sign of "sum" and "input"; a norm has none.
    batch_size
        How many texts of one length are run at once; by default as many as have 1,024 tokens, of a
        large model 512. It changes nothing but rounding.

    Notes
    -----
    In models that read their embeddings through LayerNorm only, BERT's and GPT-2's kin, the sum is
    zero for every token whatever the model has learned: `LN(e + c·1) = LN(e)`, so the derivative of
    the score by c, which is the sum over d of `g[i, d]`, is zero. `reduce="sum"` is an InputError
    there. A sum that is nothing but rounding is given as zero.

    One forward and one backward pass a text, many at a time, with the memory of training.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385. Gradient × input:
    Denil et al. (2014), https://doi.org/10.48550/arXiv.1412.6815

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import input_gradient
    >>> table = torch.nn.Embedding.from_pretrained(torch.tensor([[1.0], [2.0], [4.0]]))
    >>> model = torch.nn.Sequential(table, torch.nn.Flatten(), torch.nn.Linear(2, 2, bias=False))
    >>> with torch.no_grad():
    ...     _ = model[2].weight.copy_(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    >>> ids = torch.tensor([[1, 2]])
    >>> input_gradient(model, None, ids, score="logit").values
    array([1., 3.])
    >>> input_gradient(model, None, ids, score="logit", reduce="input").values
    array([ 2., 12.])
    """
    model, reduce = unwrap_compiled(model), checked_reduce(reduce, signed=signed)
    examples, single = examples_of(model, tokenizer, text, position=position, truncate=truncate)
    asking = Asking.of(model, tokenizer, score=score, target=target, count=len(examples))
    rows = [Row(number) for number in range(len(examples))]
    questions: dict[int, Question] = {}
    values: dict[int, dict[Reduce, NDArray[np.float64]]] = {}
    with reading(model, gradients=True):
        for numbers, fields in batches(model, examples, rows, size=batch_size, gradients=True):
            leaf = Leaf()
            answer = answer_through(model, fields, [examples[number] for number in numbers], leaf)
            asked = asking.questions(answer, examples, numbers)
            slopes = gradient(model, asking.measured(answer.logits, asked), leaf)
            found = reduced(slopes, leaf.embeddings.detach(), reduce)
            for at, (number, question) in enumerate(zip(numbers, asked, strict=True)):
                kept = list(examples[number].kept)
                questions[number] = question
                values[number] = {way: each[at, kept] for way, each in found.items()}
    way = taken([*values.values()], reduce, signed=signed, name=type(model).__name__)
    results = [
        Importance(
            values[number][way] if signed else np.abs(values[number][way]),
            example.tokens,
            "input_gradient",
            {**questions[number].settings, "reduce": way, "signed": signed},
            example.origin,
        )
        for number, example in enumerate(examples)
    ]
    return results[0] if single else results
