"""The end of a scale: neither the query itself nor outliers decide it, nor fans that of edges."""

import numpy as np
import pytest

from attnflow._internal.scale import largest_other
from attnflow.plot._scale import fans, widest_edge

NONE = np.zeros(6, dtype=np.bool_)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.9, 0.01, 0.02, 0.03, 0.02, 0.02], 0.03),  # one outlier
        ([0.4, 0.01, 0.02, 0.03, 0.02, 0.5], 0.03),  # two
        ([0.4, 0.01, 0.02, 0.3, 0.02, 0.5], 0.5),  # three are half of the scores
        ([0.09, 0.01, 0.02, 0.03, 0.02, 0.02], 0.09),  # not five times the largest of the rest
        ([0.2, 0.2, 0.17, 0.06, 0.05, 0.05], 0.2),
        ([0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 0.9),  # nothing else
        ([0.0] * 6, 1.0),
        ([np.inf, 0.1, 0.2, 0.1, 0.2, 0.1], 0.2),
    ],
)
def test_outliers_are_off_the_scale(row: list[float], expected: float) -> None:
    assert largest_other(np.array([row]), NONE) == expected


def test_separators_of_a_long_text_do_not_decide_the_scale() -> None:
    # MiniLM, rollout of 112 tokens: [SEP] and full stops against words.
    row = np.array([[0.037, 0.026, 0.025, *[0.008] * 10, *[0.004] * 99]])
    assert largest_other(row, np.zeros(112, dtype=np.bool_)) == 0.008


def test_one_large_cell_of_a_column_is_an_outlier_too() -> None:
    scores = np.full((5, 5), 0.02)
    scores[1, 3] = 0.5
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


@pytest.mark.parametrize(("rows", "expected"), [(3, []), (4, [5]), (24, [5])])
def test_a_fan_has_four_edges_or_more(rows: int, expected: list[int]) -> None:
    edges = np.full((rows, 24), 0.02)
    edges[:, 5] = 0.5
    own = np.zeros(edges.shape, dtype=np.bool_)
    assert np.flatnonzero(fans(edges, own)).tolist() == expected
    assert widest_edge(edges, own) == (0.02 if expected else 0.5)


@pytest.mark.parametrize(("count", "expected"), [(5, []), (6, [3])])
def test_a_fan_is_from_a_quarter_of_the_rows_with_edges(count: int, expected: list[int]) -> None:
    edges = np.full((40, 24), 0.02)
    edges[:, 3] = 0.0
    edges[:count, 3] = 0.5
    edges[24:] = 0.0
    own = np.zeros(edges.shape, dtype=np.bool_)
    assert np.flatnonzero(fans(edges, own)).tolist() == expected


def test_of_own_edges_and_fans_alone_the_largest_is_the_widest() -> None:
    own = np.eye(3, dtype=np.bool_)
    assert widest_edge(0.4 * np.eye(3), own) == 0.4
    assert widest_edge(np.zeros((3, 3)), own) == 0.0
