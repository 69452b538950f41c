"""The files of a training run: which there may be, and how they are written."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from attnflow._internal import storage
from attnflow.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTS, CONFIG, WORDS, CARD = "model.safetensors", "config.json", "vocabulary.json", "README.md"
MODEL_FILES = (WEIGHTS, CONFIG, WORDS, CARD)
CHECKPOINT = "checkpoint.safetensors"  # only for resuming
_DRAFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{32}\.part")


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, which takes the place of an earlier one once all of it is on the disk."""
    earlier = "The earlier one is still there, whole" if path.exists() else "There is none yet"
    advice = f"{earlier}. Make room or mend the folder, then run the same again: it goes on at the "
    with (
        storage.atomic_file(path, advice=f"{advice}last whole epoch") as draft,
        draft.open("wb") as file,
    ):
        _ = file.write(content)
        file.flush()
        os.fsync(file.fileno())


def check_folder(folder: Path) -> bool:
    """Whether a run can be resumed in a folder; False for a new or empty one.

    Nothing is touched. What is neither empty nor a run of ours is an InputError.
    """
    if not os.path.exists(folder):  # noqa: PTH110 (False for a name that is too long)
        parent = next(each for each in folder.absolute().parents if each.exists())
        if not parent.is_dir():
            raise InputError(f"{folder} cannot be a folder: {parent} is a file")
        return False
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; a folder is wanted")
    inside = {path.name for path in folder.iterdir() if not _is_draft(path.name)}
    if CHECKPOINT in inside:
        inside -= {CHECKPOINT, *MODEL_FILES}
    if not inside:
        return (folder / CHECKPOINT).exists()
    shown = ", ".join(sorted(inside)[:5]) + (", …" if len(inside) > 5 else "")
    raise InputError(
        f"the folder {folder} holds what is not of a training run to go on with: {shown}. "
        "Choose a new or empty one"
    )


def remove_drafts(folder: Path) -> None:
    """Remove what a killed run left half written."""
    for path in folder.iterdir():
        if _is_draft(path.name):
            path.unlink(missing_ok=True)


def _is_draft(name: str) -> bool:
    match = _DRAFT.fullmatch(name)
    return match is not None and match["name"] in {CHECKPOINT, *MODEL_FILES}
