"""Loading of models for commands, with progress and error messages."""

import dataclasses
import importlib.util
import os
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from attnflow import models, paper
from attnflow._internal import checks
from attnflow._internal.files import parse_json
from attnflow.cli._options import wrong
from attnflow.cli._progress import progress_bar
from attnflow.edges import BlockLayout
from attnflow.errors import InputError, NoPredictionError
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


def read_layout(path: Path | None, edges: Iterable[str]) -> BlockLayout | None:
    """Return the layout of blocks in the JSON file of `--layout`; None without the option."""
    if path is None:
        return None
    if set(edges) <= {"attention", "gradient"}:
        raise wrong(
            "--layout",
            f"has no meaning with --edges {','.join(edges)}, which needs no parts of blocks",
        )
    try:
        given = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as reason:
        raise wrong("--layout", f"{str(path)!r} cannot be read: {reason}") from reason
    known = {
        field.name: field.default is dataclasses.MISSING
        for field in dataclasses.fields(BlockLayout)
    }
    required = {name for name, is_required in known.items() if is_required}
    if not isinstance(given, dict) or not required <= {*given} <= {*known}:
        raise wrong(
            "--layout",
            f"{str(path)!r}: expected a JSON object with {', '.join(known)}, of which "
            f"{', '.join(sorted(required))} are required, got {given!r}",
        )
    try:
        return BlockLayout(**cast("dict[str, Any]", given))
    except InputError as reason:
        raise wrong("--layout", str(reason)) from reason


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
    """Return the progress bar of a command that loads the model `name`, None for attnflow's.

    Only an id of the hub may be downloaded: no folder, no file and not the model of attnflow.
    """
    # Unlike Path.exists, this is false for a name that is too long for a path.
    local = name is None or name == SHIPPED or os.path.exists(name)  # noqa: PTH110
    line = _LOADING if local else _LOADING_LINE
    return progress_bar(label, starting=_LOADING, starting_line=line, line_after=_LINE_AFTER)


@contextmanager
def explain_missing_head() -> Generator[None]:
    """Name the commands that take a model without a head, in the error about its missing logits."""
    try:
        yield
    except NoPredictionError as error:
        raise NoPredictionError(
            "this model makes no prediction that could be explained; attnflow view shows its "
            f"attention, and attnflow attend writes it to a file. {error}"
        ) from error


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
