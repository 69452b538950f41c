from typing import Any

import numpy as np
import pytest

from attnflow import InputError
from attnflow.types import random_attention


def test_generated_rows_are_distributions() -> None:
    weights = random_attention(3, 8, 12).weights.astype(np.float64)
    assert weights.shape == (3, 8, 12, 12)
    assert weights.min() >= 0.0
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    one = random_attention(2, 3, 5, seed=7).weights
    assert np.array_equal(one, random_attention(2, 3, 5, seed=7).weights)
    assert not np.array_equal(one, random_attention(2, 3, 5, seed=8).weights)


def test_causal_attention_never_looks_ahead() -> None:
    attention = random_attention(2, 8, 6, causal=True)
    assert attention.causal
    ahead = np.triu_indices(6, k=1)
    assert not attention.weights[:, :, ahead[0], ahead[1]].any()


def test_weights_are_float32_as_models_give_them() -> None:
    assert random_attention(1, 1, 4).weights.dtype == np.float32


def test_tokens_name_the_positions() -> None:
    attention = random_attention(1, 2, 3, tokens=["[CLS]", "the", "key"])
    assert attention.tokens == ("[CLS]", "the", "key")


def test_one_token_attends_to_itself() -> None:
    assert np.array_equal(random_attention(2, 8, 1).weights, np.ones((2, 8, 1, 1)))


@pytest.mark.parametrize("size", [10**4, 10**6, 10**30])
def test_more_than_the_memory_is_an_error_that_says_how_much(size: int) -> None:
    with pytest.raises(InputError, match=r"tokens need [\d,]+ GiB of memory"):
        _ = random_attention(size, size, size)


def _entropy(weights: np.ndarray) -> np.ndarray:
    """Mean entropy of each (layer, head) as a share of the maximum."""
    logs = np.log(np.maximum(weights, 1e-30))
    return -(weights * logs).sum(axis=-1).mean(axis=-1) / np.log(weights.shape[-1])


def test_upper_layers_are_closer_to_uniform_than_lower_ones() -> None:
    entropy = _entropy(random_attention(12, 8, 64).weights).mean(axis=1)
    assert entropy[-3:].mean() > entropy[:3].mean() + 0.05


def test_some_heads_are_peaked_and_some_are_broad() -> None:
    entropy = _entropy(random_attention(6, 8, 64).weights)[0]
    assert entropy.min() < 0.5
    assert entropy.max() > 0.7


@pytest.mark.parametrize("n_tokens", [16, 128])
def test_the_first_token_is_a_sink_however_long_the_sequence_is(n_tokens: int) -> None:
    received = random_attention(6, 8, n_tokens).weights.mean(axis=(0, 1, 2))
    assert 0.15 < received[0] < 0.5
    assert received[0] == received.max()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((0, 8, 6), "n_layers must be 1 or more, got 0"),
        ((6, 0, 6), "n_heads must be 1 or more, got 0"),
        ((6, 8, 0), "n_tokens must be 1 or more, got 0"),
    ],
)
def test_an_empty_size_is_refused_by_name(arguments: tuple[int, int, int], what: str) -> None:
    with pytest.raises(InputError, match=what):
        _ = random_attention(*arguments)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="seed must be 0 or more, got -1"):
        _ = random_attention(1, 1, 1, seed=-1)


@pytest.mark.parametrize("wrong", ["6", None, 2.5, True, [6]])
def test_sizes_and_seeds_must_be_integers(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"n_heads must be an integer, got"):
        _ = random_attention(6, wrong, 4)
    with pytest.raises(InputError, match=r"seed must be an integer, got"):
        _ = random_attention(6, 2, 4, seed=wrong)


def test_causal_is_a_truth_value() -> None:
    word: Any = "no"
    with pytest.raises(InputError, match="causal must be a bool, got 'no'"):
        _ = random_attention(1, 1, 3, causal=word)


def test_a_wrong_number_of_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="tokens: expected 3, one per position, got 2"):
        _ = random_attention(1, 1, 3, tokens=["a", "b"])
