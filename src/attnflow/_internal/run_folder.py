"""The folder of a run that can be resumed: its lock, and files that are complete or absent."""

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from attnflow._internal.files import atomic_file, check_is_folder
from attnflow.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".lock"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, which replaces an earlier one once all of it is on the disk."""
    with atomic_file(path, advice=resume_advice(path)) as draft, draft.open("wb") as file:
        _ = file.write(content)
        file.flush()
        os.fsync(file.fileno())


def resume_advice(path: Path) -> str:
    """Return what to do if a file of a run cannot be written, for errors."""
    earlier = "The earlier file is unchanged. " if path.exists() else ""
    return f"{earlier}Free space or fix the folder, then run the same again to resume"


def folder_names(folder: Path) -> set[str]:
    """Return the names in a folder but for its lock; none if it does not exist yet."""
    if not os.path.exists(folder):  # noqa: PTH110 (False for a name that is too long)
        parent = next(path for path in folder.absolute().parents if path.exists())
        if not parent.is_dir():
            raise InputError(f"{folder} cannot be a folder: {parent} is a file")
        return set()
    check_is_folder(folder)
    return {path.name for path in folder.iterdir()} - {LOCK}


@contextmanager
def locked_folder(folder: Path, *, run: str) -> Generator[None]:
    """Create a folder and lock it: a second run there is an InputError, which calls it `run`.

    The operating system releases the lock when the process ends, however it ends.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written to: {error.strerror}. Choose another folder"
        ) from error
    with file:
        try:
            _lock(file.fileno())
            # A run that just ended may have removed the file between the two lines above.
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                raise BlockingIOError
        except OSError as error:
            problem = f"{folder} cannot be locked: {error.strerror}. Choose"
            if error.errno in (None, errno.EACCES, errno.EAGAIN, errno.ENOENT):
                problem = f"another {run} is using the folder {folder}. Wait, or choose"
            raise InputError(f"{problem} another folder") from error
        try:
            yield
        finally:
            with suppress(OSError):  # Windows does not remove an open file
                path.unlink()


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
