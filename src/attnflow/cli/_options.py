"""Option values that typer cannot check by itself; a bad one is a usage error (exit code 2)."""

import re
import tempfile
from pathlib import Path
from typing import Any

import typer

from attnflow._internal import storage

_SUFFIXES = (".npz", ".safetensors")
# "3" or "0-3". The digits are limited so that a typing error cannot fill the memory.
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


def wrong(option: str, reason: str) -> typer.BadParameter:
    """Return the error about an option or argument, with its name quoted as by typer."""
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def positions(text: str | None, *, option: str, lowest: int) -> tuple[int, ...] | None:
    """Return the positions in a text such as "1,4-6"; None, for all, without the option.

    >>> positions("1,4-6", option="--layers", lowest=1)
    (1, 4, 5, 6)
    """
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise wrong(
                option,
                f"expected integers such as {lowest},{lowest + 3} or {lowest}-{lowest + 3}, got "
                f"{text!r}",
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise wrong(option, f"expected an ascending range such as {last}-{first}, got {text!r}")
        numbers += range(first, last + 1)
    if min(numbers) < lowest:
        raise wrong(option, f"expected numbers of at least {lowest}, got {text!r}")
    if len(set(numbers)) < len(numbers):
        raise wrong(option, f"expected distinct numbers, got {text!r}")
    return tuple(numbers)


def names(text: str, *, option: str) -> tuple[Any, ...]:
    """Return the names in a text such as "raw,flow"; the caller checks that there are such.

    >>> names("raw, flow", option="--methods")
    ('raw', 'flow')
    """
    found = tuple(name.strip() for name in text.split(","))
    if len(set(found)) < len(found):
        raise wrong(option, f"expected distinct names, got {text!r}")
    return found


def below_one(value: float, *, option: str) -> float:
    """Return a number in [0, 1), or raise an error about the option.

    >>> below_one(0.5, option="--residual")
    0.5
    """
    if not 0.0 <= value < 1.0:  # NaN fails here too
        raise wrong(option, f"expected a number of at least 0 and below 1, got {value}")
    return value


def number_or_name(value: str | None) -> int | str | None:
    """Return a class or token as an integer if it is a number, else as its name.

    >>> number_or_name("1"), number_or_name("plural")
    (1, 'plural')
    """
    # int() raises an error for very many digits.
    if value is not None and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value


def file_path(path: Path, *, option: str) -> Path:
    """Reject the dash for a standard stream, since these formats need a file."""
    if str(path) == "-":
        raise wrong(
            option, f"expected a file whose name ends in {' or '.join(_SUFFIXES)}, got a stream"
        )
    return path


def output_path(path: Path, *, option: str, source: Path | None = None) -> Path:
    """Check, before any work is done, that a result can be written to this path.

    `source` is the file read; writing the result over it would destroy it.
    """
    path = file_path(path, option=option)
    if path.suffix.lower() not in _SUFFIXES:
        raise wrong(
            option, f"expected a name that ends in {' or '.join(_SUFFIXES)}, got {str(path)!r}"
        )
    storage.check_packages(path)
    check_file(path, option=option, source=source)
    return path


def check_file(path: Path, *, option: str, source: Path | None = None) -> None:
    """Reject a path that no file can be written to, or that is the file to read."""
    check_place(path, option=option)
    if path.is_dir():
        raise wrong(option, f"expected a file, got the folder {str(path)!r}")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise wrong(option, f"{str(path)!r} is the file to read. Choose another name")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()  # permissions alone do not tell
    except OSError as reason:
        raise wrong(
            option,
            f"no file can be written to the folder {str(path.parent)!r}: {reason.strerror}",
        ) from reason


def check_place(path: Path, *, option: str) -> None:
    """Reject a path in a folder that does not exist, or with a name that is too long."""
    try:
        _ = path.is_dir()
    except OSError as reason:  # a name that is too long
        raise wrong(option, f"cannot be a path: {reason.strerror}") from reason
    if not path.parent.is_dir():
        raise wrong(option, f"the folder {str(path.parent)!r} does not exist")


def output_folder(path: Path, *, option: str, suffix: str) -> Path:
    """Create the folder for results with names that end in `suffix`; an existing one is empty."""
    storage.check_packages(path / f"1.{suffix}")
    check_place(path, option=option)
    if str(path) == "-" or path.suffix.lower() in _SUFFIXES or path.is_file():
        raise wrong(option, f"expected a folder for several files, got {str(path)!r}")
    if path.is_dir() and any(path.iterdir()):
        raise wrong(option, f"the folder {str(path)!r} is not empty. Choose a new or empty one")
    try:
        path.mkdir(exist_ok=True)
    except OSError as reason:
        raise wrong(option, f"the folder {str(path)!r} cannot be created: {reason}") from reason
    return path
