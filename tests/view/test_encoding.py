"""Numbers survive base64, and text survives a script element."""

import json
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import attnflow as af
from attnflow.view._encoding import as_floats, as_shares, script_json

Decoded = Callable[[dict[str, Any]], NDArray[np.float64]]
SHAPES = hnp.array_shapes(min_dims=2, max_dims=4, max_side=4)


# A step of a subnormal number is not a number.
@given(hnp.arrays(np.float64, SHAPES, elements=st.floats(0, 1e30, allow_subnormal=False)))
def test_shares_are_off_by_less_than_a_step_of_16_bits(
    decoded: Decoded, numbers: NDArray[np.float64]
) -> None:
    encoded = as_shares(numbers)
    assert (encoded["type"], encoded["shape"]) == ("u2", list(numbers.shape))
    largest = numbers.max() or 1.0
    assert np.abs(decoded(encoded) - numbers).max() <= largest / 65535
    assert decoded(encoded).max() == pytest.approx(numbers.max())


@given(hnp.arrays(np.float32, SHAPES, elements=st.floats(0, width=32) | st.just(np.inf)))
def test_floats_are_what_they_were(decoded: Decoded, numbers: NDArray[np.float32]) -> None:
    encoded = as_floats(numbers)
    assert (encoded["type"], encoded["scale"]) == ("f4", 1.0)
    assert np.array_equal(decoded(encoded), numbers)


def test_a_number_that_would_become_infinite_is_refused() -> None:
    with pytest.raises(af.InputError, match=r"up to 3\.4e\+38.* got 1e\+39"):
        _ = as_floats(np.array([1.0, 1e39, np.inf]))


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_in_a_script_says_the_same_and_never_ends_it(document: Any) -> None:
    text = script_json(document)
    assert "<" not in text
    assert text.isascii()
    assert json.loads(text) == document


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = script_json({"value": float("nan")})
