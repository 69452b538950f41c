"""Shares with 95 % intervals: against scipy, by hand, and for rules of known share."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from attnflow.paper.results._shares import balanced_share, share


def _values(hits: int, texts: int) -> NDArray[np.float64]:
    return np.array([1.0] * hits + [0.0] * (texts - hits)).reshape(-1, 1, 1)


@pytest.mark.parametrize(("hits", "texts"), [(0, 5), (5, 5), (1, 2), (37, 60), (800, 1000)])
def test_the_interval_is_that_of_wilson(hits: int, texts: int) -> None:
    found = share(_values(hits, texts))
    expected = stats.binomtest(hits, texts).proportion_ci(method="wilson")
    assert found.share.item() == pytest.approx(hits / texts)
    assert found.low.item() == pytest.approx(expected.low, abs=1e-12)
    assert found.high.item() == pytest.approx(expected.high, abs=1e-12)


def test_a_tie_is_half_a_hit() -> None:
    halves = share(np.full((4, 1, 1), 0.5))
    hits = share(_values(2, 4))
    assert [each.item() for each in halves] == pytest.approx([each.item() for each in hits])


def test_rows_and_layers_are_apart() -> None:
    values = np.zeros((3, 2, 4))
    values[:, 1, 2] = 1
    found = share(values)
    assert found.share.shape == found.low.shape == found.high.shape == (2, 4)
    assert found.share.sum() == 1
    assert found.share[1, 2] == 1


def test_a_rule_that_knows_the_group_alone_has_one_half() -> None:
    group = np.array([True] * 30 + [False] * 10)
    always_first = np.where(group, 1.0, 0.0).reshape(-1, 1, 1)
    assert share(always_first).share.item() == 0.75
    found = balanced_share(always_first, group)
    assert found.share.item() == 0.5
    assert found.low.item() < 0.5 < found.high.item()


def test_the_interval_of_two_groups_by_hand() -> None:
    group = np.array([True] * 60 + [False] * 40)
    values = np.concatenate([_values(45, 60), _values(10, 40)])
    one = stats.binomtest(45, 60).proportion_ci(method="wilson")
    other = stats.binomtest(10, 40).proportion_ci(method="wilson")
    found = balanced_share(values, group)
    assert found.share.item() == pytest.approx(0.5)
    down = np.sqrt((0.75 - one.low) ** 2 + (0.25 - other.low) ** 2) / 2
    up = np.sqrt((one.high - 0.75) ** 2 + (other.high - 0.25) ** 2) / 2
    assert found.low.item() == pytest.approx(0.5 - down)
    assert found.high.item() == pytest.approx(0.5 + up)


def test_the_interval_of_two_groups_holds_the_share_of_95_in_100() -> None:
    random = np.random.default_rng(0)
    group = np.arange(150) < 40
    chances = np.where(group, 0.8, 0.3)
    within = 0
    for _ in range(1000):
        values = (random.random(150) < chances).astype(float).reshape(-1, 1, 1)
        found = balanced_share(values, group)
        within += found.low.item() <= 0.55 <= found.high.item()
    assert 930 <= within <= 970


def test_a_group_without_texts_is_undefined() -> None:
    found = balanced_share(_values(2, 4), np.array([True] * 4))
    assert all(np.isnan(each).all() for each in found)
