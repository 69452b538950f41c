"""Loading of models for commands, with progress and error messages."""

import importlib.util
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from attnflow import models, paper
from attnflow._internal import checks
from attnflow.cli._progress import progress_bar
from attnflow.errors import InputError
from attnflow.models.loading import check_device

# Name of the model that comes with attnflow.
SHIPPED = "verb-number"
_LOADING = "loading the model"
_LOADING_LINE = "loading the model, which is downloaded if it is not in the cache"
# Seconds. Chosen: longer than it takes to import torch and load a model from disk.
_LINE_AFTER = 20.0


def loaded_model(name: str | None, settings: dict[str, Any]) -> models.Loaded:
    """Return a model with a tokenizer; None is the model that comes with attnflow."""
    if name is None or (name == SHIPPED and not Path(name).exists()):
        return _verb_number(None, settings.get("device"))
    if paper.is_verb_number(Path(name)):
        return _verb_number(name, settings.get("device"))
    loaded = models.load(name, **settings)
    if loaded.tokenizer is None:
        raise InputError(
            f"expected a model with a tokenizer, got {name}. For images and audio use "
            "attnflow.models.attend in Python, with the output of the model's processor"
        )
    return loaded


def _verb_number(folder: str | None, device: str | None) -> models.Loaded:
    check_device(device)
    loaded = paper.load(folder)
    if device is not None:
        _ = cast("Any", loaded.model).to(device)
    return loaded


def cached_folder(name: str, organisation: str, *, otherwise: str) -> str:
    """Return the folder of a model that a command takes by default, without network access.

    It is a folder here, or in the cache of the hub. `otherwise` says in the error what else to do.
    """
    if Path(name).is_dir() or importlib.util.find_spec("huggingface_hub") is None:
        return name  # without the hub, a dependency of transformers: loading names what to install
    from huggingface_hub import try_to_load_from_cache

    for known in (name, f"{organisation}/{name}"):
        found = try_to_load_from_cache(known, "config.json")
        if isinstance(found, str):
            return str(Path(found).parent)
    raise InputError(
        f"{name} is neither a folder here nor in the cache of the hub. Download it with "
        f"hf download {organisation}/{name}, or {otherwise}"
    )


def loading(label: str, name: str | None = None) -> AbstractContextManager[checks.Progress]:
    """Return the progress bar of a command that loads the model `name`, None for attnflow's."""
    line = _LOADING_LINE if name is not None else _LOADING
    return progress_bar(label, starting=_LOADING, starting_line=line, line_after=_LINE_AFTER)


@contextmanager
def explain_memory_errors(remedy: str) -> Generator[None]:
    """Raise an InputError if memory runs out; `remedy` is its advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # On the CPU torch raises a RuntimeError that mentions memory.
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        raise InputError(f"there is not enough memory for this text; try {remedy}") from error
