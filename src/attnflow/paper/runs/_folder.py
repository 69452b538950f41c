"""The folder of a training run: its files and its lock."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path

from attnflow._internal import run_folder
from attnflow._internal.display import first_names
from attnflow.errors import InputError

CARD = "README.md"
CHECKPOINT = "checkpoint.safetensors"  # only for resuming


def check_folder(folder: Path, files: Collection[str], *, inner: str | None = None) -> None:
    """Raise an InputError unless a folder is new, empty or of a training run.

    `files` are the names of what a run writes besides its card and its checkpoint; `inner` is the
    name of the folder of another run inside.
    """
    own = {*files, CARD, CHECKPOINT}
    names = {name for name in run_folder.folder_names(folder) if not _is_draft(name, own)}
    if inner in names and (folder / inner / CHECKPOINT).exists():
        names -= {inner}
    if CHECKPOINT in names:
        names -= own
    if names:
        raise InputError(
            f"the folder {folder} is not empty and not a training run to resume: it contains "
            f"{first_names(sorted(names))}. Choose a new or empty folder"
        )


def locked_folder(folder: Path) -> AbstractContextManager[None]:
    """Create a folder and lock it: a second training run there is an InputError."""
    return run_folder.locked_folder(folder, run="training run")


def _is_draft(name: str, files: Collection[str]) -> bool:
    """Whether a killed run left this file; `atomic_file` removes it."""
    return name.endswith(".part") and any(name.startswith(f".{file}.") for file in files)
