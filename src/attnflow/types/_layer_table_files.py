"""A table of layers as files: .md for people, .csv and .parquet for programs."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow._internal import optional, storage
from attnflow._internal.settings import settings_to_json
from attnflow.errors import InputError

if TYPE_CHECKING:
    from attnflow.types._layer_table import LayerTable
    from attnflow.types._layer_table_text import Published

SUFFIXES = (".md", ".csv", ".parquet")


def check_path(path: storage.PathLike) -> None:
    """Refuse, before any work is done, a path that no table can be written to."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} is no name for a table; it must end in {', '.join(SUFFIXES)}")
    if path.suffix.lower() == ".parquet":
        _ = _pyarrow()
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; a name for a file is wanted")
    except OSError as reason:  # such as a name that is too long
        raise InputError(f"{path} cannot be written: {reason.strerror}") from reason


def write_table(table: LayerTable, path: Path, published: Published | None, heading: str) -> None:
    """Means and standard deviations; in .csv and .parquet one line for each row and layer."""
    check_path(path)
    if path.suffix.lower() == ".md":
        above = f"{heading}\n\n" if heading else ""
        with storage.atomic_file(path) as draft:
            _ = draft.write_text(f"{above}{table.markdown(published)}\n", encoding="utf-8")
    else:
        _write(path, _means(table, published or {}))


def write_sentences(table: LayerTable, path: Path) -> Path:
    """Every number, one line a text, in a file beside `path`."""
    suffix = ".parquet" if path.suffix.lower() == ".parquet" else ".csv"
    beside = path.with_name(f"{path.name}.sentences{suffix}")
    columns: dict[str, list[Any]] = {"text": list(table.texts)}
    for number, name in enumerate(table.rows):
        for place, layer in enumerate(table.layers):
            columns[f"{name}_{layer}"] = known(table.values[:, number, place])
    columns |= {name: known(values) for name, values in table.whole.items()}
    _write(beside, columns)
    return beside


def _means(table: LayerTable, published: Published) -> dict[str, list[Any]]:
    names = ("row", "layer", "mean", "std", "texts", "undefined", "paper_mean", "paper_std")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    n = len(table.texts)

    def add(*cells: Any) -> None:
        for name, cell in zip(names, cells, strict=True):
            columns[name].append(cell)

    for number, name in enumerate(table.rows):
        for place, layer in enumerate(table.layers):
            theirs = published[name][place] if name in published else (None, None)
            own = known(np.array([table.mean[number, place], table.std[number, place]]))
            add(name, layer, *own, n, int(table.undefined[number, place]), *theirs)
    for name, values in table.whole.items():
        missing = int(np.isnan(values).sum())
        add(name, None, *known(table.whole_means[name]), n, missing, None, None)
    columns["settings"] = [settings_to_json(table.settings)] * len(columns["row"])
    return columns


def known(values: Any) -> list[float | None]:
    """Numbers, with None in the place of NaN: an empty cell."""
    return [None if np.isnan(value) else float(value) for value in values]


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    with storage.atomic_file(path) as draft:
        if path.suffix.lower() == ".parquet":
            arrow, parquet = _pyarrow()
            parquet.write_table(arrow.table(columns), draft)
            return
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def _pyarrow() -> tuple[Any, Any]:
    optional.require("pyarrow", need=".parquet files need", extra="parquet")
    return import_module("pyarrow"), import_module("pyarrow.parquet")
