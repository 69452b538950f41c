"""`load`: a model and its tokenizer from a folder or the hub, safe by default."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import logging
import os
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow._internal.display import first_names
from attnflow._internal.optional import require
from attnflow.errors import InputError, MissingDependencyError
from attnflow.models.loading._checkpoint import (
    Checkpoint,
    check_id,
    checked_name,
    explain_loading,
    find_checkpoint,
    refuse_adapter,
    refuse_code,
    refuse_pickle,
)
from attnflow.models.loading._gguf import find_gguf, load_gguf

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

# A folder without any of these has no tokenizer.
_TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm", "tekken.json")
# Vocabularies that transformers reads for every class of tokenizer.
_VOCABULARIES = {"tokenizer.json", "tokenizer.model", "tekken.json"}
# Otherwise transformers asks the hub to convert pickles, in a thread that outlives the call.
_NO_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Loaded:
    """A model in evaluation mode, and its tokenizer.

    Parameters
    ----------
    model
        The model.
    tokenizer
        The tokenizer; None if there is none, as for images.
    missing
        Names of parameters that the files lack. Attention depends on none of them: they belong to
        a head, which is then left out, or to a pooler, which is random.
    """

    model: PreTrainedModel
    tokenizer: Any
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Loaded({type(self.model).__name__}, {type(self.tokenizer).__name__})"


def load(
    name_or_folder: str | os.PathLike[str],
    *,
    allow_pickle: bool = False,
    remote_code: bool = False,
    device: str | torch.device | None = None,
) -> Loaded:
    """Load a Hugging Face model and its tokenizer from a folder, the hub or its cache.

    The model has the class in its config, so that a language model can generate. If transformers
    has no such class, or the files have no head, it is loaded by AutoModel.

    Parameters
    ----------
    name_or_folder
        A folder that `save_pretrained` wrote, a GGUF file or a folder with one, or, if there is
        no such folder, a model id.
    allow_pickle
        Load weights from a pickle if there are no safetensors. Only tensors are read from it, but
        a malicious pickle may still do harm.
    remote_code
        Run the code that comes with the model. By default such a model is an InputError.
    device
        The device to move the model to: "cpu" by default, "cuda", "mps", ….

    Notes
    -----
    Missing weights, of which transformers only warns, are an error or in `Loaded.missing`: weights
    that attention depends on are never random. Progress bars and messages of transformers are
    switched off while it loads, in all threads.

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> import tempfile
    >>> from attnflow.models import load
    >>> small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    >>> model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=3, **small))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_pretrained(folder)
    ...     load(folder)
    Loaded(BertModel, NoneType)
    """
    require("torch", "transformers", "safetensors", need="models need", extra="models")
    allow_pickle = checks.as_bool(allow_pickle, "allow_pickle")  # rejects the string "no"
    remote_code = checks.as_bool(remote_code, "remote_code")
    # A wrong path or id is answered before torch and transformers are imported.
    if (gguf := find_gguf(name_or_folder)) is None:
        check_id(checked_name(name_or_folder))
    check_device(device)
    with quiet_transformers():
        if gguf is not None:
            model, tokenizer = load_gguf(gguf)
            missing = ()
        else:
            checkpoint = find_checkpoint(name_or_folder)
            refuse_adapter(checkpoint)
            if not remote_code:
                refuse_code(checkpoint)
            if not allow_pickle:
                refuse_pickle(checkpoint)
            model, missing = _model(checkpoint, allow_pickle=allow_pickle, remote_code=remote_code)
            tokenizer = _tokenizer(checkpoint, remote_code=remote_code)
        if device is not None:
            with explain_loading(str(name_or_folder), "the model"):
                model = cast("Any", model).to(device)
    return Loaded(model, tokenizer, missing)


@contextlib.contextmanager
def quiet_transformers() -> Generator[None]:
    """Switch off messages, warnings, progress bars and conversions on the hub, in all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
        from transformers.utils import logging as messages

        hub = logging.getLogger("huggingface_hub")
        verbosity, level = messages.get_verbosity(), hub.level
        shown, shown_by_hub = messages.is_progress_bar_enabled(), not are_progress_bars_disabled()
        conversion = os.environ.get(_NO_CONVERSION)
        try:
            messages.set_verbosity(logging.CRITICAL)
            hub.setLevel(logging.CRITICAL)
            messages.disable_progress_bar()  # the hub's too
            os.environ[_NO_CONVERSION] = "1"
            yield
        finally:
            _ = os.environ.pop(_NO_CONVERSION, None)
            if conversion is not None:
                os.environ[_NO_CONVERSION] = conversion
            if shown:
                messages.enable_progress_bar()  # the hub's too
                if not shown_by_hub:
                    _ = disable_progress_bars()
            hub.setLevel(level)
            messages.set_verbosity(verbosity)


