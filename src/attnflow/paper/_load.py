"""A trained verb-number model from its folder, and into one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal.optional import require
from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.paper._files import CONFIG, WEIGHTS, WORDS, replace_file
from attnflow.paper._tokenizer import tokenizer
from attnflow.paper._vocabulary import Vocabulary

if TYPE_CHECKING:
    from attnflow.paper._model import VerbNumberConfig, VerbNumberModel

SHIPPED = Path(__file__).parent / "verb-number"
_KIND = "attnflow-verb-number"
_WORDS = "words.weight"  # what the model calls the embeddings of its words


def load(folder: str | os.PathLike[str] | None = None) -> Loaded:
    """The verb-number model of a folder, in evaluation mode, with its tokenizer.

    Parameters
    ----------
    folder
        As `train` wrote it; None is the model that ships with this package. A folder that holds
        something else is an InputError.

    Notes
    -----
    Weights are stored in float16 and computed with in float32. The tokenizer takes text as people
    type it, up to 62 words; unknown words become [UNK]. Needs `pip install "attnflow[models]"`.

    Examples
    --------
    >>> from attnflow import paper
    >>> loaded = paper.load()
    >>> inputs = loaded.tokenizer("The key to the cabinets", return_tensors="pt")
    >>> loaded.model.config.id2label[int(loaded.model(**inputs).logits.argmax())]
    'singular'
    """
    require("torch", "transformers", "safetensors", need="models need", extra="models")
    path = SHIPPED if folder is None else Path(folder)
    _check_files(path)
    config = _config(path)
    vocabulary = _vocabulary(path)
    if len(vocabulary) != config.vocab_size:
        raise InputError(
            f"{path / WORDS} holds {len(vocabulary)} words, and the model of {CONFIG} beside it "
            f"takes {config.vocab_size}; are they of the same model?"
        )
    return Loaded(_model(path, config), tokenizer(vocabulary, longest=config.n_positions))


def is_verb_number(folder: Path) -> bool:
    """Whether a folder says of itself that it holds a verb-number model."""
    try:
        content: Any = json.loads((folder / CONFIG).read_text("utf-8"))
        return content["model_type"] == _KIND
    except (OSError, ValueError, TypeError, KeyError):
        return False


def save_model(folder: Path, model: VerbNumberModel, vocabulary: Vocabulary) -> None:
    """The trained model in half precision, its configuration and its vocabulary.

    One word more than was trained: UNK, whose embedding is zero, so that it tells nothing but its
    place.
    """
    from safetensors.torch import save
    from torch.nn.functional import pad

    vocabulary = vocabulary.with_unknown()
    tensors = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}
    tensors[_WORDS] = pad(tensors[_WORDS], (0, 0, 0, len(vocabulary) - len(tensors[_WORDS])))
    replace_file(folder / WEIGHTS, save(tensors, metadata={"format": "pt"}))
    settings = {**model.config.to_dict(), "architectures": [type(model).__name__]}
    settings["vocab_size"] = len(vocabulary)
    _ = settings.pop("_name_or_path", None)
    replace_file(folder / CONFIG, _json(settings, indent=2))
    replace_file(folder / WORDS, _json(vocabulary.words, indent=0))


def _json(content: object, *, indent: int) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=indent) + "\n").encode()


def _check_files(folder: Path) -> None:
    if not os.path.isdir(folder):  # noqa: PTH112 (False for a name that is too long)
        raise InputError(
            "this installation has no verb-number model in it; train one with attnflow train "
            "verb-number and pass its folder"
            if folder == SHIPPED
            else f"there is no folder {str(folder)!r}; check the path"
        )
    inside = sorted(path.name for path in folder.iterdir())
    if missing := [name for name in (CONFIG, WORDS, WEIGHTS) if name not in inside]:
        shown = ", ".join(inside[:8]) + (", …" if len(inside) > 8 else "")
        raise InputError(
            f"the folder {folder} is not a verb-number model: it lacks {', '.join(missing)} and "
            f"holds {shown or 'nothing'}. Pass a folder that attnflow train verb-number wrote"
        )


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as reason:
        raise InputError(f"{path} is not readable JSON: {reason}") from reason


def _config(folder: Path) -> VerbNumberConfig:
    content = _content(folder / CONFIG)
    found = cast("dict[str, Any]", content).get("model_type") if isinstance(content, dict) else None
    if found != _KIND:
        raise InputError(
            f"{folder / CONFIG} is of a model of the type {found!r}, and wanted is {_KIND!r}; for "
            "other models use attnflow.models.load"
        )
    from attnflow.paper._model import VerbNumberConfig  # noqa: PLC0415 - it loads torch

    try:
        return VerbNumberConfig.from_dict(content)
    except Exception as reason:  # as transformers checks settings: of many types
        raise InputError(f"{folder / CONFIG} cannot be used: {reason}") from reason


def _vocabulary(folder: Path) -> Vocabulary:
    content = _content(folder / WORDS)
    if not isinstance(content, list) or not all(
        isinstance(word, str) and word for word in cast("list[object]", content)
    ):
        raise InputError(f"{folder / WORDS} is not a list of words; wanted is what training wrote")
    return Vocabulary(tuple(cast("list[str]", content)))


def _model(folder: Path, config: VerbNumberConfig) -> VerbNumberModel:
    from safetensors import SafetensorError
    from safetensors.torch import load as tensors_in

    from attnflow.paper._model import VerbNumberModel  # noqa: PLC0415 - it loads torch

    path = folder / WEIGHTS
    try:
        model = VerbNumberModel(config)
    except Exception as reason:  # as torch and transformers see what is wrong: of many types
        raise InputError(f"{folder / CONFIG} makes no model: {reason}") from reason
    try:
        tensors = {name: each.float() for name, each in tensors_in(path.read_bytes()).items()}
        _ = model.load_state_dict(tensors)
    except (OSError, SafetensorError, RuntimeError) as reason:
        said = " ".join(str(reason).split())[:300]
        raise InputError(f"{path} does not hold the weights of {CONFIG} beside it: {said}") from (
            reason
        )
    return model.eval()
