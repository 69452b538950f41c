"""Attention sinks: positions that receive most of the attention of a layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from attnflow._internal.checks import Floats
from attnflow._internal.display import position_name, token_names
from attnflow.errors import InputError

# What a view does with attention sinks.
Sinks: TypeAlias = Literal["remove", "keep"]

# Tokens that remain at least; scores of one token say nothing. Chosen.
_LEAST_LEFT = 2

# Most attention in the lowest layers alone, one in so many, makes no sink. Chosen on 400 sentences
# of the verb-number model, of which 216 have a word, mostly the noun, that receives more than half
# of layer 1 or 2 of 6; the sinks of SmolLM2 and MiniLM receive most attention in the middle and
# upper layers.
_LOWEST = 3


@dataclass(frozen=True, slots=True)
class Sink:
    """A position that receives more than half of the attention of a layer above the lowest third.

    `share` is its attention weight, averaged over the heads and queries of layer `layer`, numbered
    from 1; lower layers of the same position count too. Trained decoders attend to the first token
    where no other token is relevant; `without` excludes such positions. A position with most of the
    attention of the lowest layers only is no sink: often it is a word that others depend on.

    Xiao et al. (2024), https://arxiv.org/abs/2309.17453

    >>> import attnflow as af
    >>> af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]]).sinks
    (Sink(layer=1, position=0, share=0.75),)
    """

    layer: int
    position: int
    share: float


def sinks_of(
    weights: Floats, *, causal: bool = False, layers: Sequence[int] | None = None, first: int = 0
) -> tuple[Sink, ...]:
    """Return the sinks of weights (layer, head, query, key).

    `weights` are all layers of a stack, `layers` their numbers, by default 1, 2, …, and `first` is
    the position of the first key. A single key is not a sink. The first query of a `causal` model
    has no other key and is not counted. One pass over the weights.
    """
    if weights.shape[3] == 1:
        return ()
    weights = weights[:, :, 1:] if causal else weights
    numbers = range(1, len(weights) + 1) if layers is None else layers
    rows = weights.shape[1] * weights.shape[2]
    shares = weights.sum(axis=2).sum(axis=1, dtype=np.float64) / rows  # (layer, key)
    most = shares > 0.5
    most &= most[len(most) // _LOWEST :].any(axis=0)
    return tuple(
        Sink(numbers[layer], first + key, shares.item(layer, key))
        for layer, key in np.argwhere(most).tolist()
    )


def sinks_to_remove(
    sinks: Sequence[Sink], n_tokens: int, setting: object = "remove"
) -> tuple[int, ...]:
    """Return the positions that a view with the setting `sinks` takes out.

    There are none with "keep", or if fewer than two of the tokens would be left.

    >>> sinks_to_remove([Sink(1, 0, 0.6), Sink(2, 0, 0.8)], 5)
    (0,)
    """
    if not isinstance(setting, str) or setting not in ("remove", "keep"):
        raise InputError(f'sinks must be "remove" or "keep", got {setting!r}')
    positions = tuple(sorted({sink.position for sink in sinks}))
    enough = n_tokens - len(positions) >= _LEAST_LEFT
    return positions if setting == "remove" and enough else ()


def describe_sinks(sinks: Sequence[Sink], tokens: Sequence[str]) -> str:
    """Return a sentence about the sinks, position by position; `tokens` names the positions.

    >>> describe_sinks([Sink(1, 0, 0.6), Sink(2, 0, 0.8), Sink(3, 1, 0.7)], ["<s>", "a"])
    'position 0 <s> receives 80 % of the attention of layer 2, and more than half in 2 layers; \
position 1 a receives 70 % of the attention of layer 3'
    """
    parts: list[str] = []
    names = token_names(tokens)
    for position in sorted({sink.position for sink in sinks}):
        layers = [sink for sink in sinks if sink.position == position]
        largest = max(layers, key=lambda sink: sink.share)
        others = f", and more than half in {len(layers)} layers" if len(layers) > 1 else ""
        parts.append(
            f"position {position_name(position, names)} receives {100 * largest.share:.0f} % of "
            f"the attention of layer {largest.layer}{others}"
        )
    return "; ".join(parts)
