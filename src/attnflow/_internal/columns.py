"""Columns of numbers as .csv and .parquet files, and as a pandas DataFrame."""

import csv
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import optional
from attnflow._internal.files import PathLike, as_path, atomic_file
from attnflow.errors import InputError

Columns: TypeAlias = dict[str, list[Any] | NDArray[Any]]

_SUFFIXES = (".md", ".csv", ".parquet")


def check_table_path(path: PathLike, suffixes: Sequence[str] = _SUFFIXES) -> Path:
    """Return the path of a table; raise an InputError, before any work, if it cannot be written."""
    path = as_path(path)
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: expected a name that ends in {', '.join(suffixes)}")
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
            table = import_module("pyarrow").table(_escaped(columns))
            import_module("pyarrow.parquet").write_table(table, draft)
            return
        # A lone surrogate, which UTF-8 does not have, is written as \ud800.
        with draft.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            lists = (c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values())
            writer.writerows(zip(*lists, strict=True))


def write_csv(path: PathLike, columns: Columns) -> None:
    """Write columns of equal length to a .csv file; a path of another name is an InputError."""
    write_columns(check_table_path(path, (".csv",)), columns)


def as_frame(columns: Columns) -> Any:
    """Return columns of equal length as a pandas DataFrame; None is a missing value.

    >>> frame = as_frame({"layer": [6, None], "score": np.array([0.5, 0.25])})
    >>> frame.dtypes.astype(str).tolist()
    ['Int64', 'float64']
    """
    optional.require("pandas", need="to_frame needs", extra="pandas")
    pandas = import_module("pandas")
    # Integers with a missing value stay integers: a plain list of them would become floats.
    return pandas.DataFrame(
        {
            name: pandas.array(values) if isinstance(values, list) and None in values else values
            for name, values in _escaped(columns).items()
        }
    )


def _escaped(columns: Columns) -> Columns:
    """Return columns in which lone surrogates are written as in a CSV file."""
    return {
        name: [_escaped_text(value) for value in values] if isinstance(values, list) else values
        for name, values in columns.items()
    }


def _escaped_text(value: Any) -> Any:
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
