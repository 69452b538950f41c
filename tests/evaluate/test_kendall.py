"""Kendall's rank correlation, against scipy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from attnflow.errors import InputError
from attnflow.evaluate import _kendall, kendall

# Few distinct values, so that ties are common.
values = st.integers(min_value=-3, max_value=3)
rows = st.lists(st.tuples(values, values), min_size=2, max_size=30)


@given(rows)
def test_it_is_that_of_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    peer: Any = kendalltau(x, y, variant="b")
    ours, theirs = float(kendall(x, y)), float(peer.statistic)
    assert math.isnan(ours) == math.isnan(theirs)
    assert math.isnan(ours) or ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([3, 1, 2], [30, 10, 20], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        # Pairs of x: 1 equal, 2 in order; of y: 3 in order: 2 / sqrt(2 · 3)
        ([5, 5, 6], [1, 2, 3], 2 / math.sqrt(6)),
        # 5 pairs in order, 1 not: 4 / 6
        ([1, 2, 4, 3], [1, 2, 3, 4], 4 / 6),
    ],
)
def test_pairs_worked_out_by_hand(x: list[float], y: list[float], expected: float) -> None:
    assert float(kendall(x, y)) == pytest.approx(expected, abs=1e-12)


def test_many_rows_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kendall, "_PAIRS", 100)  # two rows of 36 pairs at once
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (3, 3, 9)).astype(float), rng.random(9)
    together = kendall(x, y)
    assert together.shape == (3, 3)
    for place in np.ndindex(3, 3):
        assert together[place] == float(kendall(x[place], y))


def test_undefined_correlations_are_nan() -> None:
    assert np.isnan(kendall([[1.0, 1.0, 1.0]], [1.0, 2.0, 3.0])).tolist() == [True]
    assert np.isnan(kendall([1.0, 2.0], [0.3, 0.3]))
    assert np.isnan(kendall([1.0], [2.0]))
    assert np.isnan(kendall([], []))
    assert np.isnan(kendall(np.zeros((2, 0)), [])).tolist() == [True, True]


def test_what_has_no_order_is_an_error() -> None:
    with pytest.raises(InputError, match="x must be finite"):
        _ = kendall([1.0, np.nan], [1.0, 2.0])
