"""Shares of sentences with 95 % intervals, over all sentences or balanced over two groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Z = 1.959963984540054  # the normal distribution has 95 % of its mass within ±_Z


class Share(NamedTuple):
    """Shares of texts, each with the limits of its 95 % interval; NaN if undefined."""

    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def share(values: NDArray[np.float64]) -> Share:
    """Return the share of texts with Wilson's score interval, from values (text, …).

    Parameters
    ----------
    values
        1 for a hit, 0 for a miss, 0.5 for a tie.

    Notes
    -----
    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927,
    https://doi.org/10.1080/01621459.1927.10502953. Texts count as independent.

    Examples
    --------
    >>> found = share(np.array([1.0, 1, 1, 0]))
    >>> [each.round(3).item() for each in found]
    [0.75, 0.301, 0.954]
    """
    n_texts = len(values)
    if not n_texts:
        undefined = np.full(values.shape[1:], np.nan)
        return Share(undefined, undefined, undefined)
    p = values.mean(axis=0)
    centre = (p + _Z**2 / (2 * n_texts)) / (1 + _Z**2 / n_texts)
    width = _Z / (1 + _Z**2 / n_texts) * np.sqrt(p * (1 - p) / n_texts + (_Z / (2 * n_texts)) ** 2)
    # Rounding may leave the limit of a share of 0 or 1 outside.
    return Share(p, np.clip(centre - width, 0, p), np.clip(centre + width, p, 1))


def balanced_share(values: NDArray[np.float64], group: NDArray[np.bool_]) -> Share:
    """Return the mean of the shares of two groups of texts: 0.5 for a rule that knows no more.

    Parameters
    ----------
    values
        As for `share`.
    group
        (text): whether a text belongs to the first group.

    Notes
    -----
    The interval is that of Newcombe for two proportions: the distances of the limits from the share
    add up in squares. Newcombe, "Interval estimation for the difference between independent
    proportions", Statistics in Medicine 1998,
    https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    Examples
    --------
    >>> group = np.array([True, True, True, False])
    >>> balanced_share(group.astype(float), group).share.item()  # a hit in the first group only
    0.5
    """
    one, other = share(values[group]), share(values[~group])
    value = (one.share + other.share) / 2
    down = np.hypot(one.share - one.low, other.share - other.low) / 2
    up = np.hypot(one.high - one.share, other.high - other.share) / 2
    return Share(value, value - down, value + up)
