"""Records on disk, as .npz or .safetensors and never as pickle.

A record maps names to arrays and strings. Strings (tokens, settings) are string arrays in .npz;
.safetensors has no strings, so there they are JSON in the metadata.

A file is checked before its data is read: it must be a regular file, and its arrays may take at
most 1 GiB of memory, or as much as the file itself. `ATTNFLOW_MAX_BYTES` sets another limit.
"""

import fnmatch
import importlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import optional as optional_packages
from attnflow._internal.files import PathLike, as_path, atomic_file, open_regular, parse_json
from attnflow.errors import InputError

Stored: TypeAlias = NDArray[Any] | str | tuple[str, ...]
_Select: TypeAlias = Callable[[Iterable[str]], list[str]]

# Bytes of all arrays read from a file. Chosen: seven times the attention of BERT-base for 512
# tokens. A compressed file of 1 MB can hold as much.
_MAX_BYTES = 2**30
_LIMIT = "ATTNFLOW_MAX_BYTES"
_MESSAGE = 400  # characters; chosen: an error may quote the content of the file
_STRING_BYTES = 80  # of a short Python string in a tuple


def write(path: PathLike, record: Mapping[str, Stored]) -> None:
    """Write a record to `path`; its suffix, .npz or .safetensors, chooses the format.

    The file appears under its name only when it is complete. The arrays are not compressed.
    """
    target = as_path(path)
    writer = {".npz": _write_npz, ".safetensors": _write_safetensors}[_suffix(target)]
    with atomic_file(target) as draft:
        writer(draft, record)


def check_packages(path: PathLike) -> None:
    """Raise before any work where the format of `path` needs a missing package."""
    if _suffix(Path(path)) == ".safetensors":
        optional_packages.require(
            "safetensors", need=".safetensors files need", extra="safetensors"
        )


def read(
    path: PathLike,
    *,
    required: Sequence[str],
    optional: Sequence[str] = (),
    others: Mapping[str, str] | None = None,
) -> dict[str, Stored]:
    """Read the names in `required`, and those in `optional` that the file holds.

    An optional name may hold a star, as in `layer_*`. Other names are not read. A file that is
    missing, cut off, of another kind, too large or without a required name is an InputError;
    `others` maps a name that only another kind of file holds to a hint for this error.
    """
    source = as_path(path)
    reader = {".npz": _read_npz, ".safetensors": _read_safetensors}[_suffix(source)]

    def select(names: Iterable[str]) -> list[str]:
        found = sorted(names)
        if not set(required) <= set(found):
            hints = [hint for name, hint in (others or {}).items() if name in found]
            raise InputError(
                f"{source}: expected {', '.join(required)}, got {', '.join(found) or 'nothing'}. "
                f"{(*hints, 'Check that it is the right file')[0]}"
            )
        patterns = (*required, *optional)
        return [name for name in found if any(fnmatch.fnmatchcase(name, p) for p in patterns)]

    try:
        with open_regular(source) as file:
            return reader(file, select, _Budget(file))
    except InputError:
        raise
    # A broken file can raise anything: tokenize errors from a header, MemoryError from a shape,
    # RuntimeError from encryption, and more.
    except Exception as e:
        raise InputError(
            f"{source} is not a readable {source.suffix} file: {e}. It may be cut off or of "
            "another kind. Write it again, with arrays and strings and without pickled objects"
        ) from e


@contextmanager
def naming_file(path: PathLike) -> Generator[None]:
    """Raise an InputError that names the file for every error about its content."""
    try:
        yield
    except ValueError as reason:
        message = str(reason)
        if len(message) > _MESSAGE:
            message = f"{message[: _MESSAGE // 2]} … {message[-_MESSAGE // 2 :]}"
        raise InputError(f"{path}: {message}") from reason


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".safetensors"):
        raise InputError(f"{path} ends in {suffix!r}; use a name that ends in .npz or .safetensors")
    return suffix


