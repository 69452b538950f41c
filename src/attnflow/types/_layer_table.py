"""LayerTable: one number for each text, row and layer, with means and standard deviations."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.columns import (
    Columns,
    as_frame,
    check_table_path,
    nan_to_none,
    write_columns,
    write_csv,
)
from attnflow._internal.display import count_texts, format_number, markdown_table
from attnflow._internal.files import PathLike, atomic_file
from attnflow._internal.html_table import html_table
from attnflow._internal.records import Record
from attnflow._internal.settings import Settings, freeze_settings, settings_to_json
from attnflow.errors import InputError

# Row → (mean, standard deviation) for each layer.
Published: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]

_COLUMNS = ("row", "layer", "mean", "std", "texts", "undefined", "paper_mean", "paper_std")


@dataclass(frozen=True, slots=True, eq=False)
class LayerTable(Record):
    """One number for each text, row and layer: the values that the paper's tables average.

    Parameters
    ----------
    values
        (text, row, layer); NaN if a number is undefined.
    rows
        Names of the rows, such as "raw", "rollout" and "flow".
    layers
        Numbers of the layers.
    texts
        The texts.
    per_text
        Rows with one number per text instead of one per layer, by name: (text).
    settings
        How the numbers were computed.

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
    per_text: Mapping[str, NDArray[np.float64]]
    settings: Settings

    def __init__(
        self,
        values: ArrayLike,
        rows: Iterable[str],
        layers: Iterable[int],
        texts: Iterable[str],
        per_text: Mapping[str, ArrayLike] | None = None,
        settings: Settings | None = None,
    ) -> None:
        for name, strings in (("rows", rows), ("texts", texts)):
            if isinstance(strings, str):
                raise InputError(f"{name} must be a list of strings, got {strings!r}")
        rows, layers, texts = tuple(rows), checks.as_ints(layers, "layers"), tuple(texts)
        array = checks.as_floats(values, "values").astype(np.float64, copy=False)
        shape = (len(texts), len(rows), len(layers))
        if array.shape != shape or 0 in shape:
            raise InputError(
                f"values: expected shape {shape} (text, row, layer), none 0, got {array.shape}"
            )
        single = {
            name: checks.as_read_only(checks.as_floats(item, name).astype(np.float64, copy=False))
            for name, item in (per_text or {}).items()
        }
        names = (*rows, *single)
        if len(set(names)) < len(names):  # names of columns in files
            raise InputError(f"every row must have a name of its own, got {names}")
        for name, item in single.items():
            if item.shape != (len(texts),):
                raise InputError(f"{name}: expected shape {(len(texts),)} (text), got {item.shape}")
        self._set(
            values=checks.as_read_only(array),
            rows=rows,
            layers=layers,
            texts=texts,
            per_text=MappingProxyType(single),
            settings=freeze_settings(settings),
        )

    @property
    def mean(self) -> NDArray[np.float64]:
        """(row, layer): the mean over texts with a number; NaN if there are none."""
        return _mean(self.values)

    @property
    def std(self) -> NDArray[np.float64]:
        """(row, layer): the standard deviation over texts, not that of the mean."""
        return np.sqrt(_mean((self.values - self.mean) ** 2))

    @property
    def undefined(self) -> NDArray[np.int64]:
        """(row, layer): the number of texts without a number."""
        return np.isnan(self.values).sum(axis=0)

    @property
    def per_text_means(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each row of `per_text`, NaN if undefined."""
        means = {name: float(_mean(values)) for name, values in self.per_text.items()}
        return {
            name: (means[name], float(np.sqrt(_mean((values - means[name]) ** 2))))
            for name, values in self.per_text.items()
        }

    def markdown(self, published: Published | None = None, *, std: bool = True) -> str:
        """Return the means as a Markdown table, with published numbers for comparison.

        Parameters
        ----------
        published
            Row → (mean, standard deviation) for each layer, printed below the row.
        std
            Whether standard deviations are printed: mean ± standard deviation.

        Examples
        --------
        >>> t = LayerTable([[[0.2]], [[0.4]]], ["raw"], [1], ["a b", "c d"])
        >>> print(t.markdown({"raw": [(0.69, 0.27)]}))
        |            |          L1 |
        |------------|------------:|
        | raw        | 0.30 ± 0.10 |
        | raw, paper | 0.69 ± 0.27 |
        """
        return markdown_table(self._cells(published, std=std))

    def with_settings(self, **more: object) -> Self:
        """Return the table with additional settings."""
        return dataclasses.replace(self, settings={**self.settings, **more})

    def save(
        self, path: PathLike, published: Published | None = None, *, heading: str = ""
    ) -> Path:
        """Write the means to a .md, .csv or .parquet file, and all numbers to a second file.

        `heading` is printed above the table in Markdown; the other formats have a column with the
        settings. Returns the path of the second file, which holds one line for each text:
        `table.md` has `table.md.sentences.csv`, `table.parquet` `table.parquet.sentences.parquet`.
        """
        path = check_table_path(path)
        if path.suffix.lower() == ".md":
            above = f"{heading}\n\n" if heading else ""
            text = f"{above}{self.markdown(published)}\n"
            with atomic_file(path) as draft:
                _ = draft.write_text(text, encoding="utf-8")
        else:
            write_columns(path, self._mean_columns(published))
        suffix = ".parquet" if path.suffix.lower() == ".parquet" else ".csv"
        sentences = path.with_name(f"{path.name}.sentences{suffix}")
        columns: Columns = {"text": list(self.texts)}
        for name, by_layer in zip(self.rows, self.values.transpose(1, 2, 0), strict=True):
            for layer, values in zip(self.layers, by_layer, strict=True):
                columns[f"{name}_{layer}"] = nan_to_none(values)
        columns |= {name: nan_to_none(values) for name, values in self.per_text.items()}
        write_columns(sentences, columns)
        return sentences

    def to_frame(self) -> Any:
        """Return all numbers as a pandas DataFrame, one row for each text, row and layer.

        Columns are `row`, `layer` (missing for the rows of `per_text`), `text_index`, `text` and
        `value` (NaN if undefined). Texts have numbers because they may be equal. Needs pandas.

        >>> t = LayerTable([[[0.2]], [[0.4]]], ["raw"], [1], ["a b", "c d"])
        >>> print(t.to_frame())
           row  layer  text_index text  value
        0  raw      1           0  a b    0.2
        1  raw      1           1  c d    0.4
        """
        columns = self._columns()
        return as_frame({**columns, "value": np.array(columns["value"], dtype=np.float64)})

    def to_csv(self, path: PathLike) -> None:
        """Write all numbers to a .csv file with the columns of `to_frame`; needs no pandas.

        An undefined number is an empty cell. `save` writes means and standard deviations.
        """
        write_csv(path, self._columns())

    def _columns(self) -> Columns:
        """Return one line for each text, row and layer; None is an undefined number."""
        lines = [
            (name, layer, self.values[:, i, j])
            for i, name in enumerate(self.rows)
            for j, layer in enumerate(self.layers)
        ]
        lines += [(name, None, values) for name, values in self.per_text.items()]
        n_texts = len(self.texts)
        return {
            "row": [name for name, _, _ in lines for _ in range(n_texts)],
            "layer": [layer for _, layer, _ in lines for _ in range(n_texts)],
            "text_index": list(range(n_texts)) * len(lines),
            "text": list(self.texts) * len(lines),
            "value": [value for _, _, values in lines for value in nan_to_none(values)],
        }

    def __repr__(self) -> str:
        return f"LayerTable(texts={len(self.texts)}, rows={self.rows}, layers={self.layers})"

    def _repr_html_(self) -> str:
        """Return means, standard deviations and numbers of undefined values as HTML."""
        header, *cells = self._cells(None, std=True)
        return html_table(count_texts(len(self.texts)), header, cells)

    def _cells(self, published: Published | None, *, std: bool) -> list[list[str]]:
        """Return the header and the rows, each followed by its published numbers."""
        published = self._check_published(published)
        cells: list[list[str]] = [["", *(f"L{layer}" for layer in self.layers)]]
        for name, means, stds in zip(self.rows, self.mean, self.std, strict=True):
            pairs = zip(means.tolist(), stds.tolist(), strict=True)
            cells.append([name, *(_cell(*pair, std=std) for pair in pairs)])
            if name in published:
                cells.append(
                    [f"{name}, paper", *(_cell(*pair, std=std) for pair in published[name])]
                )
        if self.undefined.any():
            for name, counts in zip(self.rows, self.undefined, strict=True):
                cells.append([f"{name}, undefined", *map(str, counts.tolist())])
        if self.per_text:
            cells = [[*row, ""] for row in cells]
            cells[0][-1] = "no layer"
            empty = [""] * len(self.layers)
            for name, pair in self.per_text_means.items():
                cells.append([name, *empty, _cell(*pair, std=std)])
        return cells

    def _mean_columns(self, published: Published | None) -> Columns:
        """Return columns of means and standard deviations, one line for each row and layer."""
        published = self._check_published(published)
        n_texts = len(self.texts)
        lines: list[tuple[Any, ...]] = []
        for i, name in enumerate(self.rows):
            for j, layer in enumerate(self.layers):
                own = nan_to_none([self.mean[i, j], self.std[i, j]])
                theirs = published[name][j] if name in published else (None, None)
                lines.append((name, layer, *own, n_texts, int(self.undefined[i, j]), *theirs))
        for name, values in self.per_text.items():
            own = nan_to_none(self.per_text_means[name])
            lines.append((name, None, *own, n_texts, int(np.isnan(values).sum()), None, None))
        columns = dict(zip(_COLUMNS, map(list, zip(*lines, strict=True)), strict=True))
        return {**columns, "settings": [settings_to_json(self.settings)] * len(lines)}

    def _check_published(self, published: Published | None) -> Published:
        for name, pairs in (published or {}).items():
            if name in self.rows and len(pairs) != len(self.layers):
                raise InputError(
                    f"published[{name!r}]: expected {len(self.layers)} pairs, one per layer, got "
                    f"{len(pairs)}"
                )
        return published or {}


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the first axis without NaN; no warning if all are NaN."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _cell(mean: float, deviation: float, *, std: bool) -> str:
    shown = std and not np.isnan(mean)
    return format_number(mean, 2) + (f" ± {format_number(deviation, 2)}" if shown else "")
