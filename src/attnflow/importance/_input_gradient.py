"""`input_gradient`: the gradient of the score by the embedding of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow.importance._embeddings import Leaf, changed_embeddings, gradient
from attnflow.importance._recorded import RecordedPass
from attnflow.importance._reduce import check_reduce, choose_reduce, reduced
from attnflow.importance._settings import InputGradientSettings, Reduce
from attnflow.models.inputs import OneText, SeveralTexts, TextInput, WithTokenizer, takes_pipeline
from attnflow.models.scoring import (
    OneTarget,
    Score,
    Scorer,
    Target,
    TargetScore,
    Variant,
    batches,
    evaluation,
    read_logits,
    read_output,
)
from attnflow.types import Importance

if TYPE_CHECKING:
    from torch import nn


@overload
def input_gradient(
    model: nn.Module, tokenizer: Any, text: OneText, **settings: Unpack[InputGradientSettings]
) -> Importance: ...
@overload
def input_gradient(
    model: nn.Module, tokenizer: Any, text: SeveralTexts, **settings: Unpack[InputGradientSettings]
) -> list[Importance]: ...
@overload
def input_gradient(
    model: WithTokenizer, text: OneText, **settings: Unpack[InputGradientSettings]
) -> Importance: ...
@overload
def input_gradient(
    model: WithTokenizer, text: SeveralTexts, **settings: Unpack[InputGradientSettings]
) -> list[Importance]: ...
@takes_pipeline
def input_gradient(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    *,
    target: Target = None,
    against: OneTarget = None,
    score: Score = "difference",
    reduce: Reduce | None = None,
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance | list[Importance]:
    """Return the gradient of a model's score by the embedding of each token, as one number each.

    `values[i] = |sum over d of g[i, d]|`, where `g[i, d]` is the derivative of the score by
    dimension d of the embedding `e[i]` of token i. The paper's code takes the probability of one of
    its two classes minus that of the other as the score, which is the default here.

    Parameters
    ----------
    model
        As for `blank_out`, with an `nn.Embedding` that looks up the ids. It does not change, nor
        do its hooks and the `.grad` of its weights.
    tokenizer, text, target, against, position, truncate
        As for `blank_out`; tensors may be embeddings (batch, position, width) in place of ids.
    score
        "difference", "probability", "log_probability" or "logit" as for `blank_out`. With two
        classes the gradient of the difference is twice that of the probability.
    reduce
        How the gradient of a token becomes one number: "sum" over its dimensions as in the paper's
        code, "norm" for `sqrt(sum g²)`, "input" for `sum g · e`, gradient × input. By default the
        sum, but the norm in models where every sum is zero. `settings` records which. "raw_sum" is
        the sum as it is computed, rounding included, to reproduce published numbers.
    signed
        Keep the sign of the sums and of "input"; a norm has none.
    batch_size
        How many texts of one length make a batch; by default as many as have 1,024 tokens, for a
        large model 512. It changes results by rounding only.

    Notes
    -----
    In models that read their embeddings through LayerNorm only, such as BERT and GPT-2, the sum is
    zero for every token whatever the model has learned: `LN(e + c·1) = LN(e)`, so the derivative of
    the score by c, which is the sum over d of `g[i, d]`, is zero. `reduce="sum"` is an InputError
    there. Whether a model is one of them is computed from the model alone, by one pass over eight
    fixed ids or, if it takes no ids or another number of them, over fixed values of the shape of
    the first input. A sum that is only rounding is set to zero.

    One forward and one backward row for each text, in batches, with the memory of training.
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
    >>> input_gradient(model, None, ids, score="logit")[0].values
    array([1., 3.])
    >>> input_gradient(model, None, ids, score="logit", reduce="input")[0].values
    array([ 2., 12.])
    """
    reduce = check_reduce(reduce, signed=signed)
    scorer = Scorer.of(
        model, tokenizer, text, score, target, against=against, position=position, truncate=truncate
    )
    results = input_gradient_of(scorer, reduce, signed=signed, batch_size=batch_size)
    return scorer.one_or_all(results)


def input_gradient_of(
    scorer: Scorer,
    reduce: Reduce | None,
    *,
    signed: bool = False,
    batch_size: int | None = None,
    recorded: RecordedPass | None = None,
) -> list[Importance]:
    """Return `input_gradient` of the inputs of a scorer.

    `recorded` is the pass over the only input, if there was one.
    """
    model, inputs = scorer.model, scorer.inputs
    rows = [Variant(number) for number in range(len(inputs))]
    targets: dict[int, TargetScore] = {}
    values: dict[int, dict[Reduce, NDArray[np.float64]]] = {}
    with evaluation(model, gradients=True):
        for numbers, fields in batches(model, inputs, rows, batch_size=batch_size, gradients=True):
            leaf, own = Leaf(), [inputs[number] for number in numbers]
            if recorded is not None:
                leaf = recorded.leaf
                logits = read_output(model, recorded.output, recorded.fields, own)
            else:
                with changed_embeddings(model, fields, own[0].main, leaf) as changed:
                    logits = read_logits(model, changed, own)
            found = scorer.target_scores(logits, numbers)
            slopes = gradient(model, scorer.scores(logits.values, found), leaf)
            per_token = reduced(slopes, leaf.embeddings.detach(), reduce)
            for row, number in enumerate(numbers):
                kept = list(inputs[number].kept)
                targets[number] = found[row]
                values[number] = {name: array[row, kept] for name, array in per_token.items()}
    chosen = choose_reduce(model, reduce, inputs[0], signed=signed)
    return [
        Importance(
            values[number][chosen] if signed else np.abs(values[number][chosen]),
            item.tokens,
            "input_gradient",
            {**targets[number].settings, "reduce": chosen, "signed": signed},
            item.origin,
        )
        for number, item in enumerate(inputs)
    ]
