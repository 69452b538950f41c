"""A model in a folder or on the hub: where it is, and what its config.json says."""

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
_LONGEST = 300  # characters of another package's message; chosen: some print whole lists
_SHOWN = 40  # characters of a name that cannot be one; chosen by eye


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a model; none but config.json is read yet.

    `revision` is the state of a model on the hub, None for a folder. With it, what is looked at is
    what is loaded, and files in the cache are found without a question to the hub.
    """

    name: str  # the folder or id, as transformers takes it
    config: dict[str, Any]  # what config.json says
    folder: Path  # where the files are, those of the hub in the cache
    revision: str | None

    def find(self, filename: str) -> Path | None:
        """Where a file is, fetched from the hub if it must be; None where there is no such file."""
        from transformers.utils.hub import cached_file

        try:
            path = cached_file(self.name, filename, revision=self.revision)
        except OSError:
            return None
        return None if path is None else Path(path)

    def has(self, filename: str) -> bool:
        """Whether there is such a file; nothing is fetched."""
        from transformers.utils.hub import has_file

        with explained(self.name, "the list of files"):
            return bool(has_file(self.name, filename, revision=self.revision))

    def settings_in(self, path: Path) -> dict[str, Any]:
        """What a file in JSON says."""
        try:
            content: object = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as reason:
            raise InputError(
                f"{path.name} of {self.name} is not readable JSON: {_said(reason)}"
            ) from reason
        return _settings(content, path.name, self.name)


def found(name_or_folder: str | os.PathLike[str]) -> Checkpoint:
    """Find a model: a folder with config.json or, where there is no such folder, an id."""
    from transformers import PreTrainedConfig
    from transformers.utils.hub import cached_file

    name = _checked_name(name_or_folder)
    try:
        folder = Path(str(cached_file(name, "config.json"))).parent
        # The hub keeps the files of each state in a folder of that name.
        kept = folder.parent.name == "snapshots" and not Path(name).is_dir()
        revision = folder.name if kept else None
        config = cast("object", PreTrainedConfig.get_config_dict(name, revision=revision)[0])
    except Exception as reason:  # see `explained`
        advice = "; give a folder, or the id of a model that is on the hub or in its cache"
        raise InputError(
            f"{name} cannot be loaded: {_said(reason).rstrip('.')}"
            f"{'' if Path(name).is_dir() else advice}"
        ) from reason
    return Checkpoint(name, _settings(config, "config.json", name), folder, revision)


@contextlib.contextmanager
def explained(name: str, part: str) -> Generator[None]:
    """Say in one sentence why a part of a model cannot be loaded, whatever the reason."""
    try:
        yield
    except AttnflowError:
        raise
    except ImportError as reason:
        raise MissingDependencyError(
            f"{part} of {name} needs a package that is not installed: {_said(reason)}"
        ) from reason
    except pickle.UnpicklingError as reason:
        raise InputError(
            f"{part} of {name} cannot be loaded: the pickle is broken, or holds more than weights, "
            "which is never loaded"
        ) from reason
    # Whatever a broken folder makes transformers do: OSError, errors of safetensors, of checked
    # configurations, KeyError, and more.
    except Exception as reason:
        raise InputError(f"{part} of {name} cannot be loaded: {_said(reason)}") from reason


def _said(reason: Exception) -> str:
    """The first sentence of a message."""
    text = " ".join(str(reason).split()) or type(reason).__name__
    first = _SENTENCE.split(text)[0]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"


def _settings(content: object, filename: str, name: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{filename} of {name} holds no settings; save the model again")
    return cast("dict[str, Any]", content)


def _checked_name(name_or_folder: object) -> str:
    if not isinstance(name_or_folder, str | os.PathLike):
        raise InputError(
            f"the model is given as {type(name_or_folder).__name__}; the id of a model or the path "
            "of its folder is wanted"
        )
    name = os.fspath(cast("str | os.PathLike[str]", name_or_folder))
    if not name:
        raise InputError("the model has an empty name; its id or the path of its folder is wanted")
    path = Path(name)
    try:
        is_file = path.is_file()
    except OSError as reason:  # a text in the place of the model, most likely
        raise InputError(
            f"{name[:_SHOWN]!r}… is no id of a model and no folder: {reason.strerror}"
        ) from reason
    if is_file:
        raise InputError(
            f"{name} is a file; pass the folder that holds it, with config.json beside the weights"
        )
    if path.is_dir():
        if not (path / "config.json").is_file():
            inside = sorted(each.name for each in path.iterdir())
            shown = ", ".join(inside[:8]) + (", …" if len(inside) > 8 else "")
            raise InputError(
                f"the folder {name} has no config.json, so it is no model that transformers knows; "
                f"it holds {shown or 'nothing'}. Pass a folder that save_pretrained wrote"
            )
    elif isinstance(name_or_folder, os.PathLike) or _is_path(name):
        raise InputError(f"there is no folder {name!r}; check the path")
    return name


def _is_path(name: str) -> bool:
    """Whether a name cannot be the id of a model, which is `model` or `organisation/model`."""
    return name.startswith((".", "~", "/")) or name.endswith("/") or name.count("/") > 1
