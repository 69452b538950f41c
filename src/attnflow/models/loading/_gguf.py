"""GGUF: one file with the weights, the configuration and the tokenizer of a language model."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnflow._internal.display import first_names
from attnflow.errors import InputError, MissingDependencyError
from attnflow.models.loading._checkpoint import explain_loading

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# What transformers needs to read the file.
_PACKAGES = ("gguf", "accelerate")


def find_gguf(name_or_folder: str | os.PathLike[str]) -> Path | None:
    """Return the GGUF file of a path: itself, or the only one in a folder without config.json."""
    try:
        path = Path(name_or_folder)
        if path.suffix.lower() == ".gguf" and path.is_file():
            return path
        if not path.is_dir() or (path / "config.json").exists():
            return None
    except (OSError, TypeError):  # not a path; `find_checkpoint` says so
        return None
    try:
        files = sorted(file for file in path.iterdir() if file.suffix.lower() == ".gguf")
    except OSError as reason:
        raise InputError(
            f"the folder {path} cannot be read: {reason.strerror or reason}"
        ) from reason
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InputError(f"{path} has {len(files)} GGUF files: {names}. Pass the path of one")
    return files[0] if files else None


def load_gguf(path: Path) -> tuple[PreTrainedModel, Any]:
    """Return the decoder and the tokenizer of a GGUF file, with weights in float32.

    The file has tensors and settings only, so loading it runs no code; nor is code beside it run.
    """
    import transformers as hf

    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f"GGUF files need {package}, which is not installed; run pip install "
                f"{' '.join(_PACKAGES)}"
            )
    settings: dict[str, Any] = {
        "gguf_file": path.name,
        "local_files_only": True,
        "trust_remote_code": False,
    }
    auto: Any = hf.AutoModelForCausalLM
    # Its progress bar is not among those that transformers can switch off.
    with _explain_damage(path), redirect_stderr(io.StringIO()):
        model, report = auto.from_pretrained(path.parent, **settings, output_loading_info=True)
    if missing := sorted(report["missing_keys"]):
        raise InputError(
            f"{path} lacks weights of {type(model).__name__}: {first_names(missing, 3)}. "
            "They would be random"
        )
    with explain_loading(str(path), "the tokenizer"):
        tokenizer = hf.AutoTokenizer.from_pretrained(path.parent, **settings)
    return model, tokenizer


@contextmanager
def _explain_damage(path: Path) -> Generator[None]:
    """Raise any error about the model as one of attnflow, which says if the file is at fault."""
    try:
        with explain_loading(str(path), "the model"):
            yield
    except InputError as reason:
        try:
            _ = importlib.import_module("gguf").GGUFReader(path)
        except Exception:  # noqa: BLE001 (it can raise anything)
            raise InputError(
                f"the model of {path} cannot be loaded: the file is no GGUF file, or is incomplete "
                "or damaged. Get it again"
            ) from reason
        raise
