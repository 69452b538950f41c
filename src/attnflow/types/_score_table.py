"""Scores as the small table that notebooks show."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.html_table import html_table

# So that the table fits a notebook's page; chosen by eye.
_ROWS_SHOWN, _COLUMNS_SHOWN = 10, 10


def score_table(
    caption: str, tokens: Sequence[str], queries: Sequence[str], scores: NDArray[np.float64]
) -> str:
    """The scores (query, token) of one layer in HTML, as far as they fit.

    `tokens` and `queries` are names, see `position_name`.

    >>> table = score_table("", ["a", "b"], ["1 b"], np.array([[0.5, 0.5]]))
    >>> "<th>1 b</th><td>0.500</td>" in table
    True
    """
    more = ["…"] if len(tokens) > _COLUMNS_SHOWN else []
    shown = zip(queries[:_ROWS_SHOWN], scores[:_ROWS_SHOWN, :_COLUMNS_SHOWN], strict=True)
    rows = [[query, *(f"{score:.3f}" for score in row), *more] for query, row in shown]
    below = [["…"]] if len(queries) > _ROWS_SHOWN else []
    return html_table(caption, ["query", *tokens[:_COLUMNS_SHOWN], *more], rows + below)


def position_name(position: int, tokens: Sequence[str]) -> str:
    """A position with its token, or alone where it has none or the token is its number.

    >>> position_name(0, ["[CLS]"]), position_name(1, ["0", "1"]), position_name(2, [])
    ('0 [CLS]', '1', '2')
    """
    number = str(position)
    named = position < len(tokens) and tokens[position] != number
    return f"{number} {tokens[position]}" if named else number
