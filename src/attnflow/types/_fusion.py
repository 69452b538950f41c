"""From heads to edges: how the edge weights of an attention graph are made."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError

Fusion: TypeAlias = Literal["mean", "max", "min"]


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """How the heads of a layer become the weights of its edges, `A = (1 − r) W + r I`.

    W is the fused attention without the columns of `without` and without its smallest weights,
    rows renormalised; r is `residual`.
    """

    heads: Fusion
    residual: float
    discard_ratio: float
    without: tuple[int, ...]

    @property
    def settings(self) -> dict[str, object]:
        """The settings for the record; `without` only where there is any."""
        plain: dict[str, object] = {
            "heads": self.heads,
            "residual": self.residual,
            "discard_ratio": self.discard_ratio,
        }
        return plain | ({"without": self.without} if self.without else {})

    def edges(self, heads: checks.Floats, name: str) -> NDArray[np.float64]:
        """Edge weights (query, key) of self-attention from heads (head, query, key).

        `name` says in errors which layer it is. Three passes; discarding sorts the weights.

        >>> settings = EdgeSettings(heads="min", residual=0.5, discard_ratio=0.0, without=())
        >>> heads = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])
        >>> settings.edges(heads, "layer 1")
        array([[0.75, 0.25],
               [0.  , 1.  ]])
        """
        weights, empty = self.shares(heads, name)
        weights[empty, empty] = 1.0
        weights *= 1 - self.residual
        weights.flat[:: len(weights) + 1] += self.residual
        weights.setflags(write=False)  # it is the graph's from here on
        return weights

    def shares(
        self, heads: checks.Floats, name: str
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """W (query, key) alone, and the queries that are left with nothing to draw on.

        Rows sum to one, those of queries left with nothing to zero.
        """
        fused = _fused(heads, self.heads)
        if self.heads == "min" and not (some := fused.any(axis=1)).all():
            raise InputError(
                f"{name}, query {np.argmin(some)} is left without a key: its heads have none in "
                'common. Use heads="mean" or heads="max"'
            )
        fused[:, list(self.without)] = 0.0
        if self.discard_ratio:
            _discard(fused, self.discard_ratio)
        sums = fused.sum(axis=1, keepdims=True)
        empty = np.flatnonzero(sums == 0)
        sums[empty] = 1.0
        fused /= sums  # before anything else, since one by a tiny sum is beyond float64
        return fused, empty


def edge_settings(
    *,
    heads: Fusion,
    residual: float,
    discard_ratio: float,
    without: Iterable[int] | int,
    n_tokens: int,
    averaged: bool,
) -> EdgeSettings:
    """Check what a graph is asked for, of `n_tokens` positions and heads `averaged` or not."""
    if not isinstance(cast("object", heads), str) or heads not in get_args(Fusion):
        raise InputError(f"heads is {heads!r}; use one of {', '.join(get_args(Fusion))}")
    if averaged and heads != "mean":
        raise InputError(
            f"heads={heads!r} came, but this attention holds the mean of the heads only; read the "
            'model again with attend(…, heads="all")'
        )
    return EdgeSettings(
        heads=heads,
        residual=checks.as_fraction(residual, "residual"),
        discard_ratio=checks.as_fraction(discard_ratio, "discard_ratio"),
        without=_taken_out(without, n_tokens),
    )


def encoder_decoder_edges(
    settings: EdgeSettings, encoder: checks.Floats, decoder: checks.Floats, cross: checks.Floats
) -> list[NDArray[np.float64]]:
    """Layers of edges over source and target positions together, bottom first.

    One for each layer of the encoder, two for each of the decoder: self-attention, then
    cross-attention. Whoever does not attend in a layer is carried along, with unbounded weight.
    """
    n_target, n_source = cross.shape[2:]
    sources = tuple(j for j in settings.without if j < n_source)
    targets = tuple(j - n_source for j in settings.without if j >= n_source)
    reading, writing = replace(settings, without=sources), replace(settings, without=targets)
    layers: list[NDArray[np.float64]] = []
    for number, heads in enumerate(encoder, start=1):
        layers.append(_carrying(n_source + n_target))
        layers[-1][:n_source, :n_source] = reading.edges(heads, f"encoder layer {number}")
    for number, (own, across) in enumerate(zip(decoder, cross, strict=True), start=1):
        layers.append(_carrying(n_source + n_target))
        layers[-1][n_source:, n_source:] = writing.edges(own, f"decoder layer {number}")
        shares, empty = reading.shares(across, f"decoder layer {number}, cross-attention")
        itself = np.full(n_target, settings.residual)
        itself[empty] = 1.0
        layers.append(_carrying(n_source + n_target))
        layers[-1][n_source:, :n_source] = (1 - settings.residual) * shares
        layers[-1][n_source:, n_source:] = np.diag(itself)
    for layer in layers:
        layer.setflags(write=False)  # they are the graph's from here on
    return layers


def _carrying(n_tokens: int) -> NDArray[np.float64]:
    """A layer that carries every position along unchanged."""
    layer = np.zeros((n_tokens, n_tokens))
    np.fill_diagonal(layer, np.inf)
    return layer


def _taken_out(without: Iterable[int] | int, n_tokens: int) -> tuple[int, ...]:
    positions = checks.as_ints(without, "without")
    for position in positions:
        if not 0 <= position < n_tokens:
            raise InputError(
                f"position {position} is to be taken out; positions are 0 to {n_tokens - 1}"
            )
    return tuple(sorted(set(positions)))


def _fused(layer: checks.Floats, heads: Fusion) -> NDArray[np.float64]:
    """(head, query, key) -> (query, key), a new array of float64."""
    if heads == "mean":
        return layer.mean(axis=0, dtype=np.float64)
    return (layer.max(axis=0) if heads == "max" else layer.min(axis=0)).astype(np.float64)


def _discard(W: NDArray[np.float64], ratio: float) -> None:
    """Set the smallest share of the weights to zero, in place; a row keeps its strongest edge."""
    rows = np.arange(len(W))
    strongest = W.argmax(axis=1)
    kept = W[rows, strongest]
    # The small addition makes 0.29 of 100 edges 29: 0.29 * 100 is a little less in floats.
    count = int(ratio * W.size + 1e-9)
    # Stable, so that the choice among equal weights is the same on every machine.
    W.flat[np.argsort(W, axis=None, kind="stable")[:count]] = 0.0
    W[rows, strongest] = kept
