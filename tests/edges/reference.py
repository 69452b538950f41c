"""The formulas of `literal.py` for the small models of every family."""

import functools
from typing import Any

import literal
import torch
from edge_models import inputs_for, new_model
from literal import (
    Floats,
    Layer,
    Parts,
    alti,
    array,
    effective,
    norms,
    rows_to_one,
    score,
    use_own_attention,
)

__all__ = [
    "Layer", "alti", "array", "effective", "gradients", "layers_of", "norms", "rows_to_one", "run",
    "score", "twin_of", "value_zeroing",
]  # fmt: skip


def _bert(name: str) -> Parts:
    return Parts(
        f"{name}Layer", "attention.self.value", "attention.output.dense",
        after="attention.output.LayerNorm",
    )  # fmt: skip


def _llama(name: str) -> Parts:
    own = "self_attn.v_proj", "self_attn.o_proj"
    return Parts(f"{name}DecoderLayer", *own, before="input_layernorm")


def _dinov2(name: str) -> Parts:
    return Parts(f"{name}Layer", *_IMAGE, before="norm1", scale="layer_scale1.lambda1")


_GPT2 = Parts("GPT2Block", "attn.c_attn", "attn.c_proj", before="ln_1")
_names = {name for name, _ in new_model("vit").named_modules()}
_IMAGE = (
    ("attention.v_proj", "attention.o_proj")
    if any(name.endswith("attention.v_proj") for name in _names)
    else ("attention.attention.value", "attention.output.dense")  # older transformers
)
PARTS = {
    "bert": _bert("Bert"),
    "roberta": _bert("Roberta"),
    "distilbert": Parts(
        "TransformerBlock", "attention.v_lin", "attention.out_lin", after="sa_layer_norm"
    ),
    "albert": Parts(
        "AlbertLayer", "attention.value", "attention.dense", after="attention.LayerNorm"
    ),
    "electra": _bert("Electra"),
    "mpnet": Parts(
        "MPNetLayer", "attention.attn.v", "attention.attn.o", after="attention.LayerNorm"
    ),
    "gpt2": _GPT2,
    "llama": _llama("Llama"),
    "mistral": _llama("Mistral"),
    "qwen2": _llama("Qwen2"),
    "qwen3": _llama("Qwen3"),
    "smollm3": _llama("SmolLM3"),
    "vit": Parts("ViTLayer", *_IMAGE, before="layernorm_before"),
    "dinov2": _dinov2("Dinov2"),
    "dinov2-with-registers": _dinov2("Dinov2WithRegisters"),
    "verb-number": Parts("Block", "attn.c_attn", "attn.c_proj", before="ln_1"),
}


@functools.cache
def twin_of(family: str) -> Any:
    """A model with the same weights and our own attention."""
    return use_own_attention(new_model(family))


def run(
    family: str, inputs: dict[str, torch.Tensor], added: list[torch.Tensor] | None = None
) -> tuple[list[torch.Tensor], Any]:
    """The attention probabilities of each call in a pass, and the output of the model."""
    return literal.run(twin_of(family), inputs, added)


@functools.cache
def layers_of(family: str) -> list[Layer]:
    """The blocks in the pass over the family's inputs."""
    found = literal.layers_of(twin_of(family), PARTS[family], inputs_for(family))
    assert len(found) == 3
    return found


def value_zeroing(family: str, number: int) -> Floats:
    """1 − cos of the output of one layer with and without each value, rows to one."""
    layer = layers_of(family)[number]
    own = twin_of(family), PARTS[family], inputs_for(family)
    return literal.value_zeroing(*own, number, layer)


def gradients(
    family: str, inputs: dict[str, torch.Tensor], target: int, against: int | None = None
) -> list[tuple[Floats, Floats]]:
    """Attention probabilities of each call and the derivative of a logit by them."""
    return literal.gradients(twin_of(family), inputs, target, against)
