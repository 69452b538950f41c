"""`load_pronoun_data`: Winogender and WinoBias from the folders that have them."""

from collections.abc import Callable
from pathlib import Path

from attnflow._internal.files import PathLike
from attnflow.errors import InputError
from attnflow.paper.data._schemas import PronounData, names_inside
from attnflow.paper.data._winobias import WINOBIAS_FILES, read_winobias
from attnflow.paper.data._winogender import WINOGENDER_FILE, read_winogender

# The folder of each data set inside another, the files that it is known by, and its reader.
_Reader = Callable[[PathLike], PronounData]
_SETS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "winogender": ((WINOGENDER_FILE,), read_winogender),
    "winobias": (WINOBIAS_FILES, read_winobias),
}


def load_pronoun_data(folder: PathLike) -> tuple[PronounData, ...]:
    """Return Winogender, WinoBias or both.

    Parameters
    ----------
    folder
        The folder of one data set, as for `read_winogender` or `read_winobias`; or a folder with
        the folders winogender and winobias, or one of them.
    """
    folder = Path(folder)
    found = [read(folder) for files, read in _SETS.values() if _has_any(folder, files)]
    if not found:
        inside = {folder / name: read for name, (_, read) in _SETS.items()}
        found = [read(path) for path, read in inside.items() if path.is_dir()]
    if not found:
        raise InputError(
            f"{folder}: expected the folders winogender and winobias, or the files of one of them, "
            f"such as {WINOGENDER_FILE} or {WINOBIAS_FILES[0]}; {names_inside(folder)}"
        )
    return tuple(found)


def _has_any(folder: Path, files: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in files)
