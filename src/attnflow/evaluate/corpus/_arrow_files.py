"""Parquet files, and folders of Hugging Face datasets, as sources, read batch by batch."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from attnflow._internal.display import first_names
from attnflow._internal.files import open_regular, parse_json
from attnflow.errors import InputError
from attnflow.evaluate.corpus._source import Source, SourceRow

_BATCH_SIZE = 1024  # rows. Chosen: some hundred kilobytes of sentences
_BUFFER_SIZE = 2**20  # bytes of a column that are read at a time; without it, a whole row group
_STATE, _SPLITS = "state.json", "dataset_dict.json"  # files of `save_to_disk`


def parquet_source(path: Path) -> Source:
    """Return a Parquet file."""
    open_regular(path).close()  # its errors say what is wrong with the path

    @contextmanager
    def opened() -> Generator[Any]:
        from pyarrow import parquet

        with (
            _explained(path, "a Parquet file"),
            parquet.ParquetFile(path, buffer_size=_BUFFER_SIZE, pre_buffer=False) as file,
        ):
            yield file

    def batches(names: tuple[str, ...]) -> Iterator[Any]:
        with opened() as file:
            yield from file.iter_batches(_BATCH_SIZE, columns=list(names))

    with opened() as file:
        schema = file.schema_arrow
    return _source(path, schema, batches)


def dataset_source(folder: Path) -> Source:
    """Return the rows of a folder that `save_to_disk` of Hugging Face datasets wrote."""
    import pyarrow as pa

    files = [folder / name for name in _file_names(folder)]

    def batches(names: tuple[str, ...]) -> Iterator[Any]:
        for file in files:
            with (
                _explained(file, "an Arrow file of a dataset"),
                pa.OSFile(str(file)) as stream,
                pa.ipc.open_stream(stream) as reader,
            ):
                for batch in reader:
                    yield batch.select(list(names))

    with (
        _explained(files[0], "an Arrow file of a dataset"),
        pa.OSFile(str(files[0])) as stream,
        pa.ipc.open_stream(stream) as reader,
    ):
        schema = reader.schema
    return _source(folder, schema, batches)


def _source(path: Path, schema: Any, batches: Callable[[tuple[str, ...]], Iterator[Any]]) -> Source:
    def rows(names: tuple[str, ...]) -> Iterator[SourceRow]:
        before = 0
        for batch in batches(names):
            columns = [_values(column, path, before) for column in batch.columns]
            yield from enumerate(zip(*columns, strict=True), before + 1)
            before += batch.num_rows

    strings = tuple(field.name for field in schema if _is_text(field.type))
    types = tuple(str(field.type) for field in schema)
    return Source(path, tuple(schema.names), strings, rows, "row", typed=True, types=types)


def _values(column: Any, path: Path, before: int) -> list[object]:
    """Return the values of a column of a batch; `before` rows are above it."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        for number, value in enumerate(column, before + 1):
            try:
                _ = value.as_py()
            except UnicodeDecodeError as reason:
                raise InputError(
                    f"{path}, row {number}: byte {reason.start + 1} of the text is not UTF-8. "
                    "Write the file again with text in UTF-8"
                ) from reason
        raise


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_text(kind) for is_text in known)


def _file_names(folder: Path) -> list[str]:
    """Return the names of the Arrow files of a dataset, in the order of their rows."""
    if (folder / _SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if (path / _STATE).is_file())
        raise InputError(
            f"{folder} has several splits: {', '.join(splits)}. Pass the folder of one, as in "
            f"{folder / splits[0] if splits else folder / 'train'}"
        )
    try:
        state: Any = parse_json((folder / _STATE).read_text("utf-8"))
        names = [str(file["filename"]) for file in state["_data_files"]]
    except FileNotFoundError as reason:
        inside = sorted(path.name for path in folder.iterdir())
        raise InputError(
            f"expected a folder that save_to_disk of Hugging Face datasets wrote, with {_STATE}, "
            f"got {folder} with {first_names(inside) or 'no files'}"
        ) from reason
    except (OSError, ValueError, TypeError, KeyError) as reason:
        raise InputError(
            f"{folder / _STATE} does not list the files of a dataset: {reason}. Save it again"
        ) from reason
    if cast("dict[str, Any]", state).get("_indices_files"):
        raise InputError(
            f"{folder} has a mapping of indices, which attnflow does not read. Save the dataset "
            "again after flatten_indices()"
        )
    if not names:
        raise InputError(f"{folder} is empty: expected a dataset with at least one row")
    if bad := [name for name in names if Path(name).name != name]:
        raise InputError(f"{folder / _STATE}: expected names of files, got {bad[0]!r}")
    return names


@contextmanager
def _explained(path: Path, kind: str) -> Generator[None]:
    """Raise an error of Arrow about a file as an InputError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as reason:
        detail = " ".join(str(reason).split())[:300]
        raise InputError(
            f"{path} cannot be read as {kind}: {detail}. Write it again, or check the path"
        ) from reason
