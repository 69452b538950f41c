"""Texts as one padded batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.errors import InputError
from attnflow.models._families import token_limit
from attnflow.models._model import (
    accepts,
    check_vocabulary,
    device_of,
    forward_parameters,
    has_decoder,
    start_token,
    without_cache,
)
from attnflow.models.inputs._generate import Generate, count_new_tokens, generate_text
from attnflow.models.inputs._inputs import Inputs, Positions
from attnflow.models.inputs._tensors import check_parts
from attnflow.models.inputs._tokenize import TokenizedText, decoder_limit, token_names, tokenize

if TYPE_CHECKING:
    from torch import Tensor, nn


def prepare_texts(
    model: nn.Module,
    tokenizer: Any,
    texts: list[str],
    *,
    targets: list[str] | None,
    truncate: bool,
    generate: Generate | None,
    single: bool,
) -> Inputs:
    """Texts, and what a decoder is to read or to write, for one forward pass."""
    main = str(getattr(model, "main_input_name", "input_ids"))
    if main != "input_ids":
        raise InputError(
            f"a text came, and {type(model).__name__} takes {main}; pass what its processor gives: "
            "processor(…, return_tensors='pt')"
        )
    check_parts(model, ["input_ids"])
    limit, reserved = token_limit(model), 0
    decoder = has_decoder(model)
    if generate is not None:
        asked = count_new_tokens(model, generate, decoder_limit(model) if decoder else limit)
        reserved = 0 if decoder else asked
    encoded = [
        tokenize(tokenizer, each, limit=limit, truncate=truncate, reserved=reserved)
        for each in texts
    ]
    for each in encoded:
        check_vocabulary(model, each.ids)
    if decoder:
        decoded = _decoded(model, tokenizer, encoded, targets, generate, truncate=truncate)
        fields, sources = _batch(model, encoded)
        added, positions = _batch(model, decoded)
        fields |= {f"decoder_{name}": tensor for name, tensor in added.items()}
        return Inputs(_forward(model, fields), sources, positions, single)
    if targets is not None:
        raise InputError(
            f"target came, and {type(model).__name__} has no decoder of its own; put the target "
            "behind the text"
        )
    if generate is not None:
        encoded = [generate_text(model, tokenizer, each, generate) for each in encoded]
    fields, sources = _batch(model, encoded)
    return Inputs(_forward(model, fields), sources, None, single)


def _decoded(
    model: nn.Module,
    tokenizer: Any,
    encoded: list[TokenizedText],
    targets: list[str] | None,
    generate: Generate | None,
    *,
    truncate: bool,
) -> list[TokenizedText]:
    """What the decoder reads: its start token, and the target or what it writes by itself."""
    start = start_token(model)
    begin = TokenizedText("", {"input_ids": [start]}, token_names(tokenizer, [start]), (None,))
    if generate is not None:
        if targets is not None:
            raise InputError("target and generate came together; the decoder reads one of them")
        return [generate_text(model, tokenizer, each, generate, begin=begin) for each in encoded]
    if targets is None:
        return [begin] * len(encoded)
    limit = decoder_limit(model)
    sides: list[TokenizedText] = []
    for target in targets:
        said = tokenize(tokenizer, target, limit=limit, truncate=truncate, target=True)
        # The decoder reads what it has written so far, so not the end token that it writes last.
        last = len(said.ids) - said.ended
        sides.append(
            TokenizedText(
                target,
                {"input_ids": [start, *said.ids[:last]]},
                (*begin.tokens, *said.tokens[:last]),
                None if said.spans is None else (None, *said.spans[:last]),
            )
        )
    return sides


def _batch(
    model: nn.Module, encoded: list[TokenizedText]
) -> tuple[dict[str, Tensor], tuple[Positions, ...]]:
    """Fields of one length, filled up on the right; what is filled up is not attended to."""
    import torch

    lengths = [len(each.ids) for each in encoded]
    longest = max(lengths)
    tensors = {
        name: torch.tensor(
            [each.fields[name] + [0] * (longest - len(each.ids)) for each in encoded],
            device=device_of(model),
        )
        for name in encoded[0].fields
    }
    real = np.arange(longest) < np.array(lengths)[:, None]  # (text, position)
    padded = not real.all()
    if padded:
        tensors["attention_mask"] = torch.tensor(real.astype(np.int64), device=device_of(model))
    positions = tuple(
        Positions(each.tokens, each.spans, each.text, kept if padded else None, each.generated)
        for each, kept in zip(encoded, real, strict=True)
    )
    return tensors, positions


def _forward(model: nn.Module, fields: dict[str, Tensor]) -> dict[str, Any]:
    """Of the fields, those that the model takes."""
    if "input_ids" not in forward_parameters(model) and not hasattr(model, "main_input_name"):
        mask = fields.get("attention_mask")
        if mask is not None and not bool(mask.all()):
            raise InputError(
                f"{type(model).__name__}.forward takes no attention_mask, so texts of different "
                "lengths cannot be padded; pass them one by one"
            )
        return {"": fields["input_ids"]}
    taken: dict[str, Any] = {name: t for name, t in fields.items() if accepts(model, name)}
    return without_cache(model, taken)
