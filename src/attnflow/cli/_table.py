"""Tables of text, and token attention as one."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.display import (
    align_columns,
    format_number,
    position_name,
    token_names,
)
from attnflow.types import TokenAttention

_MOST_TOKENS = 5  # shown for each query if the row is too wide; chosen to fit 80 columns
_MOST_QUERIES = 5  # named as flat; chosen: some lines of 80 columns
_COLOUR = re.compile(r"\x1b\[\d*m")


def table(token_attention: TokenAttention, layer: int, *, width: int | None) -> str:
    """Return the scores of one layer: a row for each query, a column for each token.

    If the columns do not fit into `width` characters, each query is shown with the tokens of its
    highest scores instead, as many as fit. None is any width.
    """
    rows = token_attention.scores[token_attention.layers.index(layer)]
    tokens = token_names(token_attention.tokens)
    queries = [position_name(query, tokens) for query in token_attention.queries]
    cells = [["", *tokens]]
    cells += [
        [name, *map(format_number, row.tolist())] for name, row in zip(queries, rows, strict=True)
    ]
    lines, titles = align(cells, right=True), [_title(token_attention, layer)]
    # Fewer than all: all tokens with their names are never narrower than the columns.
    for count in range(min(_MOST_TOKENS, len(tokens) - 1), 0, -1):
        if width is None or max(map(text_width, lines)) <= width:
            break
        named = zip(queries, rows, strict=True)
        lines = align([[name, *_highest(row, tokens, count)] for name, row in named])
        scores = "highest score" if count == 1 else f"{count} highest scores"
        titles[1:] = [f"(the {scores} of each query; for all: --json, --out, a wider terminal)"]
    return "\n".join([*titles, *lines])


def flow_note(token_attention: TokenAttention) -> str:
    """Return lines about the layers whose flow is saturated or flat, or ""."""
    if token_attention.method != "flow":
        return ""
    return "\n".join(filter(None, [_saturation(token_attention), _flatness(token_attention)]))


def _saturation(token_attention: TokenAttention) -> str:
    """Return a line about the layers whose scores do not depend on the query."""
    marks = np.array(token_attention.saturated)
    n_queries, n_tokens = token_attention.scores.shape[1:]
    if not marks.any():
        # With one query, saturation is unknown.
        return "Saturated: no layer." if n_queries > 1 else ""
    named = _layers(token_attention, marks)
    if n_queries == 1:
        return (
            f"At their ceiling: {named}. Each score there is limited by the query or the token "
            "alone, and does not depend on the layers between."
        )
    # A layer of an Attention has as many positions as there are tokens.
    every = n_queries == n_tokens
    which = "every query has" if every else f"the {n_queries} queries computed have"
    return (
        f"Saturated: {named}. There {which} the same scores, so they say nothing about the query."
    )


def _flatness(token_attention: TokenAttention) -> str:
    """Return a line about the queries for which all other tokens have nearly the same score."""
    names = token_names(token_attention.tokens)
    flat = [
        f"{position_name(query, names)} in {_layers(token_attention, marks)}"
        for query, marks in zip(token_attention.queries, token_attention.flat.T, strict=True)
        if marks.any()
    ]
    if not flat:
        return ""
    more = f"; and {len(flat) - _MOST_QUERIES} more" if len(flat) > _MOST_QUERIES else ""
    return (
        f"Flat: query {'; '.join(flat[:_MOST_QUERIES])}{more}. There all other tokens have nearly "
        "the same score: what leaves the query's own position limits the flow to each of them "
        "alike."
    )


def _layers(token_attention: TokenAttention, marks: NDArray[np.bool_]) -> str:
    """Return the marked layers in words."""
    layers = [str(layer) for layer, mark in zip(token_attention.layers, marks, strict=True) if mark]
    return f"{'layer' if len(layers) == 1 else 'layers'} {', '.join(layers)}"


def _title(token_attention: TokenAttention, layer: int) -> str:
    settings = [
        key.replace("_", " ") if value is True else f"{key.replace('_', ' ')} {value}"
        for key, value in token_attention.settings.items()
        if value is not None and value is not False
    ]
    return f"{token_attention.method}, layer {layer} ({', '.join(settings)})"


def _highest(row: NDArray[np.float64], tokens: Sequence[str], count: int) -> list[str]:
    # stable, so that equal scores come in the order of the tokens
    order = np.argsort(-row, kind="stable")[:count]
    return [f"{format_number(row.item(j))} {position_name(j, tokens)}" for j in order.tolist()]


def align(rows: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Return the lines of a table for a terminal."""
    return [line.rstrip() for line in align_columns(rows, right=right, width=text_width)]


def text_width(text: str) -> int:
    """Terminal columns of a text: a Chinese character takes two, an accent and a colour none."""
    from rich.cells import cell_len

    return cell_len(_COLOUR.sub("", text))
