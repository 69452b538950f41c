"""Summary: mean, standard deviation and bootstrap interval of every cell, over all texts."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.settings import Settings, freeze_settings
from attnflow.evaluate._plan import Cell
from attnflow.evaluate.corpus._formats import as_csv, as_latex, as_markdown, as_text

_RESAMPLES = 1000  # of the bootstrap. Chosen, as is usual
_INTERVAL = (2.5, 97.5)  # percent
_ERRORS = 5  # failed texts that a summary shows. Chosen: enough to find what is wrong


class CellSummary(NamedTuple):
    """The statistics of one cell over texts.

    Attributes
    ----------
    cell
        What was measured.
    mean, std
        Mean and standard deviation over the texts that have a value; NaN without any.
    low, high
        The 95 % bootstrap interval of the mean.
    defined, undefined
        Number of texts with a value and without one; failed texts are neither.
    """

    cell: Cell
    mean: float
    std: float
    low: float
    high: float
    defined: int
    undefined: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The statistics of a run.

    Attributes
    ----------
    cells
        The statistics of every cell.
    texts, failed
        Number of texts, and of those that failed.
    errors
        The number and the error of the first texts that failed.
    settings
        The settings of the run, and of the bootstrap.
    clipped
        By edges, the share of negative weights, which are set to zero: the mean over texts.
    causal
        Whether the model is a decoder, in which no position attends to a later one.
    """

    cells: tuple[CellSummary, ...]
    texts: int
    failed: int
    errors: tuple[tuple[int, str], ...]
    settings: Settings
    clipped: Mapping[str, float]
    causal: bool

    def text(self) -> str:
        """Return the means as tables of text, with deviations, intervals and counts."""
        return as_text(self)

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        return as_markdown(self)

    def latex(self) -> str:
        """Return the tables as LaTeX, for the package booktabs."""
        return as_latex(self)

    def csv(self) -> str:
        """Return all numbers as CSV, one line for each cell."""
        return as_csv(self)


def summarize(files: Iterable[Path], settings: dict[str, Any]) -> Summary:
    """Return the statistics of the files of a run, read one after the other.

    The interval is from the Poisson bootstrap (Hanley & MacGibbon, 2006,
    https://doi.org/10.1016/j.cmpb.2006.04.006): in each resample, every text has a weight drawn
    from the Poisson distribution of mean 1. It needs one pass and, unlike drawing with replacement,
    no more memory for more texts. The weights are drawn with the seed of the plan, and are the same
    for all cells.
    """
    rng = np.random.default_rng(settings["plan"]["seed"])
    statistics: _Statistics | None = None
    for path in files:
        if statistics is None:
            statistics = _Statistics(_cells(path), rng)
        statistics.add(*_read(path, len(statistics.names)))
    if statistics is None:
        raise ValueError("expected the files of a run, got none")
    return Summary(
        statistics.cells(),
        statistics.texts,
        statistics.failed,
        tuple(statistics.errors),
        freeze_settings({**settings, "bootstrap": {"method": "Poisson", "resamples": _RESAMPLES}}),
        statistics.clipped(),
        statistics.causal,
    )


