"""Edge weights of an attention graph from the heads of each layer."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError

Fusion: TypeAlias = Literal["mean", "max", "min"]
# Weights that are fused at once: few calls for a short text, little memory for a long one. Chosen.
_BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """Settings that turn the heads of a layer into edge weights, `A = (1 − r) W + r I`.

    W is the fused attention without the columns of `without` and without its smallest weights,
    rows renormalized; r is `residual`.
    """

    heads: Fusion
    residual: float
    discard_ratio: float
    without: tuple[int, ...]

    @property
    def settings(self) -> dict[str, object]:
        """The settings as a dictionary; `without` only if it is not empty."""
        settings: dict[str, object] = {
            "heads": self.heads,
            "residual": self.residual,
            "discard_ratio": self.discard_ratio,
        }
        return settings | ({"without": self.without} if self.without else {})

    def edges(self, weights: checks.Floats, name: str) -> list[NDArray[np.float64]]:
        """Return edge weights (query, key) of each layer of self-attention.

        `weights` are (layer, head, query, key); `name` is the name of a layer in errors, with a
        place for its number. Takes three passes; discarding sorts the weights.

        >>> settings = EdgeSettings(heads="min", residual=0.5, discard_ratio=0.0, without=())
        >>> heads = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])
        >>> settings.edges(heads[None], "layer {}")
        [array([[0.75, 0.25],
               [0.  , 1.  ]])]
        """
        found: list[NDArray[np.float64]] = []
        n_tokens, step = weights.shape[-1], max(1, _BLOCK // weights[0].size)
        for start in range(0, len(weights), step):
            block, (layers, empty) = self.shares(weights[start : start + step], name, start + 1)
            block[layers, empty, empty] = 1.0
            block *= 1 - self.residual
            block.reshape(len(block), -1)[:, :: n_tokens + 1] += self.residual  # the diagonals
            found += [layer.copy() for layer in block]
        for layer in found:
            layer.setflags(write=False)  # so that the graph does not copy it
        return found

    def shares(
        self, weights: checks.Floats, name: str, first: int
    ) -> tuple[NDArray[np.float64], tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return W (layer, query, key), and layers and queries without any weight left.

        Rows sum to one, those of queries without weight to zero. `first` is the number of the first
        layer, for errors.
        """
        # Functions, since the methods of arrays take longer than the work on a short text.
        reduce = {"mean": np.add, "max": np.maximum, "min": np.minimum}[self.heads].reduce
        fused = reduce(weights, axis=1, dtype=np.float64)
        if self.heads == "mean":
            fused /= weights.shape[1]
        if self.heads == "min" and not (some := fused.any(axis=2)).all():
            layer, query = np.argwhere(~some)[0]
            raise InputError(
                f"{name.format(first + layer)}, query {query}: the minimum over heads is zero for "
                'every key. Use heads="mean" or heads="max"'
            )
        if self.without:
            fused[:, :, list(self.without)] = 0.0
        if self.discard_ratio:
            for layer in fused:
                _discard(layer, self.discard_ratio)
        sums = np.add.reduce(fused, axis=2, keepdims=True)
        layers, empty, _ = np.nonzero(sums == 0)
        sums[layers, empty] = 1.0
        fused /= sums  # not multiplied by 1 / sums, which overflows for tiny sums
        return fused, (layers, empty)


def edge_settings(
    heads: Fusion,
    residual: float,
    discard_ratio: float,
    without: Iterable[int] | int,
    *,
    n_tokens: int,
    averaged: bool,
) -> EdgeSettings:
    """Return checked settings for attention of `n_tokens` positions, heads `averaged` or not."""
    if not isinstance(cast("object", heads), str) or heads not in get_args(Fusion):
        raise InputError(f"heads must be one of {', '.join(get_args(Fusion))}, got {heads!r}")
    if averaged and heads != "mean":
        raise InputError(
            f'heads must be "mean", since this attention holds only the mean of the heads, got '
            f'{heads!r}. Compute it again with attend(…, heads="all")'
        )
    return EdgeSettings(
        heads=heads,
        residual=checks.as_float(residual, "residual"),
        discard_ratio=checks.as_float(discard_ratio, "discard_ratio"),
        without=_positions(without, n_tokens),
    )


def encoder_decoder_edges(
    settings: EdgeSettings, encoder: checks.Floats, decoder: checks.Floats, cross: checks.Floats
) -> list[NDArray[np.float64]]:
    """Return edge weights over source and target positions, one matrix per layer, bottom first.

    The encoder has one matrix per layer, the decoder two: self-attention, then cross-attention.
    A position that does not attend in a layer has one edge to itself, of infinite weight.
    """
    n_target, n_source = cross.shape[2:]
    sources = tuple(j for j in settings.without if j < n_source)
    targets = tuple(j - n_source for j in settings.without if j >= n_source)
    to_source, to_target = replace(settings, without=sources), replace(settings, without=targets)
    layers: list[NDArray[np.float64]] = []
    for edges in to_source.edges(encoder, "encoder layer {}"):
        layers.append(_identity(n_source + n_target))
        layers[-1][:n_source, :n_source] = edges
    for number, edges in enumerate(to_target.edges(decoder, "decoder layer {}")):
        layers.append(_identity(n_source + n_target))
        layers[-1][n_source:, n_source:] = edges
        shares, (_, empty) = to_source.shares(
            cross[number : number + 1], "decoder layer {}, cross-attention", number + 1
        )
        itself = np.full(n_target, settings.residual)
        itself[empty] = 1.0
        layers.append(_identity(n_source + n_target))
        layers[-1][n_source:, :n_source] = (1 - settings.residual) * shares[0]
        layers[-1][n_source:, n_source:] = np.diag(itself)
    for layer in layers:
        layer.setflags(write=False)  # so that the graph does not copy it
    return layers


def _identity(n_tokens: int) -> NDArray[np.float64]:
    """Return a layer in which every position has one edge, to itself, of infinite weight."""
    layer = np.zeros((n_tokens, n_tokens))
    np.fill_diagonal(layer, np.inf)
    return layer


def _positions(without: Iterable[int] | int, n_tokens: int) -> tuple[int, ...]:
    positions = checks.as_ints(without, "without")
    for position in positions:
        if not 0 <= position < n_tokens:
            raise InputError(f"without: expected positions 0 to {n_tokens - 1}, got {position}")
    return tuple(sorted(set(positions)))


def _discard(W: NDArray[np.float64], ratio: float) -> None:
    """Set the smallest weights to zero, in place; a row keeps its largest."""
    rows = np.arange(len(W))
    largest = W.argmax(axis=1)
    kept = W[rows, largest]
    # The small addition makes 0.29 of 100 edges 29, since 0.29 * 100 is less in floats.
    count = int(ratio * W.size + 1e-9)
    # Stable, so that of equal weights the same ones are chosen on every machine.
    W.flat[np.argsort(W, axis=None, kind="stable")[:count]] = 0.0
    W[rows, largest] = kept
