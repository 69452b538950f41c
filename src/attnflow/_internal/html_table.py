"""Small HTML tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import format_number, token_names

# Chosen so that tables fit the page of a notebook.
_MAX_ROWS, _MAX_COLUMNS, _MAX_NAMES, _MAX_VALUES = 10, 10, 20, 30


def html_table(caption: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in HTML; the first cell of each row is its heading.

    Every cell is escaped, since tokens such as `<s>` and `<pad>` look like tags.

    >>> html_table("one row", ["query", "a"], [["<s>", "1"]])
    '<table><caption>one row</caption><thead><tr><th>query</th><th>a</th></tr></thead>\
<tbody><tr><th>&lt;s&gt;</th><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        body += f"<tr><th>{escape(first)}</th>{cells}</tr>"
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def score_table(
    caption: str, tokens: Sequence[str], queries: Sequence[str], scores: NDArray[np.float64]
) -> str:
    """Return the first scores (query, token) of one layer in HTML.

    >>> table = score_table("", ["a", "b"], ["1 b"], np.array([[0.5, 0.5]]))
    >>> "<th>1 b</th><td>0.500</td>" in table
    True
    """
    more = ["…"] if len(tokens) > _MAX_COLUMNS else []
    shown = zip(queries[:_MAX_ROWS], scores[:_MAX_ROWS, :_MAX_COLUMNS], strict=True)
    rows = [[query, *map(format_number, row), *more] for query, row in shown]
    below = [["…"]] if len(queries) > _MAX_ROWS else []
    names = token_names(tokens)[:_MAX_COLUMNS]
    return html_table(caption, ["query", *names, *more], rows + below)


def value_table(caption: str, tokens: Sequence[str], values: NDArray[np.float64]) -> str:
    """Return the first values, one for each token, in HTML.

    >>> "<th>0</th><td>a</td><td>0.5</td>" in value_table("", ["a"], np.array([0.5]))
    True
    """
    shown = zip(token_names(tokens)[:_MAX_VALUES], values[:_MAX_VALUES], strict=True)
    rows = [[str(number), token, f"{value:.3g}"] for number, (token, value) in enumerate(shown)]
    more = f", the first {_MAX_VALUES} of {len(tokens)}" if len(tokens) > _MAX_VALUES else ""
    return html_table(f"{caption}{more}", ["position", "token", "value"], rows)


def count_and_names(tokens: Sequence[str]) -> str:
    """Return the number of tokens and the names of the first of them.

    >>> count_and_names(["a", "b"])
    '2: a b'
    """
    more = " …" if len(tokens) > _MAX_NAMES else ""
    return f"{len(tokens)}: {' '.join(token_names(tokens)[:_MAX_NAMES])}{more}"
