"""`integrated_gradients`: gradients along the path from a baseline to the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.importance._ablation import token_id
from attnflow.importance._embeddings import Change, Leaf, changed_embeddings, gradient
from attnflow.importance._settings import Baseline, IntegratedGradientsSettings
from attnflow.models.inputs import OneText, SeveralTexts, TextInput, WithTokenizer, takes_pipeline
from attnflow.models.scoring import (
    Logits,
    OneTarget,
    Score,
    Scorer,
    SingleInput,
    Target,
    Variant,
    batches,
    evaluation,
    read_logits,
)
from attnflow.types import Importance

if TYPE_CHECKING:
    from torch import Tensor, nn


@overload
def integrated_gradients(
    model: nn.Module, tokenizer: Any, text: OneText, **settings: Unpack[IntegratedGradientsSettings]
) -> Importance: ...
@overload
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: SeveralTexts,
    **settings: Unpack[IntegratedGradientsSettings],
) -> list[Importance]: ...
@overload
def integrated_gradients(
    model: WithTokenizer, text: OneText, **settings: Unpack[IntegratedGradientsSettings]
) -> Importance: ...
@overload
def integrated_gradients(
    model: WithTokenizer,
    text: SeveralTexts,
    **settings: Unpack[IntegratedGradientsSettings],
) -> list[Importance]: ...
@takes_pipeline
def integrated_gradients(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    *,
    baseline: Baseline = "zero",
    steps: int = 50,
    target: Target = None,
    against: OneTarget = None,
    score: Score = "probability",
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> Importance | list[Importance]:
    """Return what each token adds to a model's score on the path from a baseline to the input.

    `values[i] = sum over d of (e[i, d] − b[i, d]) · ∫ g[i, d](b + a (e − b)) da`, a from 0 to 1,
    where e are the embeddings of the input, b those of the baseline and g is the gradient of the
    score. Values have a sign and add up to the score of the input minus that of the baseline;
    `settings["convergence_delta"]` is the error of this sum. `absolute()` drops the sign.

    Parameters
    ----------
    model, tokenizer, text, target, against, score, position, truncate
        As for `blank_out`; tensors may be embeddings (batch, position, width) in place of ids.
    baseline
        "zero" for embeddings of zeros, as its authors take for text; or "pad", "mask", "unk" or an
        id for this token at every position. Embeddings of positions are not part of it.
    steps
        Points of the Gauss–Legendre rule that approximates the integral, at most 1000.
    batch_size
        How many points make a batch, by default as for `input_gradient`; it changes results by
        rounding only.

    Notes
    -----
    `steps` forward and backward rows for each text, in batches, and three forward passes.
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
    >>> [i] = integrated_gradients(Product(), None, torch.tensor([[1, 2]]), score="logit")
    >>> i.values.round(6), i.settings["input_score"]
    (array([4., 4.]), 8.0)
    """
    steps = checks.as_int(steps, "steps", least=1, most=checks.MAX_STEPS)
    scorer = Scorer.of(
        model, tokenizer, text, score, target, against=against, position=position, truncate=truncate
    )
    token = None
    if baseline != "zero":
        token, _ = token_id(scorer, baseline, name="baseline")
    made = {"baseline": baseline, "steps": steps}
    results: list[Importance] = []
    with evaluation(scorer.model, gradients=True):
        for number, item in enumerate(scorer.inputs):
            values, settings = _integrate(scorer, number, token, steps, batch_size)
            settings |= made
            results.append(
                Importance(values, item.tokens, "integrated_gradients", settings, item.origin)
            )
    return scorer.one_or_all(results)


def _integrate(
    scorer: Scorer, number: int, token: int | None, steps: int, batch_size: int | None
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the values of one input, and their settings."""
    import torch

    model, inputs, item = scorer.model, scorer.inputs, scorer.inputs[number]
    end, logits = _look_up(scorer, Variant(number))
    (found,) = scorer.target_scores(logits, [number])
    start = torch.zeros_like(end)
    if token is not None:
        start, _ = _look_up(scorer, Variant(number, item.kept), replacement=token)

    points, weights = np.polynomial.legendre.leggauss(steps)
    points, weights = (points + 1) / 2, weights / 2  # from [-1, 1] to [0, 1]
    total = torch.zeros(end.shape[1:], dtype=torch.float64)  # (position, width)
    rows = [Variant(number)] * steps
    for numbers, fields in batches(model, inputs, rows, batch_size=batch_size, gradients=True):
        at = torch.tensor(points[numbers], dtype=end.dtype, device=end.device)
        leaf = Leaf(start + at[:, None, None] * (end - start))
        logits = _logits(model, fields, [item] * len(numbers), leaf)
        scores = scorer.scores(logits.values, [found] * len(numbers))
        slopes = gradient(model, scores, leaf).cpu().double()  # (point, position, width)
        total += torch.einsum("p,pid->id", torch.from_numpy(weights[numbers]), slopes)
    values = ((end - start)[0].cpu().double() * total).sum(dim=-1).numpy()[list(item.kept)]

    with torch.no_grad():
        logits = _logits(model, item.fields, [item], lambda _: start)
    baseline_score = float(scorer.scores(logits.values, [found])[0])
    delta = float(values.sum()) - (found.score - baseline_score)
    settings = {"baseline_score": baseline_score, "convergence_delta": delta}
    return values, {**found.settings, **settings}


def _logits(
    model: nn.Module, fields: dict[str, Any], inputs: Sequence[SingleInput], change: Change
) -> Logits:
    with changed_embeddings(model, fields, inputs[0].main, change) as changed:
        return read_logits(model, changed, inputs)


def _look_up(
    scorer: Scorer, variant: Variant, *, replacement: int | None = None
) -> tuple[Tensor, Logits]:
    """Return the embeddings (1, position, width) that a model looks up, and its logits for them."""
    import torch

    found: list[Tensor] = []

    def catch(embeddings: Tensor) -> Tensor:
        found.append(embeddings.detach())
        return embeddings

    model, inputs = scorer.model, scorer.inputs
    [(_, fields)] = batches(model, inputs, [variant], batch_size=1, replacement=replacement)
    with torch.no_grad():
        logits = _logits(model, fields, [inputs[variant.input]], catch)
    return found[0], logits
