"""`load`: a model and its tokenizer from a folder or the hub, safe unless told otherwise."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow._internal.optional import require
from attnflow.errors import InputError, MissingDependencyError
from attnflow.models.loading._checkpoint import Checkpoint, explained, found
from attnflow.models.loading._quiet import quietly
from attnflow.models.loading._trust import refuse_adapter, refuse_code, refuse_pickle

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

# Files by which a folder shows that it has a tokenizer.
_TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm", "tekken.json")
# Vocabularies that transformers reads whatever the class of the tokenizer.
_VOCABULARIES = {"tokenizer.json", "tokenizer.model", "tekken.json"}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Loaded:
    """A model in evaluation mode, and what reads its text.

    Parameters
    ----------
    model
        The model.
    tokenizer
        Its tokenizer; None where there is none, as with images.
    missing
        Names of weights that the model should have and its files lack. Attention depends on none
        of them: they belong to a head, which was then left out, or to a pooler, which is random.
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
    """A Hugging Face model and its tokenizer, from a folder, the cache of the hub or the hub.

    The model is of the class that its configuration names, so that a language model can write, or
    what AutoModel gives where transformers has no such class or the files have no head.

    Parameters
    ----------
    name_or_folder
        The id of a model, or the folder that `save_pretrained` wrote. A folder comes first.
    allow_pickle
        Load weights from a pickle where there are no safetensors; only tensors are read from it,
        but a pickle that is made for it may still do harm.
    remote_code
        Run the code that comes with the model. By default such a model is an InputError.
    device
        Where the model goes, as torch names it: "cpu" by default, "cuda", "mps", ….

    Notes
    -----
    What transformers would warn of is an error here, or in `Loaded.missing`: weights that attention
    depends on are never random. Progress bars and messages of transformers are switched off
    meanwhile, for the whole program.

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
    # A word for "no" must not let in what these keep out.
    allow_pickle = checks.as_bool(allow_pickle, "allow_pickle")
    remote_code = checks.as_bool(remote_code, "remote_code")
    _check_device(device)
    with quietly():
        checkpoint = found(name_or_folder)
        refuse_adapter(checkpoint)
        if not remote_code:
            refuse_code(checkpoint)
        if not allow_pickle:
            refuse_pickle(checkpoint)
        model, missing = _model(checkpoint, allow_pickle=allow_pickle, remote_code=remote_code)
        tokenizer = _tokenizer(checkpoint, remote_code=remote_code)
        if device is not None:
            with explained(checkpoint.name, "the model"):
                model = cast("Any", model).to(device)
    return Loaded(model, tokenizer, missing)


def _check_device(device: object) -> None:
    """Try a device before minutes are spent on loading."""
    import torch

    if device is None:
        return
    try:
        _ = torch.zeros(1, device=cast("Any", device))
    # RuntimeError, AssertionError, TypeError, … as the device has it
    except Exception as reason:
        raise InputError(
            f"the device {device!r} cannot be used: {str(reason).splitlines()[0]}; leave it out "
            "for the CPU"
        ) from reason


def _model(
    checkpoint: Checkpoint, *, allow_pickle: bool, remote_code: bool
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """The model, of the class that the configuration names unless the files lack its head."""
    import transformers as hf

    settings: dict[str, Any] = {
        "use_safetensors": None if allow_pickle else True,
        "trust_remote_code": remote_code,
    }
    kind = _class(checkpoint, remote_code=remote_code)
    model, lacking = _from_files(kind, checkpoint, settings)
    if not lacking or all(map(_spare, lacking)):
        return model, lacking
    if kind is not hf.AutoModel:
        model, rest = _from_files(hf.AutoModel, checkpoint, settings)
        if all(map(_spare, rest)):
            return model, lacking
    raise InputError(
        f"{checkpoint.name} lacks weights of {type(model).__name__}, or has them in another shape: "
        f"{', '.join(lacking[:3])}{f' and {len(lacking) - 3} more' if len(lacking) > 3 else ''}. "
        "They would be random; are config.json and the weights of the same model?"
    )


def _spare(weight: str) -> bool:
    """Whether attention cannot depend on a weight: a pooler comes after the last of it."""
    return "pooler" in weight.split(".")


def _class(checkpoint: Checkpoint, *, remote_code: bool) -> Any:
    """The class that the configuration names, if there is such a class for it; else AutoModel."""
    import transformers as hf

    architectures: Any = checkpoint.config.get("architectures")
    named = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    code = checkpoint.config.get("auto_map")
    if remote_code and isinstance(code, dict):
        for auto, place in cast("dict[str, Any]", code).items():
            if auto.startswith("AutoModel") and str(place).rpartition(".")[2] == named:
                return getattr(hf, auto, hf.AutoModel)
        return hf.AutoModel
    kind = getattr(hf, named, None) if named else None
    if isinstance(kind, type) and issubclass(kind, hf.PreTrainedModel):
        return kind
    if "model_type" not in checkpoint.config:
        raise InputError(
            f"config.json of {checkpoint.name} names no model_type, and under architectures no "
            "class of transformers, so nothing says what the model is; add it, as in "
            '"model_type": "bert"'
        )
    return hf.AutoModel


def _from_files(
    kind: Any, checkpoint: Checkpoint, settings: dict[str, Any]
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """A model, and the weights that the files lack or have in another shape."""
    with explained(checkpoint.name, "the model"):
        model, report = kind.from_pretrained(
            checkpoint.name,
            **_revision(checkpoint),
            **settings,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # told in the report instead
        )
    reshaped = {str(weight) for weight, *_ in report["mismatched_keys"]}
    return model, tuple(sorted(reshaped.union(report["missing_keys"])))


def _revision(checkpoint: Checkpoint) -> dict[str, Any]:
    """The state of the hub that was looked at, and no other."""
    return {} if checkpoint.revision is None else {"revision": checkpoint.revision}


def _tokenizer(checkpoint: Checkpoint, *, remote_code: bool) -> Any:
    """The tokenizer; None where the files have none.

    transformers makes one up then, whose vocabulary is empty.
    """
    from transformers import AutoTokenizer

    tokenizer, problem = None, None
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.name, **_revision(checkpoint), trust_remote_code=remote_code
        )
    except Exception as reason:  # noqa: BLE001 - raised below, if there is a tokenizer at all
        problem = reason
    # Looked at afterwards: only now are all files of a model from the hub in the folder.
    files = {path.name for path in checkpoint.folder.iterdir()}
    if not any(fnmatch.fnmatchcase(file, name) for file in files for name in _TOKENIZER_FILES):
        return None
    with explained(checkpoint.name, "the tokenizer"):
        if problem is not None:
            _check_sentencepiece(files, checkpoint.name)
            raise problem
    _check_vocabulary(tokenizer, files, checkpoint.name)
    return tokenizer


def _check_sentencepiece(files: set[str], name: str) -> None:
    """Name the package that such a vocabulary needs; transformers names another one."""
    pieces = sorted(file for file in files if file.endswith((".model", ".spm")))
    if pieces and importlib.util.find_spec("sentencepiece") is None:
        raise MissingDependencyError(
            f"the tokenizer of {name} needs sentencepiece to read {pieces[0]}, which is not "
            "installed; run pip install sentencepiece"
        )


def _check_vocabulary(tokenizer: Any, files: set[str], name: str) -> None:
    """Refuse a vocabulary that no file holds; tokenizers that read bytes need none."""
    named = cast("dict[str, str]", getattr(tokenizer, "vocab_files_names", {}))
    wanted = set(named.values()) - {"tokenizer_config.json"}
    if wanted and files.isdisjoint(wanted | _VOCABULARIES):
        raise InputError(
            f"{name} has no vocabulary for its tokenizer: {type(tokenizer).__name__} reads "
            f"{' or '.join(sorted(wanted))}; save the tokenizer into the folder with "
            "save_pretrained"
        )
