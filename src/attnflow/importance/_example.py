"""What a model reads, example by example: each a batch of one, nothing padded that came as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Positions,
    forward_parameters,
    has_decoder,
    inner_tokenizer,
    name_positions,
    prepare,
    token_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

    from attnflow.types import Origin

# Names of the input that has a position for each token; "" is the one argument of a plain module.
_MAIN = ("input_ids", "", "inputs_embeds")

# Texts that are made tensors at once: so many that what is asked of the model each time counts for
# little, so few that those filled up to the longest take no memory to speak of. Chosen.
_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Example:
    """One input of a model."""

    fields: dict[str, Any]  # what the model is called with, a batch of one
    main: str  # which of them has a position for each token
    kept: tuple[int, ...]  # positions that are not padding
    tokens: tuple[str, ...]  # their names
    origin: Origin | None
    text: str  # empty where ready inputs came
    # The position whose output is read, of models that have one a position; None: not known.
    place: int | None
    asked: bool  # whether the caller named it

    @property
    def answering(self) -> int | None:
        """The same as callers count positions: among those of the result, or of the decoder."""
        if self.place is None or "decoder_input_ids" in self.fields:
            return self.place
        return self.kept.index(self.place)

    @property
    def read(self) -> Tensor:
        """Ids (1, position), or embeddings (1, position, width)."""
        return self.fields[self.main]


def examples_of(
    model: nn.Module, tokenizer: Any, text: ModelInput, *, position: int | None, truncate: bool
) -> tuple[list[Example], bool]:
    """The examples of what came, and whether one came and not a list of them."""
    several = isinstance(text, list | tuple)
    prepared = list(_prepared(model, tokenizer, text, truncate=truncate))
    if has_decoder(model) and type(model).__name__.endswith("ForSequenceClassification"):
        raise UnsupportedModelError(
            f"{type(model).__name__} reads a text twice, in its encoder and in its decoder, so "
            "that a token has two embeddings; use a classifier without a decoder"
        )
    reader = _Reader.of(model, tokenizer, position)
    texts = several or isinstance(text, str)
    found = [example for inputs in prepared for example in _split(reader, inputs, texts=texts)]
    return found, not several and len(found) == 1


def _prepared(
    model: nn.Module, tokenizer: Any, text: ModelInput, *, truncate: bool
) -> Iterator[Inputs]:
    if not isinstance(text, list | tuple) or len(text) < 2:
        yield prepare(model, tokenizer, text, truncate=truncate)
        return
    # A plain module takes ids and no mask, so texts of different lengths one by one only.
    plain = "input_ids" not in _parameters(model) and not hasattr(model, "main_input_name")
    size = 1 if plain else _TEXTS_AT_ONCE
    for start in range(0, len(text), size):
        part = list(text[start : start + size])
        yield prepare(model, tokenizer, part, truncate=truncate)


def _parameters(model: nn.Module) -> frozenset[str]:
    """Names of what a model takes; none of what is no model, which is refused elsewhere."""
    return frozenset(forward_parameters(model)) if hasattr(model, "forward") else frozenset()


def _split(reader: _Reader, inputs: Inputs, *, texts: bool) -> list[Example]:
    """Example by example; where texts came, without what the shorter ones were filled up with."""
    import torch

    fields = inputs.forward
    main = _main(reader.model, fields)
    size = len(fields[main])
    sources = inputs.sources or (Positions(),) * size
    examples: list[Example] = []
    for number, source in enumerate(sources):
        own = {
            name: value[number : number + 1]
            if isinstance(value, torch.Tensor) and value.ndim and len(value) == size
            else value
            for name, value in fields.items()
        }
        if texts and source.kept is not None:
            length = int(source.kept.sum())  # filled up on the right
            own = {
                name: value[:, :length]
                if isinstance(value, torch.Tensor) and not name.startswith("decoder_")
                else value
                for name, value in own.items()
            }
            source = replace(source, kept=None)  # noqa: PLW2901 (the same, cut)
        examples.append(reader.example(own, main, source))
    return examples


def _main(model: nn.Module, fields: dict[str, Any]) -> str:
    """The name of the input with a position for each token."""
    import torch

    tensors = [name for name, value in fields.items() if isinstance(value, torch.Tensor)]
    main = next((name for name in _MAIN if name in tensors), tensors[0])
    read = fields[main]
    if read.ndim != (3 if read.is_floating_point() else 2):
        raise InputError(
            f"{main or 'the input'} of {type(model).__name__} has shape {tuple(read.shape)} of "
            f"{read.dtype}; importance is of tokens: ids (batch, position) are wanted, or "
            "embeddings (batch, position, width)"
        )
    return main


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is known of a model before it reads: asked once, not for each example."""

    model: nn.Module
    tokenizer: Any
    position: int | None  # that the caller named
    mask: int | None  # the id of the mask token
    writes: bool  # whether its last output is the next token
    keeps: bool  # whether it can give the last logits alone

    @classmethod
    def of(cls, model: nn.Module, tokenizer: Any, position: int | None) -> _Reader:
        if position is not None:
            position = checks.as_int(position, "position")
        mask = None
        if tokenizer is not None:
            mask = getattr(inner_tokenizer(tokenizer), "mask_token_id", None)
        writes = getattr(model, "can_generate", None)
        return cls(
            model,
            tokenizer,
            position,
            mask=mask,
            writes=writes is not None and bool(writes()),
            keeps="logits_to_keep" in _parameters(model) and not has_decoder(model),
        )

    def example(self, fields: dict[str, Any], main: str, source: Positions) -> Example:
        """One example, of what the model is called with for it alone."""
        read: Tensor = fields[main]
        kept = tuple(range(read.shape[1]))
        if source.kept is not None:
            kept = tuple(int(place) for place in np.flatnonzero(source.kept))
        if source.tokens is None and not read.is_floating_point():
            source = Positions(token_names(self.tokenizer, read[0, list(kept)].tolist()))
        tokens, origin = name_positions(self.model, {}, source, len(kept))
        place = self._place(fields, read, kept)
        if place is not None and self.keeps and "logits_to_keep" not in fields:
            # From there on alone: logits of a whole vocabulary at every position are large.
            fields = {**fields, "logits_to_keep": read.shape[1] - place}
        asked = self.position is not None
        return Example(fields, main, kept, tokens, origin, source.text, place, asked)

    def _place(self, fields: dict[str, Any], read: Tensor, kept: tuple[int, ...]) -> int | None:
        """The position whose output answers: named, that of the mask, or the last that writes."""
        decoder = fields.get("decoder_input_ids")
        places = kept if decoder is None else tuple(range(decoder.shape[1]))
        if self.position is not None:
            if not 0 <= self.position < len(places):
                raise InputError(
                    f"position is {self.position}; positions are 0 to {len(places) - 1}"
                )
            return places[self.position]
        if decoder is not None:
            return places[-1]
        if self.mask is not None and not read.is_floating_point():
            ids = read[0].tolist()
            masked = [place for place in kept if ids[place] == self.mask]
            if masked:
                return masked[0] if len(masked) == 1 else None
        return places[-1] if self.writes else None
