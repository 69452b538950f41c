"""Option values that typer cannot check by itself; a bad one is a usage error (exit code 2)."""

import re
from pathlib import Path

import typer

from attnflow._internal import storage

_SUFFIXES = (".npz", ".safetensors")
# "3" or "0-3". No model has positions of more digits, and a slip must not fill the memory.
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


def wrong(option: str, reason: str) -> typer.BadParameter:
    """The error about an option or argument, its name quoted as typer quotes it."""
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def positions(text: str | None, *, option: str, lowest: int) -> tuple[int, ...] | None:
    """Positions from text such as "1,4-6"; None, for "all of them", where the option is not given.

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
                f"got {text!r}; give whole numbers, as in {lowest},{lowest + 3} or "
                f"{lowest}-{lowest + 3}",
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise wrong(option, f"got {text!r}; a range goes up, as in {last}-{first}")
        numbers += range(first, last + 1)
    if min(numbers) < lowest:
        raise wrong(option, f"got {text!r}; the lowest possible number is {lowest}")
    if len(set(numbers)) < len(numbers):
        raise wrong(option, f"got {text!r}; a number is given twice")
    return tuple(numbers)


def below_one(value: float, *, option: str) -> float:
    """Return a share from 0 up to, but not including, 1 as it is.

    >>> below_one(0.5, option="--residual")
    0.5
    """
    if not 0.0 <= value < 1.0:  # NaN fails here too
        raise wrong(option, f"got {value}; give a number from 0 up to, but not including, 1")
    return value


def number_or_name(value: str | None) -> int | str | None:
    """What a user writes for a class or token: its number, or its name.

    >>> number_or_name("1"), number_or_name("plural")
    (1, 'plural')
    """
    # Of more digits than any number of a class or token has, int() itself may refuse.
    if value is not None and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value


def file_path(path: Path, *, option: str) -> Path:
    """Refuse the dash that means a standard stream elsewhere: these formats need a file."""
    if str(path) == "-":
        raise wrong(
            option, f"a file is wanted, not a stream; its name ends in {' or '.join(_SUFFIXES)}"
        )
    return path


def output_path(path: Path, *, option: str, source: Path | None = None) -> Path:
    """Check, before any work is done, that a result can be written to this path.

    `source` is the file read; writing the result over it would destroy it.
    """
    path = file_path(path, option=option)
    if path.suffix.lower() not in _SUFFIXES:
        raise wrong(option, f"got {str(path)!r}; the name must end in {' or '.join(_SUFFIXES)}")
    storage.check_packages(path)
    check_file(path, option=option, source=source)
    return path


def check_file(path: Path, *, option: str, source: Path | None = None) -> None:
    """Refuse a path that no file can be written to, or that is the file to read."""
    _check_place(path, option=option)
    if path.is_dir():
        raise wrong(option, f"{str(path)!r} is a folder")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise wrong(option, f"{str(path)!r} is the file to read; choose another name")


def _check_place(path: Path, *, option: str) -> None:
    """Refuse a path that nothing can be at."""
    try:
        _ = path.is_dir()
    except OSError as reason:  # a name that is too long
        raise wrong(option, f"it cannot be a path: {reason.strerror}") from reason
    if not path.parent.is_dir():
        raise wrong(option, f"there is no folder {str(path.parent)!r}")


def output_folder(path: Path, *, option: str, suffix: str) -> Path:
    """Make a folder for results with names that end in `suffix`, or take an empty one.

    Files of an earlier run in it would pass for results of this one.
    """
    storage.check_packages(path / f"1.{suffix}")
    _check_place(path, option=option)
    if str(path) == "-" or path.suffix.lower() in _SUFFIXES or path.is_file():
        raise wrong(option, f"got {str(path)!r}; a folder is wanted, for several files")
    if path.is_dir() and any(path.iterdir()):
        raise wrong(option, f"the folder {str(path)!r} is not empty; choose a new or empty one")
    try:
        path.mkdir(exist_ok=True)
    except OSError as reason:
        raise wrong(option, f"the folder {str(path)!r} cannot be made: {reason}") from reason
    return path
