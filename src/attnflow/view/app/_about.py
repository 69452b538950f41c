"""One line about each model of the app, and a text to begin with."""

from typing import Any

from attnflow.models import Loaded
from attnflow.models.inputs import is_pretrained, weight_count

# Texts whose answer people know, one for each kind of model.
_VERB_NUMBER = "the key to the cabinets"
_CONTINUED = "Paris is the capital of France and Rome is the capital of"
_MASKED = "Paris is the {mask} of France."
_CLASSIFIED = "The film begins slowly, but its ending is a delight."
# Labels that are listed. Chosen: more would not fit one line.
_MAX_LABELS = 4


def about_model(model: Any) -> str:
    """Return one line about a model: its class, size, and what it predicts.

    >>> from attnflow import paper
    >>> about_model(paper.load().model)
    'VerbNumberModel, 6 layers, 8 heads, 2.43 million parameters; predicts singular or plural'
    """
    config = getattr(model, "config", None)
    counted = {
        "layers": getattr(config, "num_hidden_layers", None),
        "heads": getattr(config, "num_attention_heads", None),
    }
    sizes = [f"{count} {name}" for name, count in counted.items() if isinstance(count, int)]
    size = f"{weight_count(model) / 1e6:.3g} million parameters"
    parts = ", ".join([type(model).__name__, *sizes, size])
    return f"{parts}; predicts {_prediction(model)}" if _has_head(model) else parts


def example_text(loaded: Loaded) -> str:
    """Return a text to begin with, which suits what the model predicts."""
    name = type(loaded.model).__name__
    mask = getattr(loaded.tokenizer, "mask_token", None)
    if name == "VerbNumberModel":
        return _VERB_NUMBER
    if _is_masked(name) and mask is not None:
        return _MASKED.format(mask=mask)
    return _CONTINUED if _has_language_head(loaded.model) else _CLASSIFIED


def _prediction(model: Any) -> str:
    name = type(model).__name__
    if _is_masked(name):
        return "the token at the mask"
    if _has_language_head(model):
        return "the next token"
    config: Any = getattr(model, "config", None)
    names: Any = getattr(config, "id2label", None)
    # As transformers decides it: one label is a number, which may have any value.
    if getattr(config, "problem_type", None) == "regression" or (names and len(names) == 1):
        return "a number"
    labels = [str(name) for name in names.values()] if names else ["a class"]
    what = " or ".join(labels) if len(labels) <= _MAX_LABELS else f"one of {len(labels)} classes"
    return f"{what} for each token" if name.endswith("ForTokenClassification") else what


def _has_head(model: Any) -> bool:
    """Whether a model predicts something; one of transformers without a head is its own base."""
    return not is_pretrained(model) or model.base_model is not model or _has_language_head(model)


def _is_masked(name: str) -> bool:
    return name.endswith("ForMaskedLM")


def _has_language_head(model: Any) -> bool:
    """Whether a model scores tokens of its vocabulary; transformers calls this its embeddings."""
    head = getattr(model, "get_output_embeddings", None)
    return head is not None and head() is not None
