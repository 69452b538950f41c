"""What is known about a model."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from attnflow._internal.optional import require
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._families import DECODERS, FAMILIES, Family

if TYPE_CHECKING:
    from torch import nn

# A walk over all modules or parameters takes as long as a layer of a small model.
_ARE_DECODERS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
_WEIGHT_COUNTS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def checked_model(model: nn.Module) -> nn.Module:
    """Return the module that was passed to torch.compile, or the model itself.

    Raises MissingDependencyError if torch is not installed, and rejects models without hooks or
    weights.
    """
    if "torch" not in sys.modules:  # it is for every model
        require("torch", need="models need", extra="models")
    import torch

    model = getattr(model, "_orig_mod", model)
    if not isinstance(cast("object", model), torch.nn.Module):
        raise InputError(
            f"model: expected a torch module, such as attnflow.models.load(folder).model, got "
            f"{type(model).__name__}"
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise UnsupportedModelError(
            f"TorchScript ({type(model).__name__}) is not supported, since it calls no hooks. Pass "
            "the original module"
        )
    if any(parameter.is_meta for parameter in model.parameters()):
        raise InputError(
            f"{type(model).__name__} has parameters on the meta device, which have no values. Load "
            "the model onto a real device first"
        )
    return model


def is_pretrained(model: nn.Module) -> bool:
    """Return whether this is a Hugging Face model, without an import of transformers."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def forward_parameters(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the model's forward method by name."""
    forward: Any = model.forward
    return _parameters(getattr(forward, "__func__", forward))


# Cached: reading a signature takes 0.1 ms, and a pass needs it several times.
@functools.lru_cache(maxsize=64)
def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def accepts(model: nn.Module, name: str) -> bool:
    """Return whether the model's forward method takes an argument with this name."""
    parameters = forward_parameters(model)
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def has_decoder(model: nn.Module) -> bool:
    """Return whether the model is an encoder-decoder."""
    return "decoder_input_ids" in forward_parameters(model)


def is_decoder(model: nn.Module) -> bool:
    """Return whether the model is a decoder alone, in which no position sees a later one.

    Found out when it is first asked for.
    """
    decoder = _ARE_DECODERS.get(model)
    if decoder is None:
        family = getattr(getattr(model, "config", None), "model_type", None)
        causal = family in DECODERS or any(
            getattr(module, "is_causal", False) is True for module in model.modules()
        )
        decoder = _ARE_DECODERS[model] = causal and not has_decoder(model)
    return decoder


def start_token(model: nn.Module) -> int:
    """Return the id of the decoder's start token."""
    for config in (getattr(model, "generation_config", None), getattr(model, "config", None)):
        for name in ("decoder_start_token_id", "bos_token_id"):
            value = getattr(config, name, None)
            if isinstance(value, int):
                return value
    raise InputError(
        f"the config of {type(model).__name__} has no decoder_start_token_id. Pass tensors with "
        "decoder_input_ids"
    )


def check_parts(model: nn.Module, fields: Collection[str]) -> None:
    """Reject models with a text and a vision encoder, and text and image together."""
    parts = getattr(getattr(model, "config", None), "sub_configs", {})
    both = len(parts) > 1 and "input_ids" in fields and "pixel_values" in fields
    towers = hasattr(model, "text_model") and hasattr(model, "vision_model")
    if towers and (both or hasattr(model, "logit_scale")):  # as CLIP
        raise InputError(
            f"{type(model).__name__} has separate models for text and images. Pass one of them, as "
            "in attend(model.text_model, tokenizer, text) or "
            "attend(model.vision_model, None, pixel_values)"
        )
    if both:
        raise InputError(
            f"{type(model).__name__} got input_ids and pixel_values; text and image in one "
            "sequence are not supported. Pass the text alone, without image tokens"
        )


def check_vocabulary(model: nn.Module, ids: Sequence[int], name: str = "token ids") -> None:
    """Reject token ids outside the model's embedding table."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)
    try:
        count = getattr(embedding(), "num_embeddings", None)
    except NotImplementedError:
        return
    if count is None:
        return
    unknown = [i for i in ids if not 0 <= i < count]
    if unknown:
        advice = ". Use the model's own tokenizer" if name == "token ids" else ""
        raise InputError(
            f"{name}: expected 0 to {count - 1} for {type(model).__name__}, "
            f"got {unknown[0]}{advice}"
        )


def decoder_of(model: nn.Module) -> nn.Module:
    """Return the decoder of an encoder-decoder; the model itself without get_decoder."""
    part = getattr(model, "get_decoder", lambda: None)()
    return model if part is None else part


def without_cache(model: nn.Module, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with use_cache=False, if the model has a cache."""
    if "use_cache" in forward_parameters(model):
        return {"use_cache": False, **fields}
    return fields


def family_of(model: object) -> Family:
    """Return the properties of a model's family; the defaults if it has no entry."""
    config = getattr(model, "config", None)
    return FAMILIES.get(getattr(config, "model_type", ""), Family())


def layer_count(model: object) -> int | None:
    """Return the number of layers in the config of a model; None if unknown."""
    layers = getattr(getattr(model, "config", None), "num_hidden_layers", None)
    return layers if isinstance(layers, int) and layers > 0 else None


def token_limit(model: object) -> int | None:
    """Return how many tokens a model takes at most; None if unlimited or unknown.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.token_limit(paper.load().model)
    64
    """
    config, family = getattr(model, "config", None), family_of(model)
    limit = getattr(config, "max_position_embeddings", None)
    if family.any_length or not isinstance(limit, int) or limit < 1:
        return None
    if family.counts_after_padding:
        limit -= (getattr(config, "pad_token_id", None) or 0) + 1
    return limit


def decoder_limit(model: nn.Module) -> int | None:
    """Return how many tokens the decoder takes, its start token included; None if unlimited."""
    decoder = decoder_of(model)
    own = getattr(getattr(decoder, "config", None), "max_target_positions", None)  # of Whisper
    return own if isinstance(own, int) else token_limit(decoder)


def device_of(model: nn.Module) -> Any:
    """Return the device of the model's first parameter, which is that of its input."""
    import torch

    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> Any:
    """Return the dtype of the model's first floating-point parameter."""
    import torch

    types = (parameter.dtype for parameter in model.parameters())
    return next((dtype for dtype in types if dtype.is_floating_point), torch.float32)


def weight_count(model: nn.Module) -> int:
    """Return the number of weights of a model, counted when it is first asked for."""
    count = _WEIGHT_COUNTS.get(model)
    if count is None:
        count = sum(parameter.numel() for parameter in model.parameters())
        _WEIGHT_COUNTS[model] = count
    return count


def inner_tokenizer(tokenizer: Any) -> Any:
    """Return the tokenizer, or that of a processor."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if isinstance(inner, type) or not hasattr(inner, "convert_ids_to_tokens"):
        raise InputError(
            "tokenizer: expected one of transformers, such as attnflow.models.load(folder)"
            f".tokenizer, got {type(tokenizer).__name__}. Wrap one of the package tokenizers in "
            "PreTrainedTokenizerFast(tokenizer_object=…)"
        )
    return inner
