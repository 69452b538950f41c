"""Option values that typer cannot check by itself; a bad one is a usage error (exit code 2)."""

from pathlib import Path

import typer

_SUFFIXES = (".npz", ".safetensors")


def positions(text: str | None, *, option: str, lowest: int) -> tuple[int, ...] | None:
    """Positions from text such as "1,6"; None, for "all of them", where the option is not given.

    >>> positions("1,6", option="--layers", lowest=1)
    (1, 6)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    # isdecimal alone would let other scripts' digits through
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise typer.BadParameter(
            f"got {text!r}; give whole numbers separated by commas, as in 1,6", param_hint=option
        )
    numbers = tuple(int(part) for part in parts)
    if min(numbers) < lowest:
        raise typer.BadParameter(
            f"got {text!r}; the lowest possible number is {lowest}", param_hint=option
        )
    if len(set(numbers)) < len(numbers):
        raise typer.BadParameter(f"got {text!r}; a number is given twice", param_hint=option)
    return numbers


def below_one(value: float, *, option: str) -> float:
    """Return a share from 0 up to, but not including, 1 as it is.

    >>> below_one(0.5, option="--residual")
    0.5
    """
    if not 0.0 <= value < 1.0:  # NaN fails here too
        raise typer.BadParameter(
            f"got {value}; give a number from 0 up to, but not including, 1", param_hint=option
        )
    return value


def output_path(path: Path, *, option: str, source: Path | None = None) -> Path:
    """Check, before any work is done, that a result can be written to this path.

    `source` is the file read; writing the result over it would destroy it.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(
            f"got {str(path)!r}; the name must end in {' or '.join(_SUFFIXES)}", param_hint=option
        )
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(path.parent)!r}", param_hint=option)
    if path.is_dir():
        raise typer.BadParameter(f"{str(path)!r} is a folder", param_hint=option)
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise typer.BadParameter(
            f"{str(path)!r} is the file to read; choose another name", param_hint=option
        )
    return path
