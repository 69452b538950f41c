"""Records on disk, as .npz or .safetensors and never as pickle.

A record holds arrays and texts by name. Texts (tokens, settings) are string arrays in .npz;
.safetensors has no strings, so there they are JSON in the metadata.
"""

import fnmatch
import importlib
import json
import os
import uuid
import zipfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError, MissingDependencyError

Stored: TypeAlias = NDArray[Any] | str | tuple[str, ...]
PathLike: TypeAlias = str | os.PathLike[str]


def write(path: PathLike, record: Mapping[str, Stored]) -> None:
    """Write a record to `path`; its suffix, .npz or .safetensors, chooses the format.

    The file appears under its name only when it is complete: an interrupted write leaves an
    earlier file as it was. The arrays are not compressed.
    """
    target = Path(path)
    writer = {".npz": _write_npz, ".safetensors": _write_safetensors}[_suffix(target)]
    with atomic_file(target) as draft:
        writer(draft, record)


@contextmanager
def atomic_file(
    path: Path, *, advice: str = "Choose a folder that exists and is writable"
) -> Generator[Path]:
    """Another name to write to; the file gets its own when all of it is there.

    An interrupted write, or a full disk, leaves an earlier file as it was. `advice` ends the error.
    """
    # In the same folder, since only there is the last step a rename. Not from `tempfile`, whose
    # files only their owner may read.
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        yield draft
        _ = draft.replace(path)
    except OSError as reason:
        said = reason.strerror or reason
        raise InputError(f"{path} cannot be written: {said}. {advice}") from reason
    finally:
        with suppress(OSError):
            draft.unlink()


def check_packages(path: PathLike) -> None:
    """Raise before any work where the format that the name asks for needs a missing package."""
    if _suffix(Path(path)) == ".safetensors":
        _ = _safetensors()


def read(
    path: PathLike,
    *,
    required: Sequence[str],
    optional: Sequence[str] = (),
    others: Mapping[str, str] | None = None,
) -> dict[str, Stored]:
    """Read what is named in `required`, and what is named in `optional` where it is there.

    An optional name may hold a star, as in `layer_*`. Whatever else the file holds is left alone.
    A file that is missing, cut off, of another kind or without a required name is an InputError;
    `others` says of a name that gives another kind away what to tell about it.
    """
    source = Path(path)
    reader = {".npz": _read_npz, ".safetensors": _read_safetensors}[_suffix(source)]

    def wanted(keys: Iterable[str]) -> list[str]:
        found = sorted(keys)
        if missing := [name for name in required if name not in found]:
            hints = [hint for name, hint in (others or {}).items() if name in found]
            raise InputError(
                f"{source} has no {', '.join(missing)}. It holds {', '.join(found) or 'nothing'}; "
                f"wanted are {', '.join(required)}. {(*hints, 'Is it the right file?')[0]}"
            )
        patterns = (*required, *optional)
        return [key for key in found if any(fnmatch.fnmatchcase(key, p) for p in patterns)]

    try:
        return reader(source, wanted)
    except InputError:
        raise
    except FileNotFoundError as reason:
        raise InputError(f"{source} does not exist; check the path") from reason
    # Whatever a broken file makes its reader do: tokenize errors from a header, MemoryError from an
    # absurd shape, RuntimeError from encryption, RecursionError from JSON, and more.
    except Exception as e:
        raise InputError(
            f"{source} is not a readable {source.suffix} file: {e}. It may be cut off or of "
            "another kind; write it again, with plain arrays and strings and nothing pickled"
        ) from e


@contextmanager
def naming_file(path: PathLike) -> Generator[None]:
    """Name the file in every InputError about what it holds."""
    try:
        yield
    except InputError as reason:
        raise InputError(f"{path}: {reason}") from reason


_Wanted: TypeAlias = Callable[[Iterable[str]], list[str]]


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".safetensors"):
        raise InputError(f"{path} ends in {suffix!r}; use a name that ends in .npz or .safetensors")
    return suffix


