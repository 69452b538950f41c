"""Ready inputs: whatever a tokenizer or processor gave, as tensors by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.models._families import token_limit
from attnflow.models._model import (
    check_vocabulary,
    device_of,
    dtype_of,
    has_decoder,
    start_token,
    without_cache,
)
from attnflow.models.inputs._inputs import Inputs, Positions
from attnflow.models.inputs._tokenize import decoder_limit, decoder_of, token_names

if TYPE_CHECKING:
    from torch import Tensor, nn

# Inputs that are looked at here, before the model gets them.
_READ = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "decoder_")
    for name in ("input_ids", "inputs_embeds", "attention_mask")
) | {"pixel_values", "src_key_padding_mask", "tgt_key_padding_mask"}


def as_tensors(model: nn.Module, inputs: object) -> dict[str, Any]:
    """Ready inputs by their names, as tensors; a single tensor is the model's main input."""
    import torch

    if isinstance(inputs, torch.Tensor):
        return {getattr(model, "main_input_name", ""): inputs}
    if not isinstance(inputs, Mapping):
        raise InputError(
            f"a {type(inputs).__name__} came; a text, a list of texts, or ready model inputs are "
            "wanted. For an image or sound, pass what the model's processor gives: "
            "processor(…, return_tensors='pt')"
        )
    named = cast("Mapping[str, Any]", inputs)
    fields = {name: _tensor(model, name, value) for name, value in named.items()}
    for name in _READ.intersection(fields):
        if not isinstance(fields[name], torch.Tensor | None):
            raise InputError(f"{name} is {fields[name]!r}; a tensor, an array or lists are wanted")
    return fields


def _tensor(model: nn.Module, name: str, value: Any) -> Any:
    """Arrays and lists as tensors of the model's device, and of its precision."""
    import torch

    if not isinstance(value, np.ndarray | list | tuple):
        return value
    try:
        tensor = torch.as_tensor(np.asarray(value), device=device_of(model))
    except (TypeError, ValueError) as reason:
        raise InputError(
            f"{name} cannot be read as numbers of one shape: {reason}; pad the batch first"
        ) from reason
    return tensor.to(dtype_of(model)) if tensor.is_floating_point() else tensor


def prepare_tensors(model: nn.Module, tokenizer: Any, fields: dict[str, Any]) -> Inputs:
    """Ready inputs for one forward pass, with what they tell about their positions."""
    import torch

    main = _checked(model, fields)
    first = fields.get(main)
    if first is None:
        first = next((v for v in fields.values() if isinstance(v, torch.Tensor)), None)
    if first is None or first.ndim < 1 or not first.numel():
        raise InputError(
            "the inputs hold no tensor with anything in it; pass a batch of at least one"
        )
    size = int(first.shape[0])
    sources = _read_positions(tokenizer, fields, "", size)
    batches: tuple[int, ...] = ()
    targets = None
    if has_decoder(model):
        if "decoder_input_ids" not in fields and "decoder_inputs_embeds" not in fields:
            start = torch.full((size, 1), start_token(model), device=first.device)
            fields["decoder_input_ids"] = start
        targets = tuple(_read_positions(tokenizer, fields, "decoder_", size))
    elif not main and "input_ids" not in fields:
        sources = _plain_positions(fields.get("src_key_padding_mask"))
        if "tgt" in fields:
            targets = tuple(_plain_positions(fields.get("tgt_key_padding_mask")))
        # An image has its batch first, a sequence first or second, or it has none.
        batches = (1, *map(int, first.shape[: 2 if first.ndim < 4 else 1]))
    return Inputs(
        forward=without_cache(model, fields),
        sources=tuple(sources),
        targets=targets,
        single=len(sources) == 1,
        batches=batches,
    )


def _plain_positions(padding: Tensor | None) -> list[Positions]:
    """What PyTorch's mask of padding tells, True where there is nothing; nothing without one."""
    return [] if padding is None else [Positions(kept=~row) for row in _rows(padding)]


def _read_positions(
    tokenizer: Any, fields: dict[str, Any], prefix: str, size: int
) -> list[Positions]:
    """Names and padding of each example, as far as the inputs tell them."""
    ids, embeds = fields.get(f"{prefix}input_ids"), fields.get(f"{prefix}inputs_embeds")
    names = [token_names(tokenizer, row.tolist()) for row in ids] if ids is not None else None
    mask, read = fields.get(f"{prefix}attention_mask"), ids if ids is not None else embeds
    kept = None
    # A mask of four axes says who sees whom, and not what is padding. One beside sound or an image
    # counts something else than positions.
    if mask is not None and mask.ndim == 2 and read is not None:
        if mask.shape != read.shape[:2]:
            raise InputError(
                f"{prefix}attention_mask has shape {tuple(mask.shape)} for {prefix}input_ids or "
                f"embeddings of shape {tuple(read.shape)}; give one number a position"
            )
        kept = _rows(mask)
    positions: list[Positions] = []
    for i in range(size):
        real = None if kept is None or kept[i].all() else kept[i]
        if real is not None and not real.any():
            raise InputError(f"{prefix}attention_mask leaves nothing of example {i}")
        tokens = None if names is None else names[i]
        if tokens is not None and real is not None:
            tokens = tuple(token for token, keep in zip(tokens, real, strict=True) if keep)
        positions.append(Positions(tokens, kept=real))
    return positions


