"""How even scores are, against cases worked out by hand."""

import math

import numpy as np
import pytest

from attnflow.errors import InputError
from attnflow.evaluate import normalized_entropy


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.25, 0.25, 0.25, 0.25], 1.0),
        ([7.0, 7.0, 7.0], 1.0),
        ([0.0, 1.0, 0.0], 0.0),
        ([1.0, 1.0, 0.0, 0.0], 0.5),
        # 1/2, 1/4, 1/4: 1.5 bits of log2(3).
        ([2.0, 1.0, 1.0], 1.5 / math.log2(3)),
        ([1e308, 1e308], 1.0),
        ([5e-324, 5e-324], 1.0),
    ],
)
def test_cases_worked_out_by_hand(scores: list[float], expected: float) -> None:
    assert float(normalized_entropy(scores)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scores", [[0.0, 0.0], [3.0], [1.0, math.inf]])
def test_it_is_undefined(scores: list[float]) -> None:
    assert np.isnan(normalized_entropy(scores))


def test_rows_keep_their_shape() -> None:
    assert normalized_entropy(np.ones((2, 3, 4))).shape == (2, 3)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5, -0.1], "at least 0, got -0.1"),
        ([], "at least one row of scores, got shape"),
        (0.5, "at least one row of scores, got shape"),
    ],
)
def test_what_has_no_entropy_is_an_error(scores: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = normalized_entropy(scores)  # pyright: ignore[reportArgumentType] - what is tested
