"""The scores of texts: a row of numbers for each edge weight, method and layer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.evaluate._clock import Clock
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.methods import flow, raw, rollout, scores_of_position
from attnflow.models.inputs import TokenizedText, inner_tokenizer
from attnflow.types import Attention, AttentionGraph, Method

Floats = NDArray[np.float64]


def row_position(
    plan: EvaluationPlan, tokenizer: Any, text: TokenizedText, read: int
) -> int | None:
    """Return the position whose scores count, None for the maximum over all.

    `read` is the position whose output the model reads.
    """
    last = len(text.ids) - 1
    if isinstance(plan.row, int):
        position = plan.row if plan.row >= 0 else last + 1 + plan.row
        if not 0 <= position <= last:
            raise InputError(f"row: expected a position of {last + 1} tokens, got {plan.row}")
        return position
    if plan.row == "mask":
        mask = getattr(inner_tokenizer(tokenizer), "mask_token_id", None)
        if mask is None or text.ids.count(mask) != 1:
            found = 0 if mask is None else text.ids.count(mask)
            raise InputError(f"row='mask': expected a text with one mask token, got {found}")
        return text.ids.index(mask)
    return {"read": read, "cls": 0, "last": last, "max": None}[plan.row]


def token_scores(
    texts: Sequence[Attention] | Sequence[AttentionGraph],
    plan: EvaluationPlan,
    layers: Sequence[int],
    position: int | None,
    *,
    clock: Clock,
    threads: int | None,
) -> Floats:
    """Return the scores (text, method and layer, token) of texts of the same length.

    They are those of a position, None for the largest of all.
    """
    found: list[Floats] = []
    for method in plan.methods:
        with clock.measure(method):
            if position is None or plan.normalize:
                rows = [
                    _text_scores(text, method, plan, layers, position, threads) for text in texts
                ]
                found.append(np.stack(rows))
            else:
                found.append(scores_of_position(texts, method, layers, position, threads=threads))
    return np.concatenate(found, axis=1)


def _text_scores(
    weights: Attention | AttentionGraph,
    method: Method,
    plan: EvaluationPlan,
    layers: Sequence[int],
    position: int | None,
    threads: int | None,
) -> Floats:
    """Return the scores (layer, token) of one text."""
    rows: dict[str, Any] = {"layers": layers, "queries": position}
    if method == "flow":
        made = flow(weights, **rows, threads=threads)
    else:
        made = {"raw": raw, "rollout": rollout}[method](weights, **rows)
    scores = (made.normalized() if plan.normalize else made).scores
    return scores.max(axis=1) if position is None else scores[:, 0]


def random_scores(plan: EvaluationPlan, text: str, n_tokens: int) -> Floats:
    """Return random scores (draw, token), which depend on the seed and the text alone."""
    digest = hashlib.sha256(text.encode()).digest()
    generator = np.random.default_rng([plan.seed, int.from_bytes(digest)])
    return generator.random((plan.draws, n_tokens))
