"""Measured: the values that `measure` computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.settings import Settings
from attnflow.errors import InputError
from attnflow.evaluate._plan import Cell
from attnflow.types import LayerTable


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredText:
    """The values of one text.

    Attributes
    ----------
    text
        The text.
    values
        One for each cell; NaN if it is undefined or if the text failed.
    error
        Why the text failed; None if it did not.
    n_tokens
        Number of tokens; 0 if they are unknown.
    """

    text: str
    values: NDArray[np.float64]
    error: str | None
    n_tokens: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measured:
    """The values of texts.

    Attributes
    ----------
    cells
        What the values of each text are.
    texts
        The values of each text, in the order in which the texts were given.
    settings
        The plan; for each metric whether special tokens count; and how importance, edges and
        faithfulness were computed, by name. `clipped` of edges is the share of negative weights,
        which are set to zero, the mean over texts.
    seconds
        Time of each part of the computation.
    """

    cells: tuple[Cell, ...]
    texts: tuple[MeasuredText, ...]
    settings: Settings
    seconds: Mapping[str, float]

    @property
    def values(self) -> NDArray[np.float64]:
        """The values (text, cell)."""
        return np.array([text.values for text in self.texts])

    def table(self, metric: str, importance: str | None = None) -> LayerTable:
        """Return the values of one metric, by layer.

        Baselines, which have no layer, are in `per_text`. With several edge weights a row is named
        by both: "norms rollout".

        Parameters
        ----------
        metric
            The metric.
        importance
            What it compares with; None for a metric that needs none.
        """
        chosen = [
            (number, cell)
            for number, cell in enumerate(self.cells)
            if (cell.metric, cell.importance) == (metric, importance)
        ]
        if not chosen:
            known = dict.fromkeys((cell.metric, cell.importance) for cell in self.cells)
            names = ", ".join(
                name if other is None else f"{name} with {other}" for name, other in known
            )
            raise InputError(f"expected one of {names}, got {metric!r} with {importance!r}")
        values = self.values
        several = len({cell.edges for _, cell in chosen if cell.edges is not None}) > 1
        columns: dict[str, dict[int, int]] = {}
        per_text: dict[str, NDArray[np.float64]] = {}
        for number, cell in chosen:
            if cell.layer is None:
                per_text[cell.method] = values[:, number]
            else:
                name = f"{cell.edges} {cell.method}" if several else cell.method
                columns.setdefault(name, {})[cell.layer] = number
        layers = list(next(iter(columns.values())))
        return LayerTable(
            values[:, [[by_layer[layer] for layer in layers] for by_layer in columns.values()]],
            columns,
            layers,
            [text.text for text in self.texts],
            per_text,
            settings={**self.settings, "metric": metric, "importance": importance},
        )

    def __repr__(self) -> str:
        failed = sum(text.error is not None for text in self.texts)
        return f"Measured(texts={len(self.texts)}, failed={failed}, values={len(self.cells)})"
