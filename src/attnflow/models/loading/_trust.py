"""What a model asks for that was not allowed: looked at before any of it is loaded.

Weights in a pickle, code that comes with a model and kernels from the hub can do anything when they
are loaded. transformers has switches for them, but a model can get around some: its index or its
configuration may name a pickle where safetensors were asked for.
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
# Where a configuration may name a kernel of the hub, as "organisation/kernel".
_KERNELS = ("attn_implementation", "_attn_implementation", "experts_implementation")


def refuse_adapter(checkpoint: Checkpoint) -> None:
    """Refuse a model that transformers would put together from two places."""
    # Without peft an adapter is not loaded, so the hub need not be asked.
    looked_for = checkpoint.revision is None or importlib.util.find_spec("peft") is not None
    if looked_for and checkpoint.find("adapter_config.json") is not None:
        raise InputError(
            f"{checkpoint.name} holds an adapter (adapter_config.json); merge it into its model "
            "first: load it with peft, then model.merge_and_unload().save_pretrained(…)"
        )


def refuse_code(checkpoint: Checkpoint) -> None:
    """Refuse code that comes with a model or its tokenizer, and kernels from the hub."""
    described = checkpoint.find("tokenizer_config.json")
    tokenizer = {} if described is None else checkpoint.settings_in(described)
    for file, settings in (
        ("config.json", checkpoint.config),
        ("tokenizer_config.json", tokenizer),
    ):
        if "auto_map" in settings:
            raise InputError(
                f"{checkpoint.name} brings code of its own ({file} names it under auto_map), which "
                "can do anything on this machine; read it, and pass remote_code=True if you trust "
                "it. To load the model with the code of transformers, if it has this model, pass a "
                "copy of the folder without auto_map"
            )
    if kernels := sorted(_kernels(checkpoint.config)):
        raise InputError(
            f"{checkpoint.name} asks for code from the hub ({', '.join(kernels)} in config.json); "
            "pass remote_code=True if you trust it, or a copy of the folder without "
            "attn_implementation"
        )


def _kernels(settings: object) -> Iterator[str]:
    """Kernels of the hub that a configuration asks for, at any depth."""
    if not isinstance(settings, dict):
        return
    for key, value in cast("dict[str, Any]", settings).items():
        if key in _KERNELS:
            each: list[Any] = list(
                cast("Any", value).values() if isinstance(value, dict) else [value]
            )
            yield from (str(kernel) for kernel in each if "/" in str(kernel))
        else:
            yield from _kernels(value)


def refuse_pickle(checkpoint: Checkpoint) -> None:
    """Refuse a model whose weights are not safetensors, all of them."""
    named = checkpoint.config.get("transformers_weights")
    for filename in _SAFE if named is None else (str(named),):
        path = checkpoint.find(filename)
        if path is not None:
            files = _files(path, checkpoint)
            if unsafe := sorted(file for file in files if not file.endswith(".safetensors")):
                raise _pickled(checkpoint, unsafe[0])
            return
    for filename in _PICKLED:
        if checkpoint.has(filename):
            raise _pickled(checkpoint, filename)
    files = [each.name for each in checkpoint.folder.iterdir() if each.suffix in _PICKLE_SUFFIXES]
    held = f"; {', '.join(sorted(files))} may be a pickle of another kind" if files else ""
    raise InputError(
        f"{checkpoint.name} has no weights that can be loaded: model.safetensors is wanted{held}. "
        "Save the model with save_pretrained"
    )


def _files(path: Path, checkpoint: Checkpoint) -> list[str]:
    """The files of weights that this one stands for: itself or, of an index, all it names."""
    if not path.name.endswith(".index.json"):
        return [path.name]
    named = checkpoint.settings_in(path).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise InputError(
            f"{path.name} of {checkpoint.name} names no files of weights; save the model again"
        )
    return [str(file) for file in cast("dict[str, Any]", named).values()]


def _pickled(checkpoint: Checkpoint, filename: str) -> InputError:
    return InputError(
        f"{checkpoint.name} holds its weights as a pickle ({filename}), and a pickle can run any "
        "code when it is loaded; pass allow_pickle=True if you trust where it came from, or a copy "
        "saved as safetensors"
    )
