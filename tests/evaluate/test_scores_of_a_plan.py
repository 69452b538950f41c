"""The settings of a plan for Table 3: the score of gradients, and rows that sum to one."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow import InputError
from attnflow.evaluate import EvaluationPlan, measure, spearman
from attnflow.importance import input_gradient
from attnflow.models import Loaded, attend

TEXT = "the story is a very dull film"
LAYERS = (1, 2, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"score": "loss"}, "score: expected one of .*, got 'loss'"),
        ({"normalize": "yes"}, "normalize must be a bool, got 'yes'"),
    ],
)
def test_other_values_are_input_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = EvaluationPlan(**settings)


def _values(loaded: Loaded, **settings: Any) -> Any:
    plan = EvaluationPlan(layers=LAYERS, **settings)
    return measure(loaded.model, loaded.tokenizer, [TEXT], plan).values[0]


def test_gradients_are_those_of_the_score(small_sentiment: Loaded) -> None:
    both = small_sentiment.model, small_sentiment.tokenizer
    scores = af.rollout(attend(*both, TEXT), layers=LAYERS, queries=[0]).scores[:, 0]
    found: dict[str | None, Any] = {}
    for score in ("difference", "logit", None):
        gradient = input_gradient(*both, TEXT, score=score or "difference", reduce="norm").values
        found[score] = _values(small_sentiment, methods=("rollout",), score=score)
        assert found[score] == pytest.approx(spearman(scores, gradient))
    assert np.array_equal(found[None], found["difference"])
    assert not np.allclose(found[None], found["logit"])


def test_the_maximum_is_over_rows_that_sum_to_one(small_sentiment: Loaded) -> None:
    both = small_sentiment.model, small_sentiment.tokenizer
    flowed = af.flow(attend(*both, TEXT), layers=LAYERS)
    importance = input_gradient(*both, TEXT, reduce="norm").values
    found: list[Any] = []
    for normalize, scores in ((False, flowed.scores), (True, flowed.normalized().scores)):
        expected = spearman(scores.max(axis=1), importance)
        found.append(_values(small_sentiment, methods=("flow",), row="max", normalize=normalize))
        assert found[-1] == pytest.approx(expected)
    assert not np.allclose(*found)
