"""`sentiment_accuracy`: how often a classifier predicts the label of a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.importance import predict
from attnflow.paper.data import Review

if TYPE_CHECKING:
    from torch import nn


def sentiment_accuracy(
    model: nn.Module, tokenizer: Any, reviews: Sequence[Review]
) -> tuple[float, float]:
    """Return the share of sentences whose label has the highest probability, and the mean loss.

    Parameters
    ----------
    model, tokenizer
        A classifier whose first class is negative and whose second one is positive.
    reviews
        Sentences with labels, at least one.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()  # a classifier of two classes, though not of sentiment
    >>> reviews = [paper.Review("the key to the cabinets", 0)]
    >>> paper.sentiment_accuracy(shipped.model, shipped.tokenizer, reviews)[0]
    1.0
    """
    labels = [review.label for review in reviews if review.label is not None]
    if not labels or len(labels) < len(reviews):
        got = "one without" if reviews else "none"
        raise InputError(f"reviews must be sentences with labels, got {got}")
    found = predict(model, tokenizer, [review.text for review in reviews], truncate=True)
    correct, loss = 0, 0.0
    for label, prediction in zip(labels, found, strict=True):
        probabilities = list(prediction.probabilities.values())
        correct += probabilities[label] == max(probabilities)
        loss -= math.log(max(probabilities[label], 1e-7))
    return correct / len(found), loss / len(found)