class _Budget:
    """Bytes of memory that the arrays of a file may take."""

    def __init__(self, file: IO[bytes]) -> None:
        self.name, self.used = file.name, 0
        given = os.environ.get(_LIMIT)
        if given is not None and not (given.isascii() and given.isdigit()):
            raise InputError(f"{_LIMIT} must be a number of bytes, got {given!r}")
        self.limit = int(given) if given else max(_MAX_BYTES, os.fstat(file.fileno()).st_size)

    def spend(self, shape: Sequence[int], item: int) -> None:
        """Count an array of items of `item` bytes, before it is read."""
        self.used += math.prod(shape) * item
        if self.used > self.limit:
            raise InputError(
                f"{self.name}: expected at most {self.limit} bytes of arrays, got {self.used}. If "
                f"the file is from a source you trust, set {_LIMIT}={self.used}"
            )


def _read_npz(file: IO[bytes], select: _Select, budget: _Budget) -> dict[str, Stored]:
    # Checked before NumPy does, which takes other files for a pickle and says how to load it.
    if not zipfile.is_zipfile(file):
        _ = file.seek(0)
        if file.read(6) == b"\x93NUMPY":
            raise InputError(f"{file.name} holds one array without a name; write it with np.savez")
        raise ValueError("it is not a complete zip archive, which every .npz file is")
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return {name: _read_npy(archive, members[name], budget) for name in select(members)}


def _read_npy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> Stored:
    name, extension, _ = info.filename.partition(".npy")
    if not extension:
        raise InputError(f"{budget.name} holds {name}, but not as an array; write it with np.savez")
    formats: dict[Any, Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        shape, _, dtype = formats[version](member)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects")
        stored = info.file_size - member.tell()
        if math.prod(shape) * dtype.itemsize != stored or not dtype.itemsize:
            raise ValueError(f"{name} does not hold as many bytes as its header says")
        # Once they are read, half precisions become float32 and other numbers float64.
        size = max(dtype.itemsize, 4 if dtype.kind == "f" else 8)
        budget.spend(shape, dtype.itemsize + _STRING_BYTES if dtype.kind == "U" else size)
        _ = member.seek(0)
        return _plain(np.lib.format.read_array(member, allow_pickle=False))


def _plain(array: NDArray[Any]) -> Stored:
    """Return strings for NumPy's arrays of strings; arrays of numbers stay as they are."""
    if array.dtype.kind != "U":
        return array
    return tuple(array.ravel().tolist()) if array.ndim else str(array)


def _read_safetensors(file: IO[bytes], select: _Select, budget: _Budget) -> dict[str, Stored]:
    safetensors, _ = _safetensors()
    try:
        with safetensors.safe_open(file.name, framework="numpy") as content:
            texts: dict[str, str] = content.metadata() or {}
            names = select([*content.keys(), *texts])
            for tensor in (content.get_slice(name) for name in names if name not in texts):
                budget.spend(tensor.get_shape(), 4 if tensor.get_dtype() == "F32" else 8)
            return {k: _parsed(texts[k]) if k in texts else content.get_tensor(k) for k in names}
    except TypeError as reason:
        raise InputError(
            f"{file.name} holds numbers that NumPy does not have: {reason}. Save them as float32"
        ) from reason
    except safetensors.SafetensorError as reason:
        raise ValueError(str(reason)) from reason


def _parsed(text: str) -> Stored:
    value = parse_json(text)
    return tuple(cast("list[str]", value)) if isinstance(value, list) else str(value)


def _write_npz(draft: Path, record: Mapping[str, Stored]) -> None:
    arrays: dict[str, Any] = {name: np.asarray(stored) for name, stored in record.items()}
    for name, stored in record.items():
        # NumPy pads strings with NUL, so a NUL at the end of a string gets lost.
        if not isinstance(stored, np.ndarray) and _plain(arrays[name]) != stored:
            raise InputError(
                f"{name} holds text that ends in NUL, which .npz cannot hold; save as .safetensors"
            )
    with draft.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _write_safetensors(draft: Path, record: Mapping[str, Stored]) -> None:
    safetensors, save = _safetensors()
    # It writes memory as it lies, so the arrays must be in C order.
    arrays = {k: np.asarray(v, order="C") for k, v in record.items() if isinstance(v, np.ndarray)}
    texts = {k: json.dumps(v) for k, v in record.items() if k not in arrays}
    try:
        content = save(arrays, metadata=texts)
    except safetensors.SafetensorError as reason:
        raise OSError(str(reason)) from reason
    _ = draft.write_bytes(content)


def _safetensors() -> tuple[Any, Any]:
    check_packages("any.safetensors")
    save = importlib.import_module("safetensors.numpy").save
    return importlib.import_module("safetensors"), save
