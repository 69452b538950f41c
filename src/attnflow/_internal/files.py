"""Files: names, complete replacement of a file, and opening of regular files only."""

import os
import re
import stat
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias, cast

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
        mode = _mode(target)
        _remove_stale_drafts(target.parent)
        with _draft(target, private=mode is not None) as draft:
            yield draft
            if mode is not None:
                draft.chmod(mode)
            _ = draft.replace(target)
    except OSError as reason:
        raise InputError(
            f"{path} cannot be written: {reason.strerror or reason}. {advice}"
        ) from reason


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading. Devices and pipes, which may have no end, are refused."""

    def opener(name: str, flags: int) -> int:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    file = open(path, "rb", opener=opener)  # noqa: SIM115 (Path.open has no opener)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError("expected a regular file, got a device or a pipe")


def _mode(target: Path) -> int | None:
    """Return the mode of the file to replace, None where there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError("expected a new name or a regular file, got a folder or device")
    return stat.S_IMODE(mode)


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
