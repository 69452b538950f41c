"""A classifier of two classes from a base encoder, and the files of a classifier."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models import load
from attnflow.models.inputs import has_decoder, is_decoder
from attnflow.models.loading import quiet_transformers
from attnflow.paper.data import SENTIMENTS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from attnflow._internal.files import PathLike
    from attnflow.models import Loaded


def load_base(base: PathLike) -> Loaded:
    """Return an encoder with its tokenizer, which must have a padding token."""
    loaded = load(base)
    kinds = {"an encoder-decoder": has_decoder, "a decoder": is_decoder}
    for kind, is_kind in kinds.items():
        if is_kind(loaded.model):
            raise UnsupportedModelError(
                f"expected an encoder, got {kind}: {base} ({type(loaded.model).__name__}). Pass an "
                "encoder such as BERT, RoBERTa or DistilBERT"
            )
    if loaded.tokenizer is None or loaded.tokenizer.pad_token_id is None:
        missing = "tokenizer" if loaded.tokenizer is None else "padding token"
        raise InputError(
            f"expected an encoder with a tokenizer and a padding token, got {base} without a "
            f"{missing}. Pass an encoder such as BERT, RoBERTa or DistilBERT"
        )
    return loaded


def new_classifier(base: PreTrainedModel, *, seed: int) -> PreTrainedModel:
    """Return a classifier of two classes with the encoder of `base` and a random head, seeded.

    A pooler that `base` lacks is part of the head. An architecture without a sequence classifier
    is an UnsupportedModelError.
    """
    import torch
    from transformers import AutoModelForSequenceClassification

    labels = dict(enumerate(SENTIMENTS))
    settings: dict[str, Any] = {
        **base.config.to_dict(),
        "id2label": labels,
        "label2id": {name: label for label, name in labels.items()},
        "problem_type": "single_label_classification",
    }
    _ = settings.pop("_name_or_path", None)
    config = type(base.config).from_dict(settings)
    _ = torch.manual_seed(seed)
    try:
        model: Any = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    except ValueError as error:
        raise UnsupportedModelError(
            f"transformers has no sequence classifier for {type(base).__name__}. Pass an encoder "
            "such as BERT, RoBERTa or DistilBERT"
        ) from error
    encoder, weights = model.base_model, cast("Any", base).base_model.state_dict()
    missing = encoder.state_dict().keys() - weights.keys()
    if model is encoder or not all("pooler" in name.split(".") for name in missing):
        raise UnsupportedModelError(
            f"the encoder of {type(base).__name__} is not that of {type(model).__name__}. Pass an "
            "encoder such as BERT, RoBERTa or DistilBERT"
        )
    _ = encoder.load_state_dict(weights, strict=False)
    return model


def saved_files(saved: Any) -> dict[str, bytes]:
    """Return the files that `save_pretrained` of a model or tokenizer writes, by name."""
    with tempfile.TemporaryDirectory() as folder, quiet_transformers():
        saved.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
