"""`gradient_sums`: the sum of a gradient over dimensions is zero behind LayerNorm.

The paper's code takes this sum as the importance of a token. `attnflow.importance.input_gradient`
explains why it is zero.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.errors import InputError
from attnflow.evaluate import spearman
from attnflow.importance import input_gradient

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class GradientSums:
    """The sums of gradients over dimensions, relative to their norms.

    Parameters
    ----------
    texts, tokens
        Number of texts and of their tokens.
    float64, float32
        The largest |sum| / norm over tokens in each precision.
    correlation
        Mean over texts of the rank correlation of |sum| in float32 with the norm; NaN if it is
        undefined for every text.
    """

    texts: int
    tokens: int
    float64: float
    float32: float
    correlation: float

    @property
    def is_rounding(self) -> bool:
        """Whether the sums are zero but for rounding."""
        # Chosen: rounding of float64 is 1e-16 a step; a real sum is of the size of the norm.
        return self.float64 < 1e-9


def gradient_sums(model: nn.Module, tokenizer: Any, texts: Sequence[str]) -> GradientSums:
    """Return how large the sums of gradients are in float64 and float32, and what they follow.

    Behind LayerNorm the sum is zero in float64; what rounding leaves of it in float32 grows with
    the gradient, so that its ranks follow those of the norm.

    Parameters
    ----------
    model, tokenizer
        A model and its tokenizer, as for `attnflow.importance.input_gradient`.
    texts
        At least one.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> found = paper.gradient_sums(shipped.model, shipped.tokenizer, ["the key to the cabinets"])
    >>> found.is_rounding
    True
    """
    if not texts:
        raise InputError("expected at least one text, got none")
    texts = list(texts)
    # The rounding of each precision is that of the whole computation, not of the sum alone.
    double, single = copy.deepcopy(model).double(), copy.deepcopy(model).float()
    found = [
        input_gradient(double, tokenizer, texts, reduce="raw_sum"),
        input_gradient(single, tokenizer, texts, reduce="raw_sum"),
        input_gradient(single, tokenizer, texts, reduce="norm"),
    ]
    exact, sums, norms = ([item.values for item in items] for items in found)
    correlations = [float(spearman(x, y)) for x, y in zip(sums, norms, strict=True)]
    defined = [value for value in correlations if not np.isnan(value)]
    return GradientSums(
        len(texts),
        sum(map(len, sums)),
        _largest_ratio(exact, norms),
        _largest_ratio(sums, norms),
        float(np.mean(defined)) if defined else float("nan"),
    )


def _largest_ratio(sums: Sequence[Any], norms: Sequence[Any]) -> float:
    sizes, lengths = np.concatenate(sums), np.concatenate(norms)
    return float((sizes[lengths > 0] / lengths[lengths > 0]).max(initial=0.0))
