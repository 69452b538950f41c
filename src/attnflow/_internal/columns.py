"""Columns of numbers as .csv and .parquet files."""

import csv
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from attnflow._internal import optional
from attnflow._internal.files import PathLike, as_path, atomic_file
from attnflow.errors import InputError

Columns: TypeAlias = dict[str, list[Any]]

_SUFFIXES = (".md", ".csv", ".parquet")


def check_table_path(path: PathLike) -> Path:
    """Return the path of a table; raise an InputError, before any work, if it cannot be written."""
    path = as_path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{path}: expected a name that ends in {', '.join(_SUFFIXES)}")
    if path.suffix.lower() == ".parquet":
        optional.require("pyarrow", need=".parquet files need", extra="parquet")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist. Create it first")
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder. Choose the name of a file")
    except OSError as reason:  # such as a name that is too long
        raise InputError(f"{path} cannot be written: {reason.strerror}") from reason
    return path


def nan_to_none(values: Iterable[float]) -> list[float | None]:
    """Return numbers with None instead of NaN, for files and JSON.

    >>> nan_to_none([0.5, float("nan")])
    [0.5, None]
    """
    return [None if np.isnan(value) else float(value) for value in values]


def write_columns(path: Path, columns: Columns) -> None:
    """Write columns of equal length to a .parquet file, or to CSV."""
    with atomic_file(path) as draft:
        if path.suffix.lower() == ".parquet":
            table = import_module("pyarrow").table(columns)
            import_module("pyarrow.parquet").write_table(table, draft)
            return
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