def _write_npz(path: Path, record: Mapping[str, Stored]) -> None:
    arrays: dict[str, Any] = {name: np.asarray(stored) for name, stored in record.items()}
    for name, stored in record.items():
        # NumPy pads strings with NUL, so a NUL at the end of a string gets lost.
        if not isinstance(stored, np.ndarray) and _plain(arrays[name]) != stored:
            raise InputError(
                f"{name} holds text that ends in NUL, which .npz cannot keep; save as .safetensors"
            )
    with path.open("xb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _read_npz(path: Path, wanted: _Wanted) -> dict[str, Stored]:
    # Opened here, so that it is closed again when NumPy gives up half-way.
    with path.open("rb") as file:
        # Looked at before NumPy does, which takes all else for a pickle and tells how to load it.
        if not zipfile.is_zipfile(file):
            _ = file.seek(0)
            if file.read(6) == b"\x93NUMPY":
                raise InputError(f"{path} holds one array without a name; write it with np.savez")
            raise ValueError("it is not a whole zip archive, which every .npz file is")
        _ = file.seek(0)
        with cast("Any", np.lib.npyio.NpzFile)(file, allow_pickle=False) as arrays:
            record = {name: _member(arrays, name) for name in wanted(arrays.files)}
    for name, array in record.items():
        if not isinstance(array, np.ndarray):  # a member of the archive that is not .npy
            raise InputError(f"{path} holds {name}, but not as an array; write it with np.savez")
    return {name: _plain(array) for name, array in record.items()}


def _member(arrays: Mapping[str, Any], name: str) -> Any:
    try:
        return arrays[name]
    except ValueError as reason:
        if "allow_pickle" not in str(reason):
            raise
        raise ValueError(f"{name} holds Python objects") from None


def _plain(array: NDArray[Any]) -> Stored:
    """Strings out of NumPy's arrays; numbers stay in theirs."""
    if array.dtype.kind != "U":
        return array
    return tuple(array.ravel().tolist()) if array.ndim else str(array)


def _write_safetensors(path: Path, record: Mapping[str, Stored]) -> None:
    safetensors, save = _safetensors()
    # It writes memory as it lies, so the arrays must lie in C order.
    arrays = {k: np.asarray(v, order="C") for k, v in record.items() if isinstance(v, np.ndarray)}
    texts = {k: json.dumps(v) for k, v in record.items() if k not in arrays}
    try:
        content = save(arrays, metadata=texts)
    except safetensors.SafetensorError as reason:
        raise OSError(str(reason)) from reason
    # Written here, since the package makes files that only their owner may read.
    with path.open("xb") as file:
        _ = file.write(content)


def _read_safetensors(path: Path, wanted: _Wanted) -> dict[str, Stored]:
    safetensors, _ = _safetensors()
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            texts: dict[str, str] = file.metadata() or {}
            names = wanted([*file.keys(), *texts])
            return {k: _parsed(texts[k]) if k in texts else file.get_tensor(k) for k in names}
    except TypeError as reason:
        raise InputError(
            f"{path} holds numbers that NumPy does not have: {reason}. Save them as float32"
        ) from reason
    except safetensors.SafetensorError as reason:
        raise ValueError(str(reason)) from reason


def _parsed(text: str) -> Stored:
    value: Any = json.loads(text)
    return tuple(cast("list[str]", value)) if isinstance(value, list) else str(value)


def _safetensors() -> tuple[Any, Any]:
    try:
        package = importlib.import_module("safetensors")
        return package, importlib.import_module("safetensors.numpy").save
    except ImportError as reason:
        raise MissingDependencyError(
            "safetensors is needed for .safetensors files and is not installed. "
            'Run `pip install "attnflow[safetensors]"`, or use a name that ends in .npz'
        ) from reason
