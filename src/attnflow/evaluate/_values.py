"""The values of one text: every metric of a plan for every row of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.evaluate._agreement import hits
from attnflow.evaluate._counted import counted_positions
from attnflow.evaluate._entropy import normalized_entropy
from attnflow.evaluate._kendall import kendall
from attnflow.evaluate._plan import FAITHFULNESS_METRICS, EvaluationPlan, Metric
from attnflow.evaluate._spearman import dense_spearman, spearman
from attnflow.evaluate._top_k import top_k_overlap

Floats = NDArray[np.float64]


def metric_values(
    plan: EvaluationPlan,
    rows: Floats,
    tokens: tuple[str, ...],
    importance: Mapping[str, Floats],
    position: int | None,
    tokenizer: Any,
) -> Floats:
    """Return the values (row, column of the plan) of scores (row, token).

    Those of faithfulness, which need the model, are NaN. `position` is that of the labelled token.
    """
    values = np.full((len(rows), len(plan.columns)), np.nan)
    for column, (name, metric) in enumerate(plan.columns):
        if metric in FAITHFULNESS_METRICS or (metric == "pointing" and position is None):
            continue
        special = plan.counts_special(metric)
        places = counted_positions(tokens, tokenizer, special=special)
        if metric == "pointing":
            values[:, column] = hits(rows, _pointed(position, places, tokens), among=places)
        elif metric == "entropy":
            values[:, column] = normalized_entropy(rows[:, places])
        else:
            assert name is not None  # noqa: S101 (`columns` has an importance for these)
            own, other = (rows, importance[name])
            if len(places) < len(tokens):
                own, other = rows[:, places], importance[name][places]
            values[:, column] = _compare(plan, metric, own, other)
    return values


def _compare(plan: EvaluationPlan, metric: Metric, rows: Floats, importance: Floats) -> Floats:
    if metric == "top_k":
        return top_k_overlap(rows, importance, plan.k)
    return {"spearman": spearman, "dense_spearman": dense_spearman, "kendall": kendall}[metric](
        rows, importance
    )


def _pointed(position: int | None, places: list[int], tokens: tuple[str, ...]) -> int:
    """Return the position of the labelled token if it is one that counts."""
    if position in places:
        return position
    if position is not None and 0 <= position < len(tokens):
        raise InputError(
            f"position: expected that of a token that counts, got {position}, "
            f"{tokens[position]!r}; pass special=True to count special tokens"
        )
    raise InputError(f"position: expected 0 to {len(tokens) - 1}, got {position}")
