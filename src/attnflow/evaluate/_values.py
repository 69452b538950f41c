"""The values of texts: every metric of a plan for every row of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.evaluate._agreement import hits
from attnflow.evaluate._counted import counted_positions
from attnflow.evaluate._entropy import normalized_entropy
from attnflow.evaluate._kendall import kendall
from attnflow.evaluate._model_work import TextWork
from attnflow.evaluate._plan import FAITHFULNESS_METRICS, EvaluationPlan, Metric
from attnflow.evaluate._spearman import dense_spearman, rank_correlation, spearman
from attnflow.evaluate._top_k import top_k_overlap

Floats = NDArray[np.float64]


def metric_values(
    plan: EvaluationPlan, rows: Floats, texts: Sequence[TextWork], tokenizer: Any
) -> Floats:
    """Return the values (text, row, column of the plan) of scores (text, row, token).

    Scores are compared with importance without its sign. Values of faithfulness, which need the
    model, are NaN, and so is pointing without a labelled token.
    """
    values = np.full((*rows.shape[:2], len(plan.columns)), np.nan)
    for column, (name, metric) in enumerate(plan.columns):
        if metric in FAITHFULNESS_METRICS:
            continue
        special = plan.counts_special(metric)
        if metric == "spearman" and special:  # all tokens of all texts, in one call
            importance = np.abs([text.importance[str(name)] for text in texts])
            values[:, :, column] = rank_correlation(rows, importance)
            continue
        for text, own, found in zip(texts, rows, values[:, :, column], strict=True):
            tokens = text.encoded.tokens
            places = counted_positions(tokens, tokenizer, special=special)
            if metric == "pointing":
                if (position := text.given.position) is not None:
                    found[:] = hits(own, _pointed(position, places, tokens), among=places)
            elif metric == "entropy":
                found[:] = normalized_entropy(own[:, places])
            else:
                importance = np.abs(text.importance[str(name)])
                found[:] = _compare(plan, metric, own[:, places], importance[places])
    return values


def _compare(plan: EvaluationPlan, metric: Metric, rows: Floats, importance: Floats) -> Floats:
    if metric == "top_k":
        return top_k_overlap(rows, importance, plan.k)
    return {"spearman": spearman, "dense_spearman": dense_spearman, "kendall": kendall}[metric](
        rows, importance
    )


def _pointed(position: int, places: list[int], tokens: tuple[str, ...]) -> int:
    """Return the position of the labelled token if it is one that counts."""
    if position in places:
        return position
    if 0 <= position < len(tokens):
        raise InputError(
            f"position: expected that of a token that counts, got {position}, "
            f"{tokens[position]!r}; pass special=True to count special tokens"
        )
    raise InputError(f"position: expected 0 to {len(tokens) - 1}, got {position}")
