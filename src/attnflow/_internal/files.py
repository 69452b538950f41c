"""Files: names, complete replacement of a file, opening of regular files only, and JSON."""

import json
import os
import re
import stat
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from attnflow.errors import InputError

if sys.platform != "win32":
    import fcntl

PathLike: TypeAlias = str | os.PathLike[str]

_DRAFT = re.compile(r"\..+\.[0-9a-f]{32}\.part")


def as_path(path: object) -> Path:
    """Return `path` as a Path, if a file can have this name.

    >>> as_path("attention.npz").suffix
    '.npz'
    """
    try:
        result = Path(cast("str", path))
        if b"\0" not in os.fsencode(result):
            return result
    except (TypeError, UnicodeEncodeError):
        pass
    raise InputError(f"expected the name of a file, got {path!r} ({type(path).__name__})")


def check_is_folder(path: Path) -> None:
    """Raise an InputError unless there is a folder at `path`."""
    if not os.path.isdir(path):  # noqa: PTH112 (False for a name that is too long)
        is_file = os.path.exists(path)  # noqa: PTH110
        missing = f"the folder {path} does not exist; check the path"
        raise InputError(f"expected a folder, got the file {path}" if is_file else missing)


@contextmanager
def atomic_file(
    path: PathLike, *, advice: str = "Choose a folder that exists and is writable"
) -> Generator[Path]:
    """Yield an empty file to write to, which replaces `path` when the block ends without an error.

    An interrupted write, or a full disk, leaves an earlier file as it was. The file that replaces
    an earlier one has its mode; a link stays, and its target is replaced. `advice` ends the error.
    """
    target = Path(os.path.realpath(as_path(path)))
    try:
        mode = None
        with suppress(FileNotFoundError):
            mode = target.stat().st_mode
        if mode is not None and not stat.S_ISREG(mode):
            raise InputError(f"{path} is {_kind(mode)}. Choose another name")
        _remove_stale_drafts(target.parent)
        with _draft(target, private=mode is not None) as draft:
            yield draft
            if mode is not None:
                draft.chmod(stat.S_IMODE(mode))
            _ = draft.replace(target)
    except OSError as reason:
        raise InputError(
            f"{path} cannot be written: {reason.strerror or reason}. {advice}"
        ) from reason


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading; another kind, which may have no end, is an InputError."""

    def opener(name: str, flags: int) -> int:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            os.close(handle)
            raise InputError(f"{path}: expected a regular file, got {_kind(mode)}")
        return handle

    try:
        return open(path, "rb", opener=opener)
    except FileNotFoundError as reason:
        raise InputError(f"{path} does not exist; check the path") from reason
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror}") from reason


def parse_json(text: str) -> Any:
    """Return the content of JSON text; a ValueError says what is wrong with it.

    >>> parse_json('{"head": 3}')
    {'head': 3}
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as reason:
        raise ValueError("lists or objects are nested too deeply") from reason
    except ValueError as reason:
        raise ValueError("an integer has too many digits") from reason


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


@contextmanager
def _draft(target: Path, *, private: bool) -> Generator[Path]:
    """Yield a new file in the folder of `target`; a lock says that it is in use."""
    # Not from `tempfile`: only their owner may read its files.
    mode = 0o600 if private else 0o666
    while True:
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # another process took the draft for a stale one before it was locked
    if sys.platform == "win32":
        os.close(handle)  # an open file cannot be renamed there
    try:
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink()
        if sys.platform != "win32":
            os.close(handle)


def _remove_stale_drafts(folder: Path) -> None:
    """Remove drafts that killed processes left in a folder: those that nobody holds a lock on."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not _DRAFT.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(OSError), open(entry.path, "rb") as file:  # noqa: PTH123 (an entry, not a Path)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry.path)  # noqa: PTH108
