"""Tensors, as tokenizers and processors return them, for one forward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.models._decoders import decoder_limit, decoder_of, start_token
from attnflow.models._model import (
    check_parts,
    check_vocabulary,
    device_of,
    dtype_of,
    has_decoder,
    token_limit,
    without_cache,
)
from attnflow.models.inputs._inputs import Inputs, Positions, token_names

if TYPE_CHECKING:
    from torch import Tensor, nn

# Inputs that are checked here.
_CHECKED = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "decoder_")
    for name in ("input_ids", "inputs_embeds", "attention_mask")
) | {"pixel_values", "src_key_padding_mask", "tgt_key_padding_mask"}


def as_tensors(model: nn.Module, inputs: object) -> dict[str, Any]:
    """Return inputs as tensors by name; a single tensor is the model's main input."""
    import torch

    if isinstance(inputs, torch.Tensor):
        return {getattr(model, "main_input_name", ""): inputs}
    if not isinstance(inputs, Mapping):
        raise InputError(
            f"expected a text, a list of texts, or tensors, got {type(inputs).__name__}. For an "
            "image or audio, pass the output of the model's processor: "
            "processor(…, return_tensors='pt')"
        )
    named = cast("Mapping[str, Any]", inputs)
    if not named.keys().isdisjoint(("messages", "role")):
        raise InputError(
            "expected the messages of a chat as a list, such as [{'role': 'user', 'content': "
            f"'Hello'}}], got a mapping with {', '.join(map(str, named))}"
        )
    fields = {name: _tensor(model, name, value) for name, value in named.items()}
    for name in _CHECKED.intersection(fields):
        if not isinstance(fields[name], torch.Tensor | None):
            raise InputError(f"{name} must be a tensor, an array or lists, got {fields[name]!r}")
    return fields


def _tensor(model: nn.Module, name: str, value: Any) -> Any:
    """Return arrays and lists as tensors with the model's device and dtype."""
    import torch

    if not isinstance(value, np.ndarray | list | tuple):
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as reason:
        raise InputError(
            f"{name} cannot be converted to a tensor: {reason}. Pad the batch first"
        ) from reason
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} cannot be converted to a tensor: expected numbers, got values of type "
            f"{array.dtype.name}"
        )
    try:  # torch reads no other order of bytes, and no negative strides
        native = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        tensor = torch.as_tensor(native, device=device_of(model))
    except TypeError as reason:  # such as long double
        raise InputError(f"{name} cannot be converted to a tensor: {reason}") from reason
    return tensor.to(dtype_of(model)) if tensor.is_floating_point() else tensor


def prepare_tensors(model: nn.Module, tokenizer: Any, fields: dict[str, Any]) -> Inputs:
    """Return tensors as the input of one forward pass."""
    import torch

    main = _checked(model, fields)
    first = fields.get(main)
    if first is None:
        first = next((v for v in fields.values() if isinstance(v, torch.Tensor)), None)
    if first is None or first.ndim < 1 or not first.numel():
        raise InputError("expected tensors with a batch of at least one, got none or empty ones")
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
        # The batch axis of images is the first, that of sequences the first or second, if any.
        batches = (1, *map(int, first.shape[: 2 if first.ndim < 4 else 1]))
    return Inputs(
        forward=without_cache(model, fields),
        sources=tuple(sources),
        targets=targets,
        single=False,
        batches=batches,
    )


def _plain_positions(padding: Tensor | None) -> list[Positions]:
    """Return the positions of PyTorch's key padding mask, which is True for padding."""
    return [] if padding is None else [Positions(kept=~row) for row in _rows(padding)]


def _read_positions(
    tokenizer: Any, fields: dict[str, Any], prefix: str, size: int
) -> list[Positions]:
    """Return token names and padding of each example."""
    ids, embeds = fields.get(f"{prefix}input_ids"), fields.get(f"{prefix}inputs_embeds")
    names = [token_names(tokenizer, row.tolist()) for row in ids] if ids is not None else None
    mask, read = fields.get(f"{prefix}attention_mask"), ids if ids is not None else embeds
    kept = None
    # A mask with four axes is not about padding, nor has that of audio or images one entry per
    # position.
    if mask is not None and mask.ndim == 2 and read is not None:
        if mask.shape != read.shape[:2]:
            raise InputError(
                f"{prefix}attention_mask: expected shape {tuple(read.shape[:2])}, one number per "
                f"position, got {tuple(mask.shape)}"
            )
        kept = _rows(mask)
    positions: list[Positions] = []
    for i in range(size):
        real = None if kept is None or kept[i].all() else kept[i]
        if real is not None and not real.any():
            raise InputError(f"{prefix}attention_mask masks every position of example {i}")
        tokens = None if names is None else names[i]
        if tokens is not None and real is not None:
            tokens = tuple(token for token, keep in zip(tokens, real, strict=True) if keep)
        positions.append(Positions(tokens, kept=real))
    return positions


def _rows(mask: Tensor) -> list[NDArray[np.bool]]:
    rows = mask.detach().cpu().numpy()
    # PyTorch's masks may also be additive: minus infinity for padding.
    return list(np.atleast_2d(rows != 0 if rows.dtype.kind == "f" else rows.astype(bool)))


def _checked(model: nn.Module, fields: dict[str, Any]) -> str:
    """Check the inputs and return the name of the model's main input."""
    main = str(getattr(model, "main_input_name", ""))
    if main and main not in fields and "inputs_embeds" not in fields:
        raise InputError(
            f"expected {main} for {type(model).__name__}, got "
            f"{', '.join(map(str, fields)) or 'an empty mapping'}"
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
            "pixel_values: expected shape (batch, channel, row, column), got "
            f"{tuple(pixels.shape)}. For one image pass pixel_values[None]"
        )
    return main


def _check_sequence(
    prefix: str, model: nn.Module, fields: dict[str, Any], limit: int | None
) -> None:
    """Reject unknown token ids, wrong shapes, and more tokens than the model takes."""
    import torch

    ids, embeds = fields.get(f"{prefix}input_ids"), fields.get(f"{prefix}inputs_embeds")
    if ids is not None:
        # nn.Embedding takes no other integers.
        if ids.dtype not in (torch.int32, torch.int64) or ids.ndim != 2:
            raise InputError(
                f"{prefix}input_ids: expected int32 or int64 of shape (batch, position), got "
                f"{ids.dtype} of shape {tuple(ids.shape)}. For one text pass "
                f"{prefix}input_ids[None]"
            )
        if ids.numel():
            check_vocabulary(model, (int(ids.min()), int(ids.max())))
    if embeds is not None and embeds.ndim != 3:
        raise InputError(
            f"{prefix}inputs_embeds: expected shape (batch, position, width), got "
            f"{tuple(embeds.shape)}. For one text pass {prefix}inputs_embeds[None]"
        )
    for name, read in (("input_ids", ids), ("inputs_embeds", embeds)):
        if read is not None and limit is not None and read.shape[1] > limit:
            raise InputError(
                f"{prefix}{name}: expected at most {limit} tokens, the limit of the model, got "
                f"{read.shape[1]}"
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
                f"{name or 'the input'}: expected a tensor on {home}, the device of the model, got "
                f"one on {device}. Move it, as in inputs.to({str(home)!r})"
            )
