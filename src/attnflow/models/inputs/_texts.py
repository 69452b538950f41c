"""Texts as a padded batch."""

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
    """Return texts, and the targets or generated tokens, as the input of one forward pass."""
    main = str(getattr(model, "main_input_name", "input_ids"))
    if main != "input_ids":
        raise InputError(
            f"expected {main} for {type(model).__name__}, got a text. Pass the output of its "
            "processor: processor(…, return_tensors='pt')"
        )
    check_parts(model, ["input_ids"])
    limit, reserved = token_limit(model), 0
    decoder = has_decoder(model)
    if generate is not None:
        new = count_new_tokens(model, generate, decoder_limit(model) if decoder else limit)
        reserved = 0 if decoder else new
    encoded = [
        tokenize(tokenizer, text, limit=limit, truncate=truncate, reserved=reserved)
        for text in texts
    ]
    for item in encoded:
        check_vocabulary(model, item.ids)
    if decoder:
        decoder_texts = _decoder_texts(
            model, tokenizer, encoded, targets, generate, truncate=truncate
        )
        fields, sources = _batch(model, encoded)
        added, positions = _batch(model, decoder_texts)
        fields |= {f"decoder_{name}": tensor for name, tensor in added.items()}
        return Inputs(_forward(model, fields), sources, positions, single)
    if targets is not None:
        raise InputError(
            f"target needs an encoder-decoder, got {type(model).__name__}. Append the target to "
            "the text"
        )
    if generate is not None:
        encoded = [generate_text(model, tokenizer, item, generate) for item in encoded]
    fields, sources = _batch(model, encoded)
    return Inputs(_forward(model, fields), sources, None, single)


def _decoder_texts(
    model: nn.Module,
    tokenizer: Any,
    encoded: list[TokenizedText],
    targets: list[str] | None,
    generate: Generate | None,
    *,
    truncate: bool,
) -> list[TokenizedText]:
    """Return what the decoder reads: its start token, and the target or the generated tokens."""
    start = start_token(model)
    begin = TokenizedText("", {"input_ids": [start]}, token_names(tokenizer, [start]), (None,))
    if generate is not None:
        if targets is not None:
            raise InputError("expected target or generate, got both")
        return [generate_text(model, tokenizer, item, generate, begin=begin) for item in encoded]
    if targets is None:
        return [begin] * len(encoded)
    limit = decoder_limit(model)
    texts: list[TokenizedText] = []
    for target in targets:
        item = tokenize(tokenizer, target, limit=limit, truncate=truncate, target=True)
        # The input of the decoder is its output shifted right: without the end token.
        end = len(item.ids) - item.ended
        texts.append(
            TokenizedText(
                target,
                {"input_ids": [start, *item.ids[:end]]},
                (*begin.tokens, *item.tokens[:end]),
                None if item.spans is None else (None, *item.spans[:end]),
            )
        )
    return texts


def _batch(
    model: nn.Module, encoded: list[TokenizedText]
) -> tuple[dict[str, Tensor], tuple[Positions, ...]]:
    """Return the batch, padded on the right with an attention mask if needed."""
    import torch

    lengths = [len(item.ids) for item in encoded]
    longest = max(lengths)
    tensors = {
        name: torch.tensor(
            [item.fields[name] + [0] * (longest - len(item.ids)) for item in encoded],
            device=device_of(model),
        )
        for name in encoded[0].fields
    }
    real = np.arange(longest) < np.array(lengths)[:, None]  # (text, position)
    padded = not real.all()
    if padded:
        tensors["attention_mask"] = torch.tensor(real.astype(np.int64), device=device_of(model))
    positions = tuple(
        Positions(item.tokens, item.spans, item.text, kept if padded else None, item.generated)
        for item, kept in zip(encoded, real, strict=True)
    )
    return tensors, positions


def _forward(model: nn.Module, fields: dict[str, Tensor]) -> dict[str, Any]:
    """Return the fields that the model's forward method takes."""
    if "input_ids" not in forward_parameters(model) and not hasattr(model, "main_input_name"):
        mask = fields.get("attention_mask")
        if mask is not None and not bool(mask.all()):
            raise InputError(
                f"{type(model).__name__}.forward takes no attention_mask, so texts of different "
                "lengths cannot be padded. Pass them one by one"
            )
        return {"": fields["input_ids"]}
    accepted: dict[str, Any] = {name: t for name, t in fields.items() if accepts(model, name)}
    return without_cache(model, accepted)