def check_device(device: object) -> None:
    """Reject an unusable device before the model is loaded."""
    import torch

    if device is None:
        return
    try:
        _ = torch.zeros(1, device=cast("Any", device))
    except Exception as reason:  # RuntimeError, AssertionError, TypeError, … by device
        raise InputError(
            f"the device {device!r} cannot be used: {str(reason).splitlines()[0]}. Leave it out "
            "for the CPU"
        ) from reason


def _model(
    checkpoint: Checkpoint, *, allow_pickle: bool, remote_code: bool
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """Return the model and its missing weights, without a head if the files lack it."""
    import transformers as hf

    settings: dict[str, Any] = {
        "use_safetensors": None if allow_pickle else True,
        "trust_remote_code": remote_code,
    }
    cls = _class(checkpoint, remote_code=remote_code)
    model, missing = _from_pretrained(cls, checkpoint, settings)
    if not missing or all(map(_is_pooler, missing)):
        return model, missing
    if cls is not hf.AutoModel:
        model, rest = _from_pretrained(hf.AutoModel, checkpoint, settings)
        if all(map(_is_pooler, rest)):
            return model, missing
    raise InputError(
        f"{checkpoint.name} lacks weights of {type(model).__name__}, or has them in another shape: "
        f"{first_names(missing, 3)}. They would be random. Check that config.json and the "
        "weights are of the same model"
    )


def _is_pooler(weight: str) -> bool:
    """Return whether a weight is in a pooler, on which attention does not depend."""
    return "pooler" in weight.split(".")


def _class(checkpoint: Checkpoint, *, remote_code: bool) -> Any:
    """Return the class in the config if transformers has it, else AutoModel."""
    import transformers as hf

    architectures: Any = checkpoint.config.get("architectures")
    name = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    auto_map = checkpoint.config.get("auto_map")
    if remote_code and isinstance(auto_map, dict):
        for auto, path in cast("dict[str, Any]", auto_map).items():
            if auto.startswith("AutoModel") and str(path).rpartition(".")[2] == name:
                return getattr(hf, auto, hf.AutoModel)
        return hf.AutoModel
    cls = getattr(hf, name, None) if name else None
    if isinstance(cls, type) and issubclass(cls, hf.PreTrainedModel):
        return cls
    if "model_type" not in checkpoint.config:
        raise InputError(
            f"config.json of {checkpoint.name} has no model_type, and no class of transformers in "
            'architectures. Add one, as in "model_type": "bert"'
        )
    return hf.AutoModel


def _from_pretrained(
    cls: Any, checkpoint: Checkpoint, settings: dict[str, Any]
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """Return a model, and the weights that the files lack or have in another shape."""
    with explain_loading(checkpoint.name, "the model"):
        model, report = cls.from_pretrained(
            checkpoint.name,
            **_revision(checkpoint),
            **settings,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are in the report
        )
    reshaped = {str(weight) for weight, *_ in report["mismatched_keys"]}
    return model, tuple(sorted(reshaped.union(report["missing_keys"])))


def _revision(checkpoint: Checkpoint) -> dict[str, Any]:
    return {} if checkpoint.revision is None else {"revision": checkpoint.revision}


def _tokenizer(checkpoint: Checkpoint, *, remote_code: bool) -> Any:
    """Return the tokenizer, or None without its files: transformers' has no vocabulary then."""
    from transformers import AutoTokenizer

    tokenizer, problem = None, None
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.name, **_revision(checkpoint), trust_remote_code=remote_code
        )
    except Exception as reason:  # noqa: BLE001 - raised below, if there is a tokenizer at all
        problem = reason
    # Only now are all files of a model on the hub in the folder.
    files = {path.name for path in checkpoint.folder.iterdir()}
    if not any(fnmatch.fnmatchcase(file, name) for file in files for name in _TOKENIZER_FILES):
        return None
    with explain_loading(checkpoint.name, "the tokenizer"):
        if problem is not None:
            _check_sentencepiece(files, checkpoint.name)
            raise problem
    _check_vocabulary(tokenizer, files, checkpoint.name)
    return tokenizer


def _check_sentencepiece(files: set[str], name: str) -> None:
    """Raise an error that names sentencepiece if it is missing; transformers names another."""
    pieces = sorted(file for file in files if file.endswith((".model", ".spm")))
    if pieces and importlib.util.find_spec("sentencepiece") is None:
        raise MissingDependencyError(
            f"the tokenizer of {name} needs sentencepiece to read {pieces[0]}, which is not "
            "installed. Run pip install sentencepiece"
        )


def _check_vocabulary(tokenizer: Any, files: set[str], name: str) -> None:
    """Reject a tokenizer without its vocabulary file; tokenizers of bytes need none."""
    named = cast("dict[str, str]", getattr(tokenizer, "vocab_files_names", {}))
    vocabularies = set(named.values()) - {"tokenizer_config.json"}
    if vocabularies and files.isdisjoint(vocabularies | _VOCABULARIES):
        raise InputError(
            f"{name} has no vocabulary for its tokenizer: {type(tokenizer).__name__} needs "
            f"{' or '.join(sorted(vocabularies))}. Save the tokenizer into the folder with "
            "save_pretrained"
        )
