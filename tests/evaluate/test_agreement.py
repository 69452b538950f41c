"""Token attention against importance, and against the position of a token."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import attnflow as af
from attnflow.errors import InputError
from attnflow.evaluate import agreement, hits
from attnflow.types import Importance, random_attention


@pytest.fixture
def attention() -> af.Attention:
    return random_attention(3, 2, 6, seed=1, tokens=[*"abcdef"])


def test_each_layer_is_scipys_correlation_of_the_query_asked_for(attention: af.Attention) -> None:
    scores = af.rollout(attention)
    importance = Importance([0.3, 0.1, 0.1, 0.9, 0.0, 0.2], attention.tokens, "blank_out")
    found = agreement(scores, importance, query=4)
    assert found.shape == (3,)
    for layer in range(3):
        peer: Any = spearmanr(scores.scores[layer, 4], importance.values)
        assert found[layer] == pytest.approx(peer.statistic, abs=1e-12)


def test_the_first_position_is_the_default_query(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out")
    every, first = af.raw(attention), af.raw(attention, queries=[0])
    assert np.array_equal(agreement(every, importance), agreement(first, importance))


def test_importance_without_a_difference_is_undefined(attention: af.Attention) -> None:
    importance = Importance(np.ones(6), attention.tokens, "blank_out")
    assert np.isnan(agreement(af.raw(attention), importance)).all()


def test_importance_of_another_text_is_an_error(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), [*"abcdeg"], "blank_out")
    with pytest.raises(InputError, match="both of the same text"):
        _ = agreement(af.raw(attention), importance)


def test_a_query_that_was_not_computed_is_an_error(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out")
    with pytest.raises(InputError, match="query 0 was not computed"):
        _ = agreement(af.raw(attention, queries=[2]), importance)


def test_the_highest_score_hits_its_position() -> None:
    scores = np.array([[0.9, 0.1, 0.5, 0.2], [0.0, 0.3, 0.1, 0.2]])
    assert hits(scores, 2, among=[1, 2, 3]).tolist() == [1.0, 0.0]
    assert hits(scores, 0, among=range(4)).tolist() == [1.0, 0.0]


def test_equal_highest_scores_share_the_hit() -> None:
    assert hits(np.array([0.5, 0.5, 0.5, 0.1]), 1, among=range(4)) == pytest.approx(1 / 3)


def test_a_position_that_does_not_count_cannot_be_hit() -> None:
    with pytest.raises(InputError, match="cannot be highest"):
        _ = hits(np.ones(4), 0, among=[1, 2])


def test_what_is_no_token_attention_is_refused(attention: af.Attention) -> None:
    importance = Importance([0.1, 0.9], ["a", "b"], "blank_out")
    with pytest.raises(InputError, match="Importance came in the place of TokenAttention"):
        _ = agreement(importance, af.raw(attention))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "among", "told"),
    [
        ([0.1, 0.2], [0, 7], "positions up to 7 count"),
        ([0.1, 0.2], [0, -1], "positions up to 0 count"),
        ([0.1, np.nan], [0, 1], "holds NaN"),
    ],
)
def test_scores_without_a_highest_are_refused(
    scores: list[float], among: list[int], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        _ = hits(scores, 0, among=among)


def test_a_position_that_is_named_twice_counts_once() -> None:
    assert hits([0.9, 0.3], 0, among=[0, 0, 1]) == 1.0
