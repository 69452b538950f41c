"""Token attention as text for people."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow.token_attention import TokenAttention

_MOST_TOKENS = 5  # shown for each query where the whole row is too wide; chosen to fit 80 columns
_GAP = "  "


def table(token_attention: TokenAttention, layer: int, *, width: int) -> str:
    """Scores of one layer: a row for each query, a column for each token.

    Where the columns do not fit into `width` characters, each query is shown with the tokens of
    its highest scores instead.
    """
    rows = token_attention.scores[token_attention.layers.index(layer)]
    tokens = [_printable(token) for token in token_attention.tokens]
    queries = _query_names(token_attention.queries, tokens)
    cells = [["", *tokens]]
    cells += [[name, *map(_number, row.tolist())] for name, row in zip(queries, rows, strict=True)]
    lines = _align(cells)
    if max(map(_width, lines)) > width:
        cells = [[name, *_highest(row, tokens)] for name, row in zip(queries, rows, strict=True)]
        lines = [f"(the {_MOST_TOKENS} highest scores of each query)", *_align(cells)]
    return "\n".join([_title(token_attention, layer), *lines])


def saturation_note(token_attention: TokenAttention) -> str:
    """One line about the layers whose scores are the same for every query, or an empty text."""
    if token_attention.method != "flow" or len(token_attention.queries) == 1:
        return ""
    pairs = zip(token_attention.layers, token_attention.saturated, strict=True)
    layers = [str(layer) for layer, saturated in pairs if saturated]
    if not layers:
        return "Saturated: no layer. In each one the scores depend on the query."
    noun = "layer" if len(layers) == 1 else "layers"
    return (
        f"Saturated: {noun} {', '.join(layers)}. There every query has the same scores, "
        "so they say nothing about the query."
    )


def _title(token_attention: TokenAttention, layer: int) -> str:
    settings = [
        key.replace("_", " ") if value is True else f"{key.replace('_', ' ')} {value}"
        for key, value in token_attention.settings.items()
        if value is not None and value is not False
    ]
    return f"{token_attention.method}, layer {layer} ({', '.join(settings)})"


def _query_names(queries: Sequence[int], tokens: Sequence[str]) -> list[str]:
    """Position and token of each query; the position alone where layers differ in size."""
    return [f"{q} {tokens[q]}" if q < len(tokens) else str(q) for q in queries]


def _highest(row: NDArray[np.float64], tokens: Sequence[str]) -> list[str]:
    # stable, so that equal scores come in the order of the tokens
    order = np.argsort(-row, kind="stable")[:_MOST_TOKENS]
    return [f"{_number(row.item(j))} {j} {tokens[j]}" for j in order.tolist()]


def _number(score: float) -> str:
    return f"{score:.3f}"


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Pad cells to columns: names to the left, the rest to the right unless they hold names too."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    header = rows[0][0] == ""
    lines: list[str] = []
    for row in rows:
        padded = [
            _pad(cell, width, left=(i == 0 or not header))
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(cell))
    return cell + space if left else space + cell


def _width(text: str) -> int:
    """Terminal columns of a text: a Chinese character takes two, a combining accent none."""
    from rich.cells import cell_len

    return cell_len(text)


def _printable(token: str) -> str:
    """The token with line breaks, escapes and the like spelled out, so that it cannot act."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in token)
