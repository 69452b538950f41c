"""How many of the highest values two rows share, against all ways to choose among equal ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnflow.errors import InputError
from attnflow.evaluate import top_k_overlap

# Few distinct values, so that ties are common.
values = st.integers(min_value=0, max_value=3)
rows = st.lists(st.tuples(values, values), min_size=3, max_size=7)


def _tops(row: list[float], k: int) -> list[set[int]]:
    tokens = range(len(row))
    return [
        set(chosen)
        for chosen in itertools.combinations(tokens, k)
        if all(row[i] >= row[j] for i in chosen for j in tokens if j not in chosen)
    ]


@given(rows, st.integers(min_value=1, max_value=2))
def test_it_is_the_mean_over_all_ways_to_choose(pairs: list[tuple[int, int]], k: int) -> None:
    x, y = (list(map(float, row)) for row in zip(*pairs, strict=True))
    shared = [len(a & b) / k for a, b in itertools.product(_tops(x, k), _tops(y, k))]
    assert len(shared) > 0
    assert float(top_k_overlap(x, y, k)) == pytest.approx(np.mean(shared), abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "k", "expected"),
    [
        ([5, 4, 1, 0], [9, 8, 7, 0], 2, 1.0),
        ([5, 4, 1, 0], [9, 0, 7, 8], 2, 0.5),
        # The second place of x is shared by two tokens, one of which is in the top of y.
        ([5, 4, 4, 0], [9, 8, 0, 0], 2, 0.75),
        # All equal: each token has 2 of 4 places, whatever y prefers.
        ([1, 1, 1, 1], [4, 3, 2, 1], 2, 0.5),
    ],
)
def test_cases_worked_out_by_hand(x: list[float], y: list[float], k: int, expected: float) -> None:
    assert float(top_k_overlap(x, y, k)) == pytest.approx(expected, abs=1e-12)


def test_rows_keep_their_shape() -> None:
    x = np.random.default_rng(0).random((2, 3, 8))
    found = top_k_overlap(x, x[0, 0], 3)
    assert found.shape == (2, 3)
    assert found[0, 0] == 1.0


def test_no_more_than_k_values_have_no_overlap() -> None:
    assert np.isnan(top_k_overlap([[1.0, 2.0, 3.0]], [3.0, 2.0, 1.0], 3)).tolist() == [True]


def test_k_is_at_least_one() -> None:
    with pytest.raises(InputError, match="k must be 1 or more, got 0"):
        _ = top_k_overlap([1.0, 2.0], [1.0, 2.0], 0)
