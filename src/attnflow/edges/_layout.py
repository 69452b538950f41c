"""`BlockLayout`: where a block keeps its projections and norms, for each model family, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError

if TYPE_CHECKING:
    from torch import nn


# The fields that name parts of a block.
_PARTS = ("attention", "output", "norm", "value", "scale")
# What the fields of a layout name, in errors.
_MODULE = "a module inside a block, as block.named_modules() prints it"
_NAMED = {
    "scale": "a parameter inside a block, as block.named_parameters() prints it, or empty",
    "value": f"{_MODULE}, or empty",
    "final_norm": "a module inside the one that contains the blocks, or empty",
}


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The parts of a transformer block, by their names inside the block.

    Parameters
    ----------
    attention
        The module that computes attention; its first argument is the hidden states.
    output
        The output projection of attention, a `nn.Linear` or a `Conv1D` of GPT-2.
    norm
        The norm whose input is the sum of attention and residual connection.
    norm_first
        Whether the block normalises before attention, as GPT-2 and Llama do. Then the sum goes on
        as it is; else its normalised form does, as in BERT.
    scale
        A parameter that multiplies the output projection, as the layer scale of DINOv2.
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

    def __post_init__(self) -> None:
        for field in fields(self):
            given: object = getattr(self, field.name)
            if field.name == "norm_first":
                _ = checks.as_bool(given, "norm_first")
            elif (
                not isinstance(given, str)
                or given != given.strip()
                or not (given or field.default == "")
            ):
                raise InputError(
                    f"BlockLayout: {field.name} must be the name of "
                    f"{_NAMED.get(field.name, _MODULE)}, got {given!r}"
                )


_BERT = BlockLayout("attention.self", "attention.output.dense", "attention.output.LayerNorm")
_LLAMA = BlockLayout(
    "self_attn",
    "self_attn.o_proj",
    "post_attention_layernorm",
    norm_first=True,
    final_norm="norm",
)
_GPT2 = BlockLayout("attn", "attn.c_proj", "ln_2", norm_first=True, final_norm="ln_f")
_VIT = BlockLayout(
    "attention", "attention.o_proj", "layernorm_after", norm_first=True, final_norm="layernorm"
)
_DINOV2 = replace(_VIT, norm="norm2", scale="layer_scale1.lambda1")
_OLD = {"attention": "attention.attention", "output": "attention.output.dense"}

# By `config.model_type`: that of transformers 5.22, or several, the first that fits the model.
# Vision models have other names in older versions of transformers.
LAYOUTS: dict[str, BlockLayout | tuple[BlockLayout, ...]] = {
    "albert": BlockLayout("attention", "attention.dense", "attention.LayerNorm"),
    "attnflow-verb-number": BlockLayout(
        "attn", "attn.c_proj", "ln_2", norm_first=True, final_norm="norm"
    ),
    "bert": _BERT,
    "camembert": _BERT,
    "dinov2": (_DINOV2, replace(_DINOV2, **_OLD)),
    "dinov2_with_registers": (_DINOV2, replace(_DINOV2, **_OLD)),
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
    "vit": (_VIT, replace(_VIT, **_OLD)),
    "xlm-roberta": _BERT,
}


def known_layout(model: nn.Module) -> BlockLayout | None:
    """Return the layout of the model's family, None if it is unknown."""
    found = LAYOUTS.get(getattr(getattr(model, "config", None), "model_type", ""))
    if isinstance(found, BlockLayout | None):
        return found
    return next((layout for layout in found if _modules_with_parts(model, layout)), found[0])


def check_layout(layout: object) -> BlockLayout | None:
    """Return a layout, or None for that of the model's family.

    >>> check_layout(None)
    """
    if not isinstance(layout, BlockLayout | None):
        raise InputError(
            f"layout: expected a BlockLayout or None for that of the model's family, got {layout!r}"
        )
    return layout


def layout_settings(layout: BlockLayout | None) -> dict[str, Any]:
    """Return the settings that record a layout that the caller passed, as its fields."""
    return {} if layout is None else {"layout": asdict(layout)}


def layout_of(model: nn.Module, layout: BlockLayout | None) -> BlockLayout:
    """Return the layout, or that of the model's family."""
    layout = check_layout(layout)
    found = known_layout(model) if layout is None else layout
    if found is None:
        kind = getattr(getattr(model, "config", None), "model_type", None)
        raise UnsupportedModelError(
            f"{type(model).__name__}: expected a model type with known blocks, one of "
            f"{', '.join(LAYOUTS)}, got {kind!r}. Describe its blocks by the names that "
            "model.named_modules() prints: for a command in a JSON file with the fields of a "
            "BlockLayout (--layout FILE), in Python as in layout=attnflow.edges.BlockLayout("
            'attention="self_attn", output="self_attn.o_proj", norm="post_attention_layernorm", '
            "norm_first=True)"
        )
    return found


def blocks_of(model: nn.Module, layout: BlockLayout) -> dict[str, nn.Module]:
    """Return the blocks of a model by name: the modules that have the parts of the layout."""
    found = _modules_with_parts(model, layout)
    if not found:
        fields = [field for field in _PARTS if getattr(layout, field)]
        # Those that are in no module at all, or else all of them.
        wrong = [field for field in fields if not _modules_with_parts(model, layout, (field,))]
        raise UnsupportedModelError(
            f"{type(model).__name__}: no module has the parts "
            f"{', '.join(named_fields(layout, wrong or fields))}. Correct the layout by the names "
            "that model.named_modules() and, for scale, model.named_parameters() print"
        )
    return found


def named_fields(layout: BlockLayout, fields: Sequence[str]) -> list[str]:
    """Return fields of a layout with their values, without those that are empty."""
    given = {field: getattr(layout, field) for field in fields}
    return [f"{field}={value!r}" for field, value in given.items() if value != ""]


def layout_mismatch(
    model: nn.Module, layout: BlockLayout, layer: int, problem: str, *fields: str
) -> UnsupportedModelError:
    """Return the error for a block that is not as its layout describes, in one of these fields."""
    return UnsupportedModelError(
        f"layer {layer} of {type(model).__name__} is not as the layout describes: {problem}. "
        f"Correct {' or '.join(named_fields(layout, fields))}"
    )


def _modules_with_parts(
    model: nn.Module, layout: BlockLayout, fields: Sequence[str] = _PARTS
) -> dict[str, nn.Module]:
    modules = dict(model.named_modules())
    parameters = {name for name, _ in model.named_parameters()}

    def has(name: str, field: str) -> bool:
        part = getattr(layout, field)
        path = f"{name}.{part}" if name else part
        return not part or path in (parameters if field == "scale" else modules)

    return {
        name: module
        for name, module in modules.items()
        if all(has(name, field) for field in fields)
    }
