"""`BlockLayout`: where a block keeps its projections and norms, for each model family, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnflow.errors import UnsupportedModelError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The parts of a transformer block, by their names inside the block.

    Parameters
    ----------
    attention
        The module that computes attention.
    output
        The output projection of attention, a `nn.Linear` or a `Conv1D` of GPT-2.
    norm
        The norm whose input is the sum of attention and residual connection.
    norm_first
        Whether the block normalises before attention, as GPT-2 and Llama do. Then the sum goes on
        as it is; else its normalised form does, as in BERT.
    scale
        A parameter that multiplies the output of attention, as the layer scale of DINOv2.
    value
        The value projection, a `nn.Linear`. Only for models that do not use the attention interface
        of transformers, which passes the values on.
    final_norm
        The norm after the last block, in a module that contains the blocks.

    Examples
    --------
    >>> layout = BlockLayout("attn", "attn.proj", "norm2", norm_first=True, value="attn.v")
    """

    attention: str
    output: str
    norm: str
    norm_first: bool = False
    scale: str = ""
    value: str = ""
    final_norm: str = ""


_BERT = BlockLayout("attention.self", "attention.output.dense", "attention.output.LayerNorm")
_LLAMA = BlockLayout(
    "self_attn",
    "self_attn.o_proj",
    "post_attention_layernorm",
    norm_first=True,
    final_norm="norm",
)
_GPT2 = BlockLayout("attn", "attn.c_proj", "ln_2", norm_first=True, final_norm="ln_f")
_DINOV2 = BlockLayout(
    "attention",
    "attention.o_proj",
    "norm2",
    norm_first=True,
    scale="layer_scale1.lambda1",
    final_norm="layernorm",
)

# By `config.model_type`. Source: transformers 5.22.
LAYOUTS = {
    "albert": BlockLayout("attention", "attention.dense", "attention.LayerNorm"),
    "attnflow-verb-number": BlockLayout(
        "attn", "attn.c_proj", "ln_2", norm_first=True, final_norm="norm"
    ),
    "bert": _BERT,
    "camembert": _BERT,
    "dinov2": _DINOV2,
    "dinov2_with_registers": _DINOV2,
    "distilbert": BlockLayout("attention", "attention.out_lin", "sa_layer_norm"),
    "electra": _BERT,
    "gpt2": _GPT2,
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "mpnet": BlockLayout(
        "attention.attn", "attention.attn.o", "attention.LayerNorm", value="attention.attn.v"
    ),
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "roberta": _BERT,
    "smollm3": _LLAMA,
    "vit": BlockLayout(
        "attention",
        "attention.o_proj",
        "layernorm_after",
        norm_first=True,
        final_norm="layernorm",
    ),
    "xlm-roberta": _BERT,
}


def layout_of(model: nn.Module, layout: BlockLayout | None) -> BlockLayout:
    """Return the layout, or that of the model's family."""
    if layout is not None:
        return layout
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind not in LAYOUTS:
        raise UnsupportedModelError(
            f"{type(model).__name__}: expected a model type with known blocks, one of "
            f"{', '.join(LAYOUTS)}, got {kind!r}. Describe its blocks by the names that "
            "model.named_modules() prints, as in layout=attnflow.edges.BlockLayout("
            'attention="self_attn", output="self_attn.o_proj", norm="post_attention_layernorm", '
            "norm_first=True)"
        )
    return LAYOUTS[kind]


def blocks_of(model: nn.Module, layout: BlockLayout) -> dict[str, nn.Module]:
    """Return the blocks of a model by name: the modules that have the parts of the layout."""
    names = {name for name, _ in model.named_modules()}
    parts = [part for part in (layout.attention, layout.output, layout.norm, layout.value) if part]
    found = {
        name: module
        for name, module in model.named_modules()
        if all((f"{name}.{part}" if name else part) in names for part in parts)
    }
    if not found:
        raise UnsupportedModelError(
            f"{type(model).__name__}: no module has the parts {', '.join(parts)}. Correct the "
            "layout by the names that model.named_modules() prints"
        )
    return found
