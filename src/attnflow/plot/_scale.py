"""Columns of token attention that the scale of a figure treats in their own way."""

import numpy as np
from numpy.typing import NDArray

from attnflow.types import TokenAttention


def own_column(token_attention: TokenAttention, query: int) -> NDArray[np.bool_]:
    """Return for each column whether it is the position of the query itself.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[0.5, 0.5]]], ["a", "b"], [1], [1], "raw")
    >>> own_column(t, 1)
    array([False,  True])
    """
    return (np.arange(len(token_attention.tokens)) == query) & (not is_segmented(token_attention))


def is_segmented(token_attention: TokenAttention) -> bool:
    """Return whether the columns are segments of several tokens."""
    return token_attention.settings.get("segments", "tokens") != "tokens"
