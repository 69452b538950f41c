"""LayerTable: one number for each text, row and layer, and what they come to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from attnflow._internal import checks
from attnflow._internal.html_table import html_table
from attnflow._internal.records import Record
from attnflow._internal.settings import Settings, freeze_settings
from attnflow._internal.storage import PathLike
from attnflow.errors import InputError
from attnflow.types._layer_table_files import write_sentences, write_table
from attnflow.types._layer_table_text import Published, check_published, markdown, table_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class LayerTable(Record):
    """One number for each text, row and layer: the tables of the paper, before they are averaged.

    Parameters
    ----------
    values
        (text, row, layer); NaN where a number is undefined.
    rows
        Names of the rows, such as "raw", "rollout" and "flow".
    layers
        Numbers of the layers.
    texts
        What the numbers are of.
    whole
        Rows that belong to no layer, by name: (text).
    settings
        How the numbers were made.

    Examples
    --------
    >>> t = LayerTable([[[0.2, 0.4]], [[0.4, np.nan]]], ["raw"], [1, 2], ["a b", "c d"])
    >>> t
    LayerTable(texts=2, rows=('raw',), layers=(1, 2))
    >>> t.mean.round(2), t.std.round(2), t.undefined
    (array([[0.3, 0.4]]), array([[0.1, 0. ]]), array([[0, 1]]))
    """

    values: NDArray[np.float64]
    rows: tuple[str, ...]
    layers: tuple[int, ...]
    texts: tuple[str, ...]
    whole: Mapping[str, NDArray[np.float64]]
    settings: Settings

    def __init__(
        self,
        values: ArrayLike,
        rows: Iterable[str],
        layers: Iterable[int],
        texts: Iterable[str],
        whole: Mapping[str, ArrayLike] | None = None,
        settings: Settings | None = None,
    ) -> None:
        array = checks.as_floats(values, "values").astype(np.float64, copy=False)
        names, numbers, read = tuple(rows), checks.as_ints(layers, "layers"), tuple(texts)
        if isinstance(rows, str) or isinstance(texts, str):
            raise InputError("rows and texts are lists of strings, and one string came")
        wanted = (len(read), len(names), len(numbers))
        if array.shape != wanted or 0 in wanted:
            raise InputError(
                f"values has shape {array.shape}; {wanted} is wanted for as many texts, rows and "
                "layers, at least one of each"
            )
        beside = {
            name: checks.as_read_only(checks.as_floats(each, name).astype(np.float64, copy=False))
            for name, each in (whole or {}).items()
        }
        if len({*names, *beside}) < len(names) + len(beside):  # files name columns by them
            raise InputError(f"rows are {(*names, *beside)}; each needs a name of its own")
        for name, each in beside.items():
            if each.shape != (len(read),):
                raise InputError(f"{name} has shape {each.shape}; one number a text is wanted")
        self._set(
            values=checks.as_read_only(array),
            rows=names,
            layers=numbers,
            texts=read,
            whole=MappingProxyType(beside),
            settings=freeze_settings(settings),
        )

    @property
    def mean(self) -> NDArray[np.float64]:
        """(row, layer): the mean over the texts for which there is a number; NaN where none is."""
        return _mean(self.values)

    @property
    def std(self) -> NDArray[np.float64]:
        """(row, layer): the standard deviation, of the texts and not of their mean."""
        return np.sqrt(_mean((self.values - self.mean) ** 2))

    @property
    def undefined(self) -> NDArray[np.int64]:
        """(row, layer): for how many texts there is no number."""
        return np.isnan(self.values).sum(axis=0)

    @property
    def whole_means(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each row that belongs to no layer, NaN where undefined."""
        means = {name: float(_mean(values)) for name, values in self.whole.items()}
        return {
            name: (means[name], float(np.sqrt(_mean((values - means[name]) ** 2))))
            for name, values in self.whole.items()
        }

    def markdown(self, published: Published | None = None, *, std: bool = True) -> str:
        """Means as a table in Markdown, with numbers published by others.

        Parameters
        ----------
        published
            Row → (mean, standard deviation) for each layer, printed below the row.
        std
            Whether standard deviations are printed: mean ± standard deviation.

        >>> t = LayerTable([[[0.2]], [[0.4]]], ["raw"], [1], ["a b", "c d"])
        >>> print(t.markdown({"raw": [(0.69, 0.27)]}))
        |            |          L1 |
        |------------|------------:|
        | raw        | 0.30 ± 0.10 |
        | raw, paper | 0.69 ± 0.27 |
        """
        return markdown(self, check_published(self, published), std=std)

    def with_settings(self, **more: object) -> Self:
        """Return the table with additional settings."""
        return dataclasses.replace(self, settings={**self.settings, **more})

    def save(
        self, path: PathLike, published: Published | None = None, *, heading: str = ""
    ) -> Path:
        """Write the table to a .md, .csv or .parquet file, and every number beside it.

        `heading` is text above the table in Markdown; the other formats have a column with the
        settings. Returns the path of the second file, which holds one line for each text:
        `table.md` has `table.md.sentences.csv`, `table.parquet` `table.parquet.sentences.parquet`.
        """
        path = Path(path)
        write_table(self, path, check_published(self, published), heading)
        return write_sentences(self, path)

    def __repr__(self) -> str:
        return f"LayerTable(texts={len(self.texts)}, rows={self.rows}, layers={self.layers})"

    def _repr_html_(self) -> str:
        """Means and standard deviations, and how many numbers are undefined."""
        header, *cells = table_rows(self, None, std=True)
        return html_table(f"{len(self.texts)} texts", header, cells)


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the first axis of what is not NaN, without a warning where all of it is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
