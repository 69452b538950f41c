"""Loading a verb-number model from a folder, and the files that a folder contains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal.display import first_names
from attnflow._internal.files import PathLike, as_path, check_is_folder, parse_json
from attnflow._internal.optional import require
from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.paper.model._tokenizer import Vocabulary, tokenizer

if TYPE_CHECKING:
    from attnflow.paper.model._model import VerbNumberConfig, VerbNumberModel

SHIPPED = Path(__file__).parents[1] / "verb-number"
WEIGHTS, CONFIG, WORDS = "model.safetensors", "config.json", "vocabulary.json"
_MODEL_TYPE = "attnflow-verb-number"
_EMBEDDING = "words.weight"  # the name of the word embeddings in the model


def load(folder: PathLike | None = None) -> Loaded:
    """Return the verb-number model of a folder in evaluation mode, with its tokenizer.

    Parameters
    ----------
    folder
        A folder that `train` wrote; None is the model that comes with this package.

    Notes
    -----
    The weights are stored in float16; computation is in float32. The tokenizer takes typed text of
    up to 62 words; unknown words become [UNK]. Needs the extra `models`.

    Examples
    --------
    >>> from attnflow import paper
    >>> loaded = paper.load()
    >>> inputs = loaded.tokenizer("The key to the cabinets", return_tensors="pt")
    >>> loaded.model.config.id2label[int(loaded.model(**inputs).logits.argmax())]
    'singular'
    """
    require_packages()
    path = SHIPPED if folder is None else as_path(folder)
    _check_files(path)
    config = _read_config(path)
    vocabulary = _read_vocabulary(path)
    if len(vocabulary) != config.vocab_size:
        raise InputError(
            f"{path / WORDS}: expected {config.vocab_size} words (vocab_size in {CONFIG}), got "
            f"{len(vocabulary)}. Pass a folder whose files belong to one model"
        )
    model = _read_model(path, config)
    # Typed as a model of transformers, whose attributes that others use it has.
    return Loaded(cast("Any", model), tokenizer(vocabulary, max_length=config.n_positions))


def require_packages() -> None:
    """Raise an error that names a missing package of the verb-number model."""
    packages = ("torch", "transformers", "safetensors")
    require(*packages, need="the verb-number model needs", extra="models")


def is_verb_number(folder: Path) -> bool:
    """Whether the config.json of a folder has the type of a verb-number model."""
    try:
        return parse_json((folder / CONFIG).read_text("utf-8"))["model_type"] == _MODEL_TYPE
    except (OSError, ValueError, TypeError, KeyError):
        return False


def model_files(model: VerbNumberModel, vocabulary: Vocabulary) -> dict[str, bytes]:
    """Return the content of the files of a model: weights in float16, config, vocabulary.

    The vocabulary gets UNK, which is not trained, with an embedding of zeros.
    """
    from safetensors.torch import save
    from torch.nn.functional import pad

    vocabulary = vocabulary.with_unknown()
    tensors = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}
    missing = len(vocabulary) - len(tensors[_EMBEDDING])
    tensors[_EMBEDDING] = pad(tensors[_EMBEDDING], (0, 0, 0, missing))
    config = {**model.config.to_dict(), "architectures": [type(model).__name__]}
    config["vocab_size"] = len(vocabulary)
    _ = config.pop("_name_or_path", None)
    return {
        WEIGHTS: save(tensors, metadata={"format": "pt"}),
        CONFIG: _json(config, indent=2),
        WORDS: _json(vocabulary.words, indent=0),
    }


def _json(content: object, *, indent: int) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=indent) + "\n").encode()


def _check_files(folder: Path) -> None:
    if folder == SHIPPED and not folder.is_dir():
        raise InputError(
            "this installation has no verb-number model; train one with attnflow train "
            "verb-number and pass its folder"
        )
    check_is_folder(folder)
    names = sorted(path.name for path in folder.iterdir())
    if missing := [name for name in (CONFIG, WORDS, WEIGHTS) if name not in names]:
        raise InputError(
            f"the folder {folder} is not a verb-number model: it lacks {', '.join(missing)} and "
            f"contains {first_names(names) or 'nothing'}. Pass a folder that attnflow train "
            "verb-number wrote"
        )


def _read_json(path: Path) -> Any:
    try:
        return parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not readable JSON: {error}") from error


def _read_config(folder: Path) -> VerbNumberConfig:
    from attnflow.paper.model._model import VerbNumberConfig  # noqa: PLC0415 - imports torch

    path, content = folder / CONFIG, _read_json(folder / CONFIG)
    found = cast("dict[str, Any]", content).get("model_type") if isinstance(content, dict) else None
    if found != _MODEL_TYPE:
        raise InputError(
            f"{path}: expected model_type {_MODEL_TYPE!r}, got {found!r}. Load other models with "
            "attnflow.models.load"
        )
    try:
        return VerbNumberConfig.from_dict(content)
    except Exception as error:  # transformers raises errors of many types
        raise InputError(f"{path} is not a valid configuration: {error}") from error


def _read_vocabulary(folder: Path) -> Vocabulary:
    content = _read_json(folder / WORDS)
    if not isinstance(content, list) or not all(
        isinstance(word, str) and word for word in cast("list[object]", content)
    ):
        raise InputError(f"{folder / WORDS}: expected a list of words, as attnflow train writes it")
    return Vocabulary(tuple(cast("list[str]", content)))


def _read_model(folder: Path, config: VerbNumberConfig) -> VerbNumberModel:
    from safetensors import SafetensorError
    from safetensors.torch import load as load_tensors

    from attnflow.paper.model._model import VerbNumberModel  # noqa: PLC0415 - imports torch

    try:
        model = VerbNumberModel(config)
    except Exception as error:  # torch and transformers raise errors of many types
        raise InputError(f"{folder / CONFIG} is not a valid configuration: {error}") from error
    path = folder / WEIGHTS
    try:
        tensors = load_tensors(path.read_bytes())
        _ = model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        detail = " ".join(str(error).split())[:300]
        raise InputError(
            f"{path} does not contain the weights of the model in {CONFIG}: {detail}"
        ) from error
    return model.eval()
