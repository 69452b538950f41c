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


def test_each_layer_is_scipys_correlation_of_the_given_query(attention: af.Attention) -> None:
    scores = af.rollout(attention)
    importance = Importance([0.3, 0.1, 0.1, 0.9, 0.0, 0.2], attention.tokens, "blank_out")
    found = agreement(scores, importance, query=4)
    assert found.shape == (3,)
    for layer in range(3):
        peer: Any = spearmanr(scores.scores[layer, 4], importance.values)
        assert found[layer] == pytest.approx(peer.statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("causal", "settings", "read"),
    [(False, {}, 0), (True, {}, 5), (False, {"position": 3}, 3), (True, {"position": 3}, 3)],
)
@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_the_default_query_is_the_position_whose_output_is_read(
    method: Any, causal: bool, settings: dict[str, Any], read: int
) -> None:
    scores = method(random_attention(3, 2, 6, seed=1, tokens=[*"abcdef"], causal=causal))
    importance = Importance([3, 1, 4, 0, 5, 9], [*"abcdef"], "blank_out", settings)
    expected = agreement(scores, importance, query=read)
    assert expected.shape == (3,)
    assert np.array_equal(agreement(scores, importance), expected, equal_nan=True)


def test_a_single_query_needs_no_choice(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out")
    every, one = af.raw(attention), af.raw(attention, queries=[4])
    expected = agreement(every, importance, query=4)
    assert expected.shape == (3,)
    assert np.array_equal(agreement(one, importance), expected)


def test_a_read_position_that_was_not_computed_is_an_error(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out", {"position": 5})
    with pytest.raises(InputError, match=r"about the output at position 5.*queries=5, or pass"):
        _ = agreement(af.raw(attention, queries=[0]), importance)


def test_positions_that_count_tokens_choose_no_word(attention: af.Attention) -> None:
    settings = {"position": 5, "words": "sum"}
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out", settings)
    with pytest.raises(InputError, match="6 queries, and the importance does not record which"):
        _ = agreement(af.raw(attention), importance)
    assert agreement(af.raw(attention), importance, query=2).shape == (3,)


def test_importance_without_a_difference_is_undefined(attention: af.Attention) -> None:
    importance = Importance(np.ones(6), attention.tokens, "blank_out")
    found = agreement(af.raw(attention), importance)
    assert found.shape == (3,)
    assert np.isnan(found).all()


def test_importance_of_another_text_is_an_error(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), [*"abcdeg"], "blank_out")
    with pytest.raises(InputError, match="pass results of one text and model"):
        _ = agreement(af.raw(attention), importance)


def test_a_query_that_was_not_computed_is_an_error(attention: af.Attention) -> None:
    importance = Importance(np.arange(6.0), attention.tokens, "blank_out")
    with pytest.raises(InputError, match="query 0 was not computed"):
        _ = agreement(af.raw(attention, queries=[2]), importance, query=0)


def test_the_highest_score_hits_its_position() -> None:
    scores = np.array([[0.9, 0.1, 0.5, 0.2], [0.0, 0.3, 0.1, 0.2]])
    assert hits(scores, 2, among=[1, 2, 3]).tolist() == [1.0, 0.0]
    assert hits(scores, 0, among=range(4)).tolist() == [1.0, 0.0]


def test_equal_highest_scores_share_the_hit() -> None:
    assert hits(np.array([0.5, 0.5, 0.5, 0.1]), 1, among=range(4)) == pytest.approx(1 / 3)


def test_a_position_that_does_not_count_cannot_be_hit() -> None:
    with pytest.raises(InputError, match="position: expected one of among"):
        _ = hits(np.ones(4), 0, among=[1, 2])


def test_what_is_no_token_attention_is_refused(attention: af.Attention) -> None:
    importance = Importance([0.1, 0.9], ["a", "b"], "blank_out")
    with pytest.raises(InputError, match="expected TokenAttention, got Importance"):
        _ = agreement(importance, af.raw(attention))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "among", "message"),
    [
        ([0.1, 0.2], [0, 7], r"shape \(2,\), got \(0, 7\)"),
        ([0.1, 0.2], [0, -1], r"got \(0, -1\)"),
        ([0.1, np.nan], [0, 1], "hold NaN"),
    ],
)
def test_scores_without_a_highest_are_refused(
    scores: list[float], among: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = hits(scores, 0, among=among)


def test_a_position_that_is_named_twice_counts_once() -> None:
    assert hits([0.9, 0.3], 0, among=[0, 0, 1]) == 1.0
