"""Texts that differ by the rounding of their numbers only: what another processor prints."""

import re

# A float or a percentage. Other integers are counts and have to be the same.
_NUMBER = re.compile(r"[-+]?\d+\.(?P<places>\d*)(?:e[-+]?\d+)?|[-+]?\d+(?=\s?%)")
_BARS = re.compile("[█▉▊▋▌▍▎▏]")


def assert_same_but_for_rounding(found: str, expected: str) -> None:
    """Assert that two texts are the same, each number within one step of its last digit.

    White space and bars, which follow the numbers, are not compared.
    """
    found, expected = (" ".join(_BARS.sub("", text).split()) for text in (found, expected))
    # A sign belongs to its number: zero may be written as -0.000.
    assert _NUMBER.sub("#", found) == _NUMBER.sub("#", expected), f"{found}\n is not \n{expected}"
    for one, other in zip(_NUMBER.finditer(found), _NUMBER.finditer(expected), strict=True):
        step = 10.0 ** -len(other["places"] or "")
        close = abs(float(one[0]) - float(other[0])) <= 1.01 * step
        assert close, f"{one[0]} is not {other[0]} in\n{found}"
