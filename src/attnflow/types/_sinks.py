"""Attention sinks: positions that most of a layer looks at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnflow._internal.checks import Floats


@dataclass(frozen=True, slots=True)
class Sink:
    """A position that takes more than half of a layer's attention.

    `share` is what the position takes on average over the heads and queries of layer `layer`,
    numbered from 1. Trained decoders put attention that they have no use for on the first token,
    which says little about it; `without` takes such positions out.

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
    """Sinks of weights (layer, head, query, key).

    `layers` are the numbers of the layers, by default 1, 2, …, and `first` is the position of the
    first key. A single key is no sink, and the first query of a `causal` model, which sees itself
    alone, does not count: there is nothing else to look at. One pass over the weights.
    """
    if weights.shape[3] == 1:
        return ()
    weights = weights[:, :, 1:] if causal else weights
    numbers = range(1, len(weights) + 1) if layers is None else layers
    rows = weights.shape[1] * weights.shape[2]
    taken = weights.sum(axis=2).sum(axis=1, dtype=np.float64) / rows  # (layer, key)
    return tuple(
        Sink(numbers[layer], first + key, taken.item(layer, key))
        for layer, key in np.argwhere(taken > 0.5).tolist()
    )


def describe_sinks(sinks: Sequence[Sink], tokens: Sequence[str]) -> str:
    """The sinks in words, position by position; `tokens` names the positions.

    >>> describe_sinks([Sink(1, 0, 0.6), Sink(2, 0, 0.8), Sink(3, 1, 0.7)], ["<s>", "a"])
    "'<s>' (position 0) takes 80 % of layer 2's attention, more than half of 2 layers'; \
'a' (position 1) takes 70 % of layer 3's attention"
    """
    each: list[str] = []
    for position in sorted({sink.position for sink in sinks}):
        its = [sink for sink in sinks if sink.position == position]
        most = max(its, key=lambda sink: sink.share)
        others = f", more than half of {len(its)} layers'" if len(its) > 1 else ""
        each.append(
            f"{tokens[position]!r} (position {position}) takes {100 * most.share:.0f} % of layer "
            f"{most.layer}'s attention{others}"
        )
    return "; ".join(each)