def _rows(mask: Tensor) -> list[NDArray[np.bool]]:
    rows = mask.detach().cpu().numpy()
    # PyTorch's masks may be additive too: minus infinity where there is nothing.
    return list(np.atleast_2d(rows != 0 if rows.dtype.kind == "f" else rows.astype(bool)))


def _checked(model: nn.Module, fields: dict[str, Any]) -> str:
    """The name of the model's main input, after a look at whether the inputs fit it."""
    main = str(getattr(model, "main_input_name", ""))
    if main and main not in fields and "inputs_embeds" not in fields:
        raise InputError(
            f"inputs with {', '.join(map(str, fields)) or 'nothing'} came, and "
            f"{type(model).__name__} takes {main}"
        )
    check_parts(model, fields)
    _check_devices(model, fields)
    if main:
        _check_sequence("", model, fields, token_limit(model))
        if has_decoder(model):
            _check_sequence("decoder_", decoder_of(model), fields, decoder_limit(model))
    pixels = fields.get("pixel_values")
    if main == "pixel_values" and pixels is not None and pixels.ndim < 4:
        raise InputError(
            f"pixel_values has shape {tuple(pixels.shape)}; (batch, channel, row, column) is "
            "wanted, for one image pixel_values[None]"
        )
    return main


def _check_sequence(
    prefix: str, model: nn.Module, fields: dict[str, Any], limit: int | None
) -> None:
    """Refuse ids that the model does not know, and more tokens or embeddings than it takes."""
    import torch

    ids, embeds = fields.get(f"{prefix}input_ids"), fields.get(f"{prefix}inputs_embeds")
    if ids is not None:
        # PyTorch has embeddings for no other type of whole numbers.
        if ids.dtype not in (torch.int32, torch.int64) or ids.ndim != 2:
            raise InputError(
                f"{prefix}input_ids is {ids.dtype} of shape {tuple(ids.shape)}; whole numbers "
                "(batch, position) are wanted, in 32 or 64 bits, for one text "
                f"{prefix}input_ids[None]"
            )
        if ids.numel():
            check_vocabulary(model, (int(ids.min()), int(ids.max())))
    if embeds is not None and embeds.ndim != 3:
        raise InputError(
            f"{prefix}inputs_embeds has shape {tuple(embeds.shape)}; (batch, position, width) is "
            f"wanted, for one text {prefix}inputs_embeds[None]"
        )
    for name, read in (("input_ids", ids), ("inputs_embeds", embeds)):
        if read is not None and limit is not None and read.shape[1] > limit:
            raise InputError(
                f"{prefix}{name} has {read.shape[1]} tokens, and the model takes {limit}; shorten "
                "it"
            )


def check_parts(model: nn.Module, fields: Collection[str]) -> None:
    """Refuse a text and an image together for a model that has a part for images."""
    parts = getattr(getattr(model, "config", None), "sub_configs", {})
    both = len(parts) > 1 and "input_ids" in fields and "pixel_values" in fields
    towers = hasattr(model, "text_model") and hasattr(model, "vision_model")
    if towers and (both or hasattr(model, "logit_scale")):  # CLIP and its kin, which compare two
        raise InputError(
            f"{type(model).__name__} reads text and image with parts of its own, and attention is "
            "within a part; pass one, as in attend(model.text_model, tokenizer, text) or "
            "attend(model.vision_model, None, pixel_values)"
        )
    if not both:
        return
    raise InputError(
        f"input_ids and pixel_values came for {type(model).__name__}; text and image in one "
        "sequence are not supported. Pass the text alone, without places for an image"
    )


def _check_devices(model: nn.Module, fields: dict[str, Any]) -> None:
    import torch

    home = device_of(model)
    away = {
        name: value.device
        for name, value in fields.items()
        if isinstance(value, torch.Tensor) and value.device != home
    }
    devices = {parameter.device for parameter in model.parameters()} if away else set()
    for name, device in away.items():
        if devices and device not in devices:
            raise InputError(
                f"{name or 'the input'} is on {device}, and the model on {home}; move one of "
                f"them, as in inputs.to({str(home)!r})"
            )
