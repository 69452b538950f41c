"""The inputs of a model one by one: each is a batch of one, and padding is cut off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models.inputs import (
    Inputs,
    Positions,
    TextInput,
    forward_parameters,
    has_decoder,
    inner_tokenizer,
    is_single,
    is_text,
    name_positions,
    prepare,
    takes_padding,
    token_names,
)
from attnflow.types import Origin

if TYPE_CHECKING:
    from torch import Tensor, nn

# Arguments with a position for each token; "" is the only argument of a plain module.
_MAIN = ("input_ids", "", "inputs_embeds")

# Texts that become tensors together: enough that checks of the model cost little per text, few
# enough that padding takes little memory. Chosen.
_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class SingleInput:
    """One input of a model, as a batch of one."""

    fields: dict[str, Any]  # arguments of the forward pass
    main: str  # the argument with a position for each token
    kept: tuple[int, ...]  # positions that are not padding
    tokens: tuple[str, ...]  # their names
    origin: Origin | None
    text: str  # empty for tensors
    # The position whose logits are read if the model has logits at every position; None: unknown.
    read_at: int | None
    given_position: int | None  # the position that the caller chose

    @property
    def ids(self) -> Tensor:
        """Ids (1, position), or embeddings (1, position, width)."""
        return self.fields[self.main]

    @property
    def decodes(self) -> bool:
        """Whether `read_at` is a position of a decoder, not one of the tokens."""
        return "decoder_input_ids" in self.fields

    @property
    def position(self) -> int | None:
        """`read_at` as callers count: among `tokens`, or among the decoder's positions."""
        if self.read_at is None or self.decodes:
            return self.read_at
        return self.kept.index(self.read_at)


def single_inputs(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    *,
    position: int | None = None,
    truncate: bool = False,
) -> tuple[list[SingleInput], bool]:
    """Return the inputs in `text`, and whether it is one text, not a list or a batch."""
    prepared = list(_prepared(model, tokenizer, text, truncate=truncate))
    if has_decoder(model) and type(model).__name__.endswith("ForSequenceClassification"):
        raise UnsupportedModelError(
            f"{type(model).__name__} reads a text in its encoder and again in its decoder, so that "
            "a token has two embeddings; use a classifier without a decoder"
        )
    found = [
        _read(model, tokenizer, *fields, position)
        for inputs in prepared
        for fields in split_batch(inputs)
    ]
    return found, is_single(text)


def _prepared(
    model: nn.Module, tokenizer: Any, text: TextInput, *, truncate: bool
) -> Iterator[Inputs]:
    if not isinstance(text, list) or is_text(text):
        yield prepare(model, tokenizer, text, truncate=truncate)
        return
    size = _TEXTS_AT_ONCE if takes_padding(model) else 1
    for start in range(0, max(1, len(text)), size):
        yield prepare(model, tokenizer, text[start : start + size], truncate=truncate)


def split_batch(inputs: Inputs) -> Iterator[tuple[dict[str, Any], str, Positions]]:
    """Yield the arguments for each input of a batch, the main one, and its positions."""
    import torch

    fields = inputs.forward
    tensors = [name for name, value in fields.items() if isinstance(value, torch.Tensor)]
    main = next((name for name in _MAIN if name in tensors), tensors[0])
    size = len(fields[main])
    for number, source in enumerate(inputs.sources or (Positions(),) * size):
        own = {
            name: value[number : number + 1]
            if isinstance(value, torch.Tensor) and value.ndim and len(value) == size
            else value
            for name, value in fields.items()
        }
        own, source = _without_padding(own, main, source)  # noqa: PLW2901 (the same, cut)
        yield own, main, source


def _without_padding(
    fields: dict[str, Any], main: str, source: Positions
) -> tuple[dict[str, Any], Positions]:
    """Cut padding off at both ends, so that results do not depend on how much there is of it.

    Padding between tokens stays, as does all padding where an argument, such as a mask with four
    axes, has positions on other axes than the second.
    """
    import torch

    if source.kept is None:
        return fields, source
    places = np.flatnonzero(source.kept)
    start, stop = int(places[0]), int(places[-1]) + 1
    tensors = {
        name: value
        for name, value in fields.items()
        if isinstance(value, torch.Tensor) and value.ndim > 1 and not name.startswith("decoder_")
    }
    length = fields[main].shape[1]
    flat = all(
        value.shape[1] == length and (value.ndim == 2 or name == main)
        for name, value in tensors.items()
    )
    if stop - start > len(places) or not flat:
        return fields, source
    cut = {name: value[:, start:stop] for name, value in tensors.items()}
    return {**fields, **cut}, replace(source, kept=None)


def _check_tokens(model: nn.Module, main: str, ids: Tensor) -> None:
    """Reject an input that is neither ids nor embeddings of tokens."""
    if ids.ndim != (3 if ids.is_floating_point() else 2):
        raise InputError(
            f"{main or 'the input'} of {type(model).__name__}: expected ids (batch, position) or "
            f"embeddings (batch, position, width), got {ids.dtype} of shape {tuple(ids.shape)}. "
            "Importance is computed for tokens; for an image, use attnflow.edges.gradient"
        )


def _read(
    model: nn.Module,
    tokenizer: Any,
    fields: dict[str, Any],
    main: str,
    source: Positions,
    position: int | None,
) -> SingleInput:
    ids: Tensor = fields[main]
    _check_tokens(model, main, ids)
    kept = tuple(range(ids.shape[1]))
    if source.kept is not None:
        kept = tuple(int(place) for place in np.flatnonzero(source.kept))
    if source.tokens is None and not ids.is_floating_point():
        source = Positions(token_names(tokenizer, ids[0, list(kept)].tolist()))
    tokens, origin = name_positions(model, {}, source, len(kept))
    read_at = _read_at(model, tokenizer, fields, ids, kept, position)
    keeps = "logits_to_keep" in forward_parameters(model) and not has_decoder(model)
    if read_at is not None and keeps and "logits_to_keep" not in fields:
        # From there on only: logits of a vocabulary at every position take much memory.
        fields = {**fields, "logits_to_keep": ids.shape[1] - read_at}
    return SingleInput(fields, main, kept, tokens, origin, source.text, read_at, position)


def _read_at(
    model: nn.Module,
    tokenizer: Any,
    fields: dict[str, Any],
    ids: Tensor,
    kept: tuple[int, ...],
    position: int | None,
) -> int | None:
    """Return the chosen position, that of the mask, or the last one of a model that generates."""
    decoder = fields.get("decoder_input_ids")
    places = kept if decoder is None else tuple(range(decoder.shape[1]))
    if position is not None:
        number = checks.as_int(position, "position")
        # Another one is an error once the model is known to have an output at every position.
        return places[number] if 0 <= number < len(places) else None
    if decoder is not None:
        return places[-1]
    inner = None if tokenizer is None else inner_tokenizer(tokenizer)
    mask = getattr(inner, "mask_token_id", None)
    if mask is not None and not ids.is_floating_point():
        row = ids[0].tolist()
        masked = [place for place in kept if row[place] == mask]
        if masked:
            return masked[0] if len(masked) == 1 else None
    return places[-1] if getattr(model, "can_generate", bool)() else None
