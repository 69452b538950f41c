"""How tokens and numbers are written for people."""

import math


def format_number(value: float, digits: int = 3) -> str:
    """Return a score, probability or correlation with a fixed number of digits.

    >>> format_number(0.25), format_number(0.5, 2), format_number(math.nan)
    ('0.250', '0.50', 'undefined')
    """
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}"


def printable(name: str) -> str:
    r"""Return the name with control characters escaped, so that they cannot act on a terminal.

    >>> print(printable("a\n"))
    a\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
