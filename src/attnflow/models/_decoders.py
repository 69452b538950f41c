"""What is known about a decoder, alone or of an encoder-decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attnflow.errors import InputError
from attnflow.models._families import DECODERS
from attnflow.models._model import has_decoder, token_limit

if TYPE_CHECKING:
    from torch import nn

# A walk over all modules takes as long as a layer of a small model.
_ARE_DECODERS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


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


def decoder_of(model: nn.Module) -> nn.Module:
    """Return the decoder of an encoder-decoder; the model itself without get_decoder."""
    part = getattr(model, "get_decoder", lambda: None)()
    return model if part is None else part


def decoder_limit(model: nn.Module) -> int | None:
    """Return how many tokens the decoder takes, its start token included; None if unlimited."""
    decoder = decoder_of(model)
    own = getattr(getattr(decoder, "config", None), "max_target_positions", None)  # of Whisper
    return own if isinstance(own, int) else token_limit(decoder)
