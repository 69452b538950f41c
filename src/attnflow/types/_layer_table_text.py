"""A table of layers as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attnflow.errors import InputError

if TYPE_CHECKING:
    from attnflow.types._layer_table import LayerTable

# Row → (mean, standard deviation) for each layer.
Published: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]


def markdown(table: LayerTable, published: Published | None, *, std: bool) -> str:
    """The cells of a table in Markdown, padded to columns."""
    rows = table_rows(table, published, std=std)
    # A bar or a line break in a name would end its cell.
    return _aligned([[" ".join(cell.replace("|", r"\|").split()) for cell in row] for row in rows])


def table_rows(table: LayerTable, published: Published | None, *, std: bool) -> list[list[str]]:
    """Mean ± standard deviation below a header, each row followed by what was published."""
    rows: list[list[str]] = [["", *(f"L{layer}" for layer in table.layers)]]
    for name, means, stds in zip(table.rows, table.mean, table.std, strict=True):
        pairs = zip(means.tolist(), stds.tolist(), strict=True)
        rows.append([name, *(_cell(*pair, shown=std) for pair in pairs)])
        if published and name in published:
            theirs = (_cell(*pair, shown=std) for pair in published[name])
            rows.append([f"{name}, paper", *theirs])
    if table.undefined.any():
        for name, counts in zip(table.rows, table.undefined, strict=True):
            rows.append([f"{name}, undefined", *map(str, counts.tolist())])
    if table.whole:
        rows = [[*row, ""] for row in rows]
        rows[0][-1] = "no layer"
        empty = [""] * len(table.layers)
        for name, pair in table.whole_means.items():
            rows.append([name, *empty, _cell(*pair, shown=std)])
    return rows


def check_published(table: LayerTable, published: Published | None) -> Published | None:
    """Published numbers, if they are of as many layers as the table has."""
    for name, row in (published or {}).items():
        if name in table.rows and len(row) != len(table.layers):
            raise InputError(
                f"{len(row)} numbers were published for {name}, and the table has "
                f"{len(table.layers)} layers; give one pair a layer"
            )
    return published


def _cell(mean: float, std: float, *, shown: bool) -> str:
    if np.isnan(mean):
        return "undefined"
    return f"{mean:.2f} ± {std:.2f}" if shown else f"{mean:.2f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        " | ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    rule = "|".join(
        "-" * (width + 1) + ("-", ":")[number > 0] for number, width in enumerate(widths)
    )
    head, *body = (f"| {line} |" for line in lines)
    return "\n".join([head, f"|{rule}|", *body])
