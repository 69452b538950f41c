"""Comparison of two results that were computed apart: names exactly, numbers within rounding."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnflow._internal.records import Record


def assert_close(found: Any, expected: Any, *, atol: float = 1e-6) -> None:
    """Two results, or two lists of as many, are the same but for rounding.

    Weights, scores and other floats may differ by `atol`; 1e-6 is some ten roundings of a weight in
    single precision. Everything else is equal: types, shapes, tokens, origins and settings. A list
    without results is no result, and fails.
    """
    if isinstance(expected, list):
        assert len(expected) > 0, "there is nothing to compare"
    _assert_close(found, expected, atol=atol, where="result")


def _assert_close(found: Any, expected: Any, *, atol: float, where: str) -> None:
    assert type(found) is type(expected), where
    if isinstance(expected, Record):
        found, expected = found._fields(), expected._fields()
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=where)
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=where)
    elif isinstance(expected, Mapping):
        assert found.keys() == expected.keys(), where
        for name, value in expected.items():
            _assert_close(found[name], value, atol=atol, where=f"{where}.{name}")
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            _assert_close(found[number], value, atol=atol, where=f"{where}[{number}]")
    else:
        assert found == expected, where
