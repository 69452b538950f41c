"""Rejection of pickles, code and kernels before anything is loaded.

All three can run any code when they are loaded. transformers has options against them, but some
can be bypassed: an index or config may name a pickle even with use_safetensors=True.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from attnflow.errors import InputError
from attnflow.models.loading._checkpoint import Checkpoint

_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
# Config fields that may name a kernel on the hub, as "organisation/kernel".
_KERNEL_FIELDS = ("attn_implementation", "_attn_implementation", "experts_implementation")


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
