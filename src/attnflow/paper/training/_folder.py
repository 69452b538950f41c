"""The folder of a training run: its files, its lock, and replacing a file."""

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from attnflow._internal.files import atomic_file, check_is_folder
from attnflow.errors import InputError
from attnflow.paper.model import CONFIG, WEIGHTS, WORDS

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

CARD = "README.md"
CHECKPOINT = "checkpoint.safetensors"  # only for resuming
TEACHER = "teacher"  # the folder of a teacher that was trained for this run
_LOCK = ".lock"
_FILES = {WEIGHTS, CONFIG, WORDS, CARD, CHECKPOINT}


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, which replaces an earlier one once all of it is on the disk."""
    earlier = "The earlier file is unchanged. " if path.exists() else ""
    advice = f"{earlier}Free space or fix the folder, then run the same again to resume"
    with atomic_file(path, advice=advice) as draft, draft.open("wb") as file:
        _ = file.write(content)
        file.flush()
        os.fsync(file.fileno())


def check_folder(folder: Path) -> None:
    """Raise an InputError unless a folder is new, empty or of a training run."""
    if not os.path.exists(folder):  # noqa: PTH110 (False for a name that is too long)
        parent = next(path for path in folder.absolute().parents if path.exists())
        if not parent.is_dir():
            raise InputError(f"{folder} cannot be a folder: {parent} is a file")
        return
    check_is_folder(folder)
    names = {path.name for path in folder.iterdir() if not _is_draft(path.name)} - {_LOCK}
    if (folder / TEACHER / CHECKPOINT).exists():
        names -= {TEACHER}
    if CHECKPOINT in names:
        names -= _FILES
    if names:
        shown = ", ".join(sorted(names)[:5]) + (", …" if len(names) > 5 else "")
        raise InputError(
            f"the folder {folder} is not empty and not a training run to resume: it contains "
            f"{shown}. Choose a new or empty folder"
        )


@contextmanager
def locked_folder(folder: Path) -> Generator[None]:
    """Create a folder and lock it: a second run there is an InputError.

    The operating system releases the lock when the process ends, however it ends.
    """
    path = folder / _LOCK
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
                problem = f"another training run is using the folder {folder}. Wait, or choose"
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


def _is_draft(name: str) -> bool:
    """Whether a killed run left this file; `atomic_file` removes it."""
    return name.endswith(".part") and any(name.startswith(f".{file}.") for file in _FILES)