class _Statistics:
    """Sums over the texts of files; their size does not depend on the number of texts."""

    def __init__(self, cells: tuple[Cell, ...], rng: np.random.Generator) -> None:
        self.names, self.rng = cells, rng
        self.texts = self.failed = 0
        self.errors: list[tuple[int, str]] = []
        self.shares: dict[str, tuple[float, int]] = {}  # sums and numbers of texts
        self.causal = False
        self.count, self.mean, self.squares = np.zeros((3, len(cells)))
        self.weights, self.totals = np.zeros((2, _RESAMPLES, len(cells)))

    def add(
        self,
        values: NDArray[np.float64],
        errors: list[tuple[int, str]],
        edges: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Add values (text, cell), errors and settings of edges of one file."""
        more = len(values) - len(errors)
        for name, made in edges.items():
            self.causal |= made.get("causal", False)
            if "clipped" in made:
                total, count = self.shares.get(name, (0.0, 0))
                self.shares[name] = total + more * made["clipped"], count + more
        self.errors += errors[: _ERRORS - len(self.errors)]
        self.texts += len(values)
        self.failed += len(errors)
        defined = ~np.isnan(values)
        filled = np.where(defined, values, 0.0)
        self._add_moments(defined, filled)
        # Failed texts get weights too, so that those of other texts do not depend on failures.
        drawn = self.rng.integers(2**16, size=(_RESAMPLES, len(values)), dtype=np.uint16)
        weights = _poisson()[drawn]
        self.weights += weights @ defined
        self.totals += weights @ filled

    def _add_moments(self, defined: NDArray[np.bool_], filled: NDArray[np.float64]) -> None:
        """Add counts, means and sums of squared deviations (Chan et al., 1979)."""
        count = defined.sum(axis=0)
        mean = filled.sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(defined, filled - mean, 0.0) ** 2).sum(axis=0)
        both = np.maximum(self.count + count, 1)
        step = mean - self.mean
        self.mean = self.mean + step * count / both
        self.squares = self.squares + squares + step**2 * self.count * count / both
        self.count = self.count + count

    def clipped(self) -> dict[str, float]:
        """Return the mean of clipped shares over texts, by edges."""
        return {name: total / count for name, (total, count) in self.shares.items()}

    def cells(self) -> tuple[CellSummary, ...]:
        """Return the statistics of every cell."""
        none = self.count == 0
        mean = np.where(none, np.nan, self.mean)
        std = np.where(none, np.nan, np.sqrt(self.squares / np.maximum(self.count, 1)))
        low, high = self._interval()
        undefined = self.texts - self.failed - self.count
        columns = (mean, std, low, high, self.count.astype(int), undefined.astype(int))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(CellSummary(cell, *row) for cell, row in zip(self.names, rows, strict=True))

    def _interval(self) -> NDArray[np.float64]:
        """Return lower and upper ends (2, cell); a resample without any text has no mean."""
        means = np.full(self.totals.shape, np.nan)
        _ = np.divide(self.totals, self.weights, out=means, where=self.weights > 0)
        ends = np.full((2, len(self.names)), np.nan)
        for column in np.flatnonzero(self.count):
            own = means[:, column]
            ends[:, column] = np.percentile(own[~np.isnan(own)], _INTERVAL)
        return ends


@functools.cache
def _poisson() -> NDArray[np.float64]:
    """Return the Poisson distribution of mean 1 as 2¹⁶ equally probable values.

    Exact to 2⁻¹⁶, and ten times faster than NumPy's. A value above 8 has a probability of 1e-6.
    """
    steps = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(9)])
    return np.searchsorted(steps * 2**16, np.arange(2**16), side="right").astype(np.float64)


def _cells(path: Path) -> tuple[Cell, ...]:
    """Return the cells of a file: the rows of its first text. All files of a run have the same."""
    from pyarrow import parquet

    table = parquet.read_table(path, columns=["text_id", *Cell._fields])
    text_ids = table["text_id"].to_numpy()
    n_cells = int(np.count_nonzero(text_ids == text_ids[0]))
    rows = table.slice(0, n_cells).select(Cell._fields).to_pylist()
    return tuple(Cell(**row) for row in rows)


def _read(
    path: Path, n_cells: int
) -> tuple[NDArray[np.float64], list[tuple[int, str]], dict[str, dict[str, Any]]]:
    """Return values (text, cell), number and error of the texts that failed, settings of edges.

    Only values and settings are read, and errors if there are any.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        values = file.read(["value"])["value"].to_numpy().reshape(-1, n_cells)
        edges = json.loads(file.schema_arrow.metadata[b"measured"]).get("edges", {})
        if not _has_errors(file.metadata):
            return values, [], edges
        errors = file.read(["text_id", "error"])[::n_cells].to_pylist()
    failed = [(row["text_id"], row["error"]) for row in errors if row["error"] is not None]
    return values, failed, edges


def _has_errors(metadata: Any) -> bool:
    """Return whether a file has an error, from the statistics that Parquet keeps of a column."""
    column = metadata.schema.names.index("error")
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is None or statistics.null_count < metadata.row_group(group).num_rows:
            return True
    return False
