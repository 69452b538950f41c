"""The end of a scale: neither the query itself nor a sink decides it."""

import numpy as np
import pytest

from attnflow._internal.scale import largest_other

NONE = np.zeros(6, dtype=np.bool_)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.9, 0.01, 0.02, 0.03, 0.02, 0.02], 0.03),  # one sink
        ([0.4, 0.01, 0.02, 0.03, 0.02, 0.5], 0.03),  # two
        ([0.4, 0.01, 0.02, 0.3, 0.02, 0.5], 0.02),  # three
        ([0.4, 0.3, 0.02, 0.3, 0.02, 0.5], 0.5),  # four are no sinks
        ([0.12, 0.01, 0.02, 0.03, 0.02, 0.02], 0.12),  # four times the next is no sink
        ([0.2, 0.2, 0.17, 0.06, 0.05, 0.05], 0.2),  # nor are three with three times the next
        ([0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 0.9),  # nothing else
        ([0.0] * 6, 1.0),
        ([np.inf, 0.1, 0.2, 0.1, 0.2, 0.1], 0.2),
    ],
)
def test_up_to_three_columns_are_off_the_scale(row: list[float], expected: float) -> None:
    assert largest_other(np.array([row]), NONE) == expected


def test_a_column_with_one_large_score_is_no_sink() -> None:
    scores = np.full((5, 5), 0.02)
    scores[1, 3] = 0.5
    assert largest_other(scores, np.zeros(5, dtype=np.bool_)) == 0.5
    scores[:, 3] = 0.5
    assert largest_other(scores, np.zeros(5, dtype=np.bool_)) == 0.02


def test_keys_that_a_causal_query_does_not_see_do_not_count() -> None:
    scores = np.tril(np.full((6, 6), 0.05))
    scores[:, 0] = 0.8
    assert largest_other(scores, np.eye(6, dtype=np.bool_)) == 0.05


def test_own_cells_do_not_count() -> None:
    scores = 0.5 * np.eye(4) + 0.1
    assert largest_other(scores, np.eye(4, dtype=np.bool_)) == 0.1


def test_of_a_few_columns_none_is_off_the_scale() -> None:
    assert largest_other(np.array([[0.9, 0.01, 0.01]]), np.zeros(3, dtype=np.bool_)) == 0.9
