"""Models that a command runs: loading them, and what a user reads meanwhile and in errors."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from attnflow import models, paper
from attnflow._internal import checks
from attnflow.cli._progress import progress_bar
from attnflow.errors import AttnflowError, InputError

# What the model that comes with attnflow is called.
SHIPPED = "verb-number"
# What the library calls the settings that users of the command know as options.
_OPTIONS = {
    "allow_pickle=True": "--allow-pickle",
    "remote_code=True": "--remote-code",
    "truncate=True": "--truncate",
}
_LOADING = "loading the model"
_LOADING_LINE = "loading the model; one that is not in the cache yet comes over the network"
# Seconds. Chosen: torch and a model on disk take some of them, which is not worth a line in a log.
_LINE_AFTER = 20.0


def loaded_model(name: str | None, settings: dict[str, Any]) -> models.Loaded:
    """The model of this name or folder, which must read text; None or its name: the shipped one."""
    if name is None or (name == SHIPPED and not Path(name).exists()):
        return paper.load()
    if paper.is_verb_number(Path(name)):
        return paper.load(name)
    loaded = models.load(name, **settings)
    if loaded.tokenizer is None:
        raise InputError(
            f"{name} has no tokenizer, so it reads no text. For images and sound use "
            "attnflow.models.attend in Python, with what the model's processor gives"
        )
    return loaded


def loading(label: str, name: str | None = None) -> AbstractContextManager[checks.Progress]:
    """The progress bar of work that begins with loading a model; not ours has a name."""
    line = _LOADING_LINE if name is not None else _LOADING
    return progress_bar(label, starting=_LOADING, starting_line=line, line_after=_LINE_AFTER)


@contextmanager
def naming_options(remedy: str) -> Generator[None]:
    """Word the advice in errors as options of the command; `remedy` is what saves memory."""
    try:
        yield
    except AttnflowError as error:
        message = str(error)
        for setting, option in _OPTIONS.items():
            message = message.replace(setting, option)
        raise type(error)(message) from error
    except (MemoryError, RuntimeError) as error:
        # torch has no type for it on the CPU; these are its words, there and on other devices.
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        raise InputError(f"there is not enough memory for this text; try {remedy}") from error
