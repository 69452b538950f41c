"""The scores of one text: a row of numbers for each edge weight, method and layer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.evaluate._clock import Clock
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.methods import flow, raw, rollout
from attnflow.models.inputs import TokenizedText, inner_tokenizer
from attnflow.types import Attention, AttentionGraph

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
    weights: Attention | AttentionGraph,
    plan: EvaluationPlan,
    layers: Sequence[int],
    position: int | None,
    *,
    clock: Clock,
    threads: int | None,
) -> Floats:
    """Return the scores (method and layer, token) of a position, None for the largest of all."""
    rows: dict[str, Any] = {"layers": layers, "queries": position}
    graph = None
    found: list[Floats] = []
    for method in plan.methods:
        with clock.measure(method):
            if method == "raw":
                made = raw(weights, **rows)
            else:
                if graph is None:  # heads are fused once for rollout and flow
                    graph = weights.graph() if isinstance(weights, Attention) else weights
                made = (
                    rollout(graph, **rows)
                    if method == "rollout"
                    else flow(graph, **rows, threads=threads)
                )
            scores = (made.normalized() if plan.normalize else made).scores
        found.append(scores.max(axis=1) if position is None else scores[:, 0])
    return np.concatenate(found)


def random_scores(plan: EvaluationPlan, text: str, n_tokens: int) -> Floats:
    """Return random scores (draw, token), which depend on the seed and the text alone."""
    digest = hashlib.sha256(text.encode()).digest()
    generator = np.random.default_rng([plan.seed, int.from_bytes(digest)])
    return generator.random((plan.draws, n_tokens))
