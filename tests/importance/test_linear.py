"""All four methods on a model so small that its values are known by hand."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import Linear, blank_out, input_gradient, integrated_gradients

# Embeddings 0.3, 0 | 0, 0.2 | -0.1, 0.1 at weights 1, 2, 3: z = (0, 0.7), logits (0, 1.4).
IDS = torch.tensor([[1, 2, 3]])
# Logits with token 0 in place of each: (-0.3, 1.4), (0, 0.6), (0.3, 0.8).
BLANKED = np.array([1.7, 0.6, 0.5])


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(x)))


SLOPE = sigmoid(1.4) * (1 - sigmoid(1.4))  # of the probability by the difference of the logits
SUMS = np.array([1.0, 2.0, 3.0])  # of the derivatives (-1, 2) of that difference, times weights
INPUTS = np.array([-0.3, 0.8, 0.9])  # those derivatives times the embeddings


def test_blanking_changes_the_probability_of_the_predicted_class():
    [found] = blank_out(Linear(), None, IDS, replace=0)
    np.testing.assert_allclose(found.values, np.abs(sigmoid(1.4) - sigmoid(BLANKED)), rtol=1e-12)
    assert found.settings["target"] == 1
    assert found.settings["target_given"] is False
    assert found.settings["input_score"] == pytest.approx(sigmoid(1.4))
    assert found.tokens == ("1", "2", "3")


def test_signs_say_whether_a_token_speaks_for_the_target():
    [found] = blank_out(Linear(), None, IDS, replace=0, signed=True)
    np.testing.assert_allclose(found.values, sigmoid(1.4) - sigmoid(BLANKED), rtol=1e-12)
    [other] = blank_out(Linear(), None, IDS, replace=0, signed=True, target=0)
    np.testing.assert_allclose(other.values, -found.values, rtol=1e-12)


def test_a_difference_of_two_classes_changes_twice_as_much_as_a_probability():
    [one], [two] = (
        blank_out(Linear(), None, IDS, replace=0, score=score)
        for score in ("probability", "difference")
    )
    np.testing.assert_allclose(two.values, 2 * one.values, rtol=1e-12)
    assert two.settings["other"] == 0


def test_a_logit_changes_by_what_the_token_adds_to_it():
    [found] = blank_out(Linear(), None, IDS, replace=0, score="logit")
    np.testing.assert_allclose(found.values, [0.0, 0.8, 0.6], atol=1e-12)


@pytest.mark.parametrize("score", ["difference", "probability"])
def test_the_papers_gradient_is_the_sum_over_dimensions(score: str):
    [found] = input_gradient(Linear(), None, IDS, score=score)
    factor = 2 if score == "difference" else 1
    np.testing.assert_allclose(found.values, factor * SLOPE * SUMS, rtol=1e-12)


def test_the_default_score_of_the_gradient_is_the_difference_of_the_classes():
    assert input_gradient(Linear(), None, IDS)[0].settings["score"] == "difference"


def test_the_gradient_of_the_other_class_is_the_same_but_for_its_sign():
    [one], [two] = (input_gradient(Linear(), None, IDS, target=t, signed=True) for t in (0, 1))
    np.testing.assert_allclose(one.values, -two.values, rtol=1e-12)
    np.testing.assert_allclose(two.values, 2 * SLOPE * SUMS, rtol=1e-12)


def test_the_norm_of_a_gradient():
    [found] = input_gradient(Linear(), None, IDS, reduce="norm")
    np.testing.assert_allclose(found.values, 2 * SLOPE * SUMS * np.sqrt(5), rtol=1e-12)


def test_gradient_times_input():
    [found] = input_gradient(Linear(), None, IDS, reduce="input", signed=True)
    np.testing.assert_allclose(found.values, 2 * SLOPE * INPUTS, rtol=1e-12)
    [absolute] = input_gradient(Linear(), None, IDS, reduce="input")
    np.testing.assert_allclose(absolute.values, np.abs(found.values), rtol=1e-12)


def test_integrated_gradients_share_out_the_change_by_what_each_token_adds():
    [found] = integrated_gradients(Linear(), None, IDS)
    # The way is straight and the difference of logits linear on it, from 0 to 1.4.
    np.testing.assert_allclose(found.values, INPUTS / 1.4 * (sigmoid(1.4) - 0.5), rtol=1e-12)
    assert found.settings["baseline_score"] == pytest.approx(0.5)
    assert abs(found.settings["convergence_delta"]) < 1e-12


def test_integrated_gradients_of_a_logit_are_what_each_token_adds_to_it():
    [found] = integrated_gradients(Linear(), None, IDS, score="logit", steps=1, baseline=1)
    # Less what the token 1 would add there, which is nothing to the logit of class 1.
    np.testing.assert_allclose(found.values, [0.0, 0.8, 0.6], atol=1e-12)
