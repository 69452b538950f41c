"""Checkpoints: the files and config.json of a model in a folder or on the hub."""

import contextlib
import json
import os
import pickle
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from attnflow.errors import AttnflowError, InputError, MissingDependencyError

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"])")
_LONGEST = 300  # characters of another package's message; chosen: some print long lists
_SHOWN = 40  # characters of an invalid name in a message; chosen


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a model, of which only config.json has been read.

    `revision` is the commit of a model on the hub, None for a folder. It makes sure that the files
    that were checked are the files that are loaded, and avoids requests for cached files.
    """

    name: str  # the folder or model id
    config: dict[str, Any]  # the content of config.json
    folder: Path  # the folder with the files, in the cache for models on the hub
    revision: str | None

    def find(self, filename: str) -> Path | None:
        """Return the path of a file, downloaded if needed; None if it does not exist."""
        from transformers.utils.hub import cached_file

        try:
            path = cached_file(self.name, filename, revision=self.revision)
        except OSError:
            return None
        return None if path is None else Path(path)

    def has(self, filename: str) -> bool:
        """Return whether a file exists, without a download."""
        from transformers.utils.hub import has_file

        with explain_loading(self.name, "the list of files"):
            return bool(has_file(self.name, filename, revision=self.revision))

    def read_json(self, path: Path) -> dict[str, Any]:
        """Return the content of a JSON file."""
        try:
            content: object = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as reason:
            raise InputError(
                f"{path.name} of {self.name} is not valid JSON: {_first_sentence(reason)}"
            ) from reason
        return _as_dict(content, path.name, self.name)


def find_checkpoint(name_or_folder: str | os.PathLike[str]) -> Checkpoint:
    """Return the checkpoint in a folder with config.json or, if there is no folder, on the hub."""
    from transformers import PreTrainedConfig
    from transformers.utils.hub import cached_file

    name = _checked_name(name_or_folder)
    try:
        folder = Path(str(cached_file(name, "config.json"))).parent
        # The cache has the files of each commit in snapshots/<commit>.
        cached = folder.parent.name == "snapshots" and not Path(name).is_dir()
        revision = folder.name if cached else None
        config = cast("object", PreTrainedConfig.get_config_dict(name, revision=revision)[0])
    except Exception as reason:  # see `explain_loading`
        advice = ". Pass a folder, or the id of a model that is on the hub or in its cache"
        raise InputError(
            f"{name} cannot be loaded: {_first_sentence(reason).rstrip('.')}"
            f"{'' if Path(name).is_dir() else advice}"
        ) from reason
    return Checkpoint(name, _as_dict(config, "config.json", name), folder, revision)


@contextlib.contextmanager
def explain_loading(name: str, part: str) -> Generator[None]:
    """Raise any error about a part of a model as an error of attnflow, in one sentence."""
    try:
        yield
    except AttnflowError:
        raise
    except ImportError as reason:
        raise MissingDependencyError(
            f"{part} of {name} needs a package that is not installed: {_first_sentence(reason)}"
        ) from reason
    except pickle.UnpicklingError as reason:
        raise InputError(
            f"{part} of {name} cannot be loaded: the pickle is invalid, or contains more than "
            "tensors, which is never loaded"
        ) from reason
    # For a broken folder, transformers raises OSError, SafetensorError, KeyError and others.
    except Exception as reason:
        raise InputError(
            f"{part} of {name} cannot be loaded: {_first_sentence(reason)}"
        ) from reason


def _first_sentence(reason: Exception) -> str:
    text = " ".join(str(reason).split()) or type(reason).__name__
    first = _SENTENCE.split(text)[0]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"


def _as_dict(content: object, filename: str, name: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InputError(
            f"{filename} of {name}: expected a JSON object, got {type(content).__name__}. Save "
            "the model again"
        )
    return cast("dict[str, Any]", content)


def _checked_name(name_or_folder: object) -> str:
    if not isinstance(name_or_folder, str | os.PathLike):
        raise InputError(
            "expected the id of a model or the path of its folder, got "
            f"{type(name_or_folder).__name__}"
        )
    name = os.fspath(cast("str | os.PathLike[str]", name_or_folder))
    if not name:
        raise InputError("expected the id of a model or the path of its folder, got ''")
    path = Path(name)
    try:
        is_file = path.is_file()
    except OSError as reason:  # most likely a text
        raise InputError(
            "expected the id of a model or the path of its folder, got "
            f"{name[:_SHOWN]!r}…: {reason.strerror}"
        ) from reason
    if is_file:
        raise InputError(
            f"expected a folder with config.json and weights, got the file {name}. Pass its folder"
        )
    if path.is_dir():
        if not (path / "config.json").is_file():
            inside = sorted(file.name for file in path.iterdir())
            shown = ", ".join(inside[:8]) + (", …" if len(inside) > 8 else "")
            raise InputError(
                f"expected config.json in the folder {name}, got {shown or 'no files'}. Pass a "
                "folder that save_pretrained wrote"
            )
    elif isinstance(name_or_folder, os.PathLike) or _is_path(name):
        raise InputError(f"there is no folder {name!r}. Check the path")
    return name


def _is_path(name: str) -> bool:
    """Return whether a name cannot be a model id, which is `model` or `organisation/model`."""
    return name.startswith((".", "~", "/")) or name.endswith("/") or name.count("/") > 1
