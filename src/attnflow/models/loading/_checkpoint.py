"""Checkpoints: the files of a model; pickles, code and kernels are rejected before they are loaded.

All three can run any code when they are loaded. transformers has options against them, but some
can be bypassed: an index or config may name a pickle even with use_safetensors=True.
"""

import contextlib
import importlib.util
import os
import pickle
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from attnflow._internal.display import first_names
from attnflow._internal.files import parse_json
from attnflow.errors import AttnflowError, InputError, MissingDependencyError

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"])")
_LONGEST = 300  # characters of another package's message; chosen: some print long lists
_SHOWN = 40  # characters of an invalid name in a message; chosen
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
# Config fields that may name a kernel on the hub, as "organisation/kernel".
_KERNEL_FIELDS = ("attn_implementation", "_attn_implementation", "experts_implementation")

_ADVICE = ". Pass a folder, or the id of a model that is on the hub or in its cache"


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
            content: object = parse_json(path.read_text("utf-8"))
        except (OSError, ValueError) as reason:
            raise InputError(
                f"{path.name} of {self.name} is not valid JSON: {_first_sentence(reason)}"
            ) from reason
        return _as_dict(content, path.name, self.name)


def find_checkpoint(name_or_folder: str | os.PathLike[str]) -> Checkpoint:
    """Return the checkpoint in a folder with config.json or, if there is no folder, on the hub."""
    name = checked_name(name_or_folder)
    from transformers import PreTrainedConfig
    from transformers.utils.hub import cached_file

    try:
        folder = Path(str(cached_file(name, "config.json"))).parent
        # The cache has the files of each commit in snapshots/<commit>.
        cached = folder.parent.name == "snapshots" and not Path(name).is_dir()
        revision = folder.name if cached else None
        config = cast("object", PreTrainedConfig.get_config_dict(name, revision=revision)[0])
    except Exception as reason:  # see `explain_loading`
        raise InputError(
            f"{name} cannot be loaded: {_first_sentence(reason).rstrip('.')}"
            f"{'' if Path(name).is_dir() else _ADVICE}"
        ) from reason
    return Checkpoint(name, _as_dict(config, "config.json", name), folder, revision)


def check_id(name: str) -> None:
    """Reject a name that is no folder, unless it is in the cache of the hub or the hub has it.

    One request without repetition, and none for a cached model: torch and transformers need not be
    imported for this answer.
    """
    if Path(name).is_dir():
        return
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            _ = get_hf_file_metadata(hf_hub_url(name, "config.json"))
    except RepositoryNotFoundError:
        problem = "it is no folder here, and the hub has no such model or does not show it to you"
    except HfHubHTTPError:
        return  # as for a model without this file; transformers says what is missing
    except ValueError as reason:  # no id
        problem = _first_sentence(reason).rstrip(".")
    except Exception as reason:  # noqa: BLE001 - of the HTTP client, which the hub may change
        problem = (
            "it is neither a folder here nor in the cache of the hub, and the hub does not answer: "
            f"{_first_sentence(reason).rstrip('.')}"
        )
    else:
        return
    raise InputError(f"{name} cannot be loaded: {problem}{_ADVICE}")


def refuse_adapter(checkpoint: Checkpoint) -> None:
    """Reject an adapter, whose base model transformers would load from elsewhere."""
    # Without peft no adapter is loaded, which saves a request to the hub.
    possible = checkpoint.revision is None or importlib.util.find_spec("peft") is not None
    if possible and checkpoint.find("adapter_config.json") is not None:
        raise InputError(
            f"{checkpoint.name} is an adapter (adapter_config.json). Merge it into its model "
            "first: load it with peft, then model.merge_and_unload().save_pretrained(…)"
        )


def refuse_code(checkpoint: Checkpoint) -> None:
    """Reject code that comes with a model or its tokenizer, and kernels from the hub."""
    path = checkpoint.find("tokenizer_config.json")
    tokenizer = {} if path is None else checkpoint.read_json(path)
    for file, settings in (
        ("config.json", checkpoint.config),
        ("tokenizer_config.json", tokenizer),
    ):
        if "auto_map" in settings:
            raise InputError(
                f"{checkpoint.name} comes with code (auto_map in {file}), which can do anything on "
                "this machine. Read it, and pass remote_code=True if you trust it. To load the "
                "model with the code of transformers, if it has this model, pass a copy of the "
                "folder without auto_map"
            )
    if kernels := sorted(_kernels(checkpoint.config)):
        raise InputError(
            f"{checkpoint.name} uses code from the hub ({', '.join(kernels)} in config.json). Pass "
            "remote_code=True if you trust it, or a copy of the folder without attn_implementation"
        )


def _kernels(settings: object) -> Iterator[str]:
    """Yield the kernels on the hub that a config names, at any depth."""
    if not isinstance(settings, dict):
        return
    for key, value in cast("dict[str, Any]", settings).items():
        if key in _KERNEL_FIELDS:
            names: list[Any] = list(
                cast("Any", value).values() if isinstance(value, dict) else [value]
            )
            yield from (str(kernel) for kernel in names if "/" in str(kernel))
        else:
            yield from _kernels(value)


def refuse_pickle(checkpoint: Checkpoint) -> None:
    """Reject a model unless all of its weights are safetensors."""
    named = checkpoint.config.get("transformers_weights")
    for filename in _SAFE if named is None else (str(named),):
        path = checkpoint.find(filename)
        if path is not None:
            files = _weight_files(path, checkpoint)
            if unsafe := sorted(file for file in files if not file.endswith(".safetensors")):
                raise _pickled(checkpoint, unsafe[0])
            return
    for filename in _PICKLED:
        if checkpoint.has(filename):
            raise _pickled(checkpoint, filename)
    files = [file.name for file in checkpoint.folder.iterdir() if file.suffix in _PICKLE_SUFFIXES]
    other = f", got {', '.join(sorted(files))}, perhaps another kind of pickle" if files else ""
    raise InputError(
        f"{checkpoint.name} has no weights that can be loaded: expected model.safetensors{other}. "
        "Save the model with save_pretrained"
    )


def _weight_files(path: Path, checkpoint: Checkpoint) -> list[str]:
    """Return the name of a file of weights or, for an index, all that it lists."""
    if not path.name.endswith(".index.json"):
        return [path.name]
    named = checkpoint.read_json(path).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise InputError(
            f"{path.name} of {checkpoint.name} lists no files of weights. Save the model again"
        )
    return [str(file) for file in cast("dict[str, Any]", named).values()]


def _pickled(checkpoint: Checkpoint, filename: str) -> InputError:
    return InputError(
        f"{checkpoint.name} has its weights in a pickle ({filename}), which can run any code when "
        "it is loaded. Pass allow_pickle=True if you trust its source, or a copy saved as "
        "safetensors"
    )


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


def checked_name(name_or_folder: object) -> str:
    """Return the path of a folder with a model, or a model id; rejects what can be neither."""
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
            raise InputError(
                f"expected config.json in the folder {name}, got "
                f"{first_names(inside) or 'no files'}. Pass a folder that save_pretrained wrote"
            )
    elif isinstance(name_or_folder, os.PathLike) or _is_path(name):
        raise InputError(f"there is no folder {name!r}. Check the path")
    return name


def _is_path(name: str) -> bool:
    """Return whether a name cannot be a model id, which is `model` or `organisation/model`."""
    return name.startswith((".", "~", "/")) or name.endswith("/") or name.count("/") > 1
