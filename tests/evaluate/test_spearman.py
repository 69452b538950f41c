"""Rank correlation, against scipy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from attnflow.errors import InputError
from attnflow.evaluate import dense_spearman, spearman

# Few distinct values, so that ties are common.
values = st.integers(min_value=-3, max_value=3)
rows = st.lists(st.tuples(values, values), min_size=2, max_size=30)


@given(rows)
@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_it_is_that_of_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    peer: Any = spearmanr(x, y)
    ours, theirs = float(spearman(x, y)), float(peer.statistic)
    assert math.isnan(ours) == math.isnan(theirs)
    assert math.isnan(ours) or ours == pytest.approx(theirs, abs=1e-12)


# ranks of x and y, and 1 − 6 Σd² / (n (n² − 1)), worked out by hand
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([3, 1, 2], [30, 10, 20], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        # ranks 1 1 2 and 1 2 3: Σd² = 0 + 1 + 1 = 2, 1 − 12/24
        ([5, 5, 6], [1, 2, 3], 0.5),
        # ranks 1 1 1 1 and 1 2 3 4: Σd² = 0 + 1 + 4 + 9 = 14, 1 − 84/60
        ([7, 7, 7, 7], [1, 2, 3, 4], -0.4),
        # ranks 2 2 1 1 and 1 1 2 2: Σd² = 4, 1 − 24/60
        ([9, 9, 1, 1], [0, 0, 5, 5], 0.6),
        # all equal on both sides: no difference of ranks
        ([1, 1, 1], [2, 2, 2], 1.0),
    ],
)
def test_the_published_formula_on_dense_ranks(
    x: list[float], y: list[float], expected: float
) -> None:
    assert float(dense_spearman(x, y)) == pytest.approx(expected, abs=1e-12)


def test_the_published_formula_is_right_without_ties() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random((5, 11)), rng.random(11)
    np.testing.assert_allclose(dense_spearman(x, y), spearman(x, y), atol=1e-12)
    assert np.isnan(dense_spearman([1.0], [2.0]))


def test_many_rows_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((3, 4, 9)), rng.random(9)
    together = spearman(x, y)
    assert together.shape == (3, 4)
    for place in np.ndindex(3, 4):
        assert together[place] == spearman(x[place], y)


def test_equal_values_have_no_correlation() -> None:
    found = spearman([[1.0, 1.0, 1.0], [0.1, 0.1, 0.1]], [1.0, 2.0, 3.0])
    assert found.shape == (2,)
    assert np.isnan(found).all()
    assert np.isnan(spearman([1.0, 2.0, 3.0], [0.3, 0.3, 0.3]))


def test_one_value_or_none_has_no_correlation() -> None:
    assert np.isnan(spearman([1.0], [2.0]))
    assert np.isnan(spearman([], []))
    assert np.isnan(spearman(np.zeros((2, 0)), [])).tolist() == [True, True]


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "as many values in each row of x"),
        ([1.0, 2.0], [[1.0, 2.0]], "one row in y"),
        ([1.0, np.nan], [1.0, 2.0], "x must be finite"),
        ([1.0, 2.0], [1.0, np.inf], "y must be finite"),
        (["a", "b"], [1.0, 2.0], "x: expected numbers, got"),
    ],
)
def test_what_has_no_ranks_is_an_error(x: object, y: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = spearman(x, y)  # pyright: ignore[reportArgumentType]
