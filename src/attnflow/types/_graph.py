"""AttentionGraph: the paper's directed acyclic graph of tokens and hidden embeddings."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.html_table import html_table
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord


@dataclass(frozen=True, slots=True, eq=False)
class AttentionGraph(StoredRecord):
    """Attention graph: heads fused, residual connections added.

    `layers[l - 1][i, k]` is the weight of the edge from node i of layer l to node k of layer
    l − 1. Layer 0 is the input; layers may differ in their number of nodes. Axes and numbers of
    layers are those of `Attention`.

    Parameters
    ----------
    layers
        One matrix (n_above, n_below) per layer, bottom first; weights are 0 or more. An infinite
        weight is an identity edge: unbounded for flow, weight one for raw and rollout. float32 is
        kept as float32; the methods compute in float64.
    tokens
        Names of the nodes of layer 0; by default their positions.
    tops
        Matrices of the same shapes. `tops[l - 1]` replaces `layers[l - 1]` for scores of layer l,
        and only there: the single head of the paper's appendix A.1.
    settings
        How the graph was made; empty for a graph that was passed directly.
    origin
        Text or image that the nodes of layer 0 come from, if known.

    Notes
    -----
    Memory is that of the matrices; arrays that are read-only and own their memory are not copied.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> g = af.AttentionGraph([[[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]], ["a", "b", "c"])
    >>> g
    AttentionGraph(layers=1, nodes=3→2)
    >>> g.sizes
    (3, 2)
    """

    layers: tuple[checks.Floats, ...]
    tokens: tuple[str, ...]
    tops: tuple[checks.Floats, ...] | None
    settings: Settings
    origin: Origin | None
    _sizes: tuple[int, ...] = field(init=False)
    _bounded: bool = field(init=False)  # whether all weights are finite

    _REQUIRED = ("layer_1",)
    _OPTIONAL = ("layer_*", "top_*", "tokens", "settings", "origin")

    def __init__(
        self,
        layers: Iterable[ArrayLike],
        tokens: Iterable[str] | None = None,
        *,
        tops: Iterable[ArrayLike] | None = None,
        settings: Settings | None = None,
        origin: Origin | None = None,
    ) -> None:
        matrices = _matrices(layers, "layers")
        for number, (below, above) in enumerate(itertools.pairwise(matrices), start=1):
            if above.shape[1] != below.shape[0]:
                raise InputError(
                    f"layers[{number}] has shape {above.shape}, layers[{number - 1}] below it "
                    f"{below.shape}. A matrix (n_above, n_below) must have as many columns as the "
                    "one below has rows. Pass the bottom layer first"
                )
        heads = None if tops is None else _matrices(tops, "tops")
        shapes = [matrix.shape for matrix in matrices]
        if heads is not None and (received := [matrix.shape for matrix in heads]) != shapes:
            raise InputError(f"tops: expected the shapes of layers, {shapes}, got {received}")
        self._set(
            layers=matrices,
            tokens=checks.as_tokens(tokens, matrices[0].shape[1]),
            tops=heads,
            settings=freeze_settings(settings),
            origin=check_origin(origin, matrices[0].shape[1]),
            _sizes=(matrices[0].shape[1], *(matrix.shape[0] for matrix in matrices)),
            _bounded=all(matrix.max() < np.inf for matrix in (*matrices, *(heads or ()))),
        )

    @property
    def n_layers(self) -> int:
        """The number of layers above the input, the paper's L."""
        return len(self.layers)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of layers 0, 1, …, L."""
        return self._sizes

    def names(self, layer: int) -> tuple[str, ...]:
        """Return the names of the nodes of layer 0…L.

        Nodes of a layer as large as the input are the same positions and have the names of the
        tokens. In other layers they are numbered.
        """
        size = self.sizes[layer]
        return self.tokens if size == len(self.tokens) else checks.as_tokens(None, size)

    def top(self, layer: int) -> checks.Floats:
        """Return the matrix for scores of layer 1…L, see `tops`."""
        return (self.layers if self.tops is None else self.tops)[layer - 1]

    def proportions(self, layer: int, *, top: bool = False) -> NDArray[np.float64]:
        """Return the weights of layer 1…L as float64 with one instead of infinity.

        With `top`, those of `tops`. A float64 layer of a graph without infinite weights is not
        copied.

        >>> AttentionGraph([[[0.5, float("inf")]]]).proportions(1)
        array([[0.5, 1. ]])
        """
        matrix = self.top(layer) if top else self.layers[layer - 1]
        matrix = matrix.astype(np.float64, copy=False)
        return matrix if self._bounded else np.where(np.isinf(matrix), 1.0, matrix)

    def __repr__(self) -> str:
        same = len(set(self.sizes)) == 1
        nodes = str(self.sizes[0]) if same else "→".join(map(str, self.sizes))
        return f"AttentionGraph(layers={self.n_layers}, nodes={nodes})"

    def _repr_html_(self) -> str:
        """Return one row per layer as HTML: its size and its number of edges."""
        rows = [
            [str(number), f"{m.shape[0]} by {m.shape[1]}", f"{np.count_nonzero(m)} of {m.size}"]
            for number, m in enumerate(self.layers, start=1)
        ]
        return html_table(repr(self), ["layer", "nodes above by below", "edges"], rows)


def _matrices(values: Iterable[ArrayLike], name: str) -> tuple[checks.Floats, ...]:
    try:
        items = tuple(values)
    except TypeError as reason:
        received = type(values).__name__
        raise InputError(f"{name}: expected one matrix per layer, got {received}") from reason
    matrices = tuple(_matrix(value, f"{name}[{i}]") for i, value in enumerate(items))
    if not matrices:
        raise InputError(f"{name}: expected at least one layer, got none")
    return matrices


def _matrix(value: object, name: str) -> checks.Floats:
    matrix = checks.as_floats(value, name)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(
            f"{name}: expected 2 axes (n_above, n_below), none empty, got shape {matrix.shape}. "
            "For weights with heads, use Attention(weights).graph()"
        )
    if not matrix.min() >= 0:  # also when it is NaN
        i, k = np.unravel_index(np.argmin(matrix >= 0), matrix.shape)
        raise InputError(f"weights must be 0 or more, got {name}[{i}, {k}] = {matrix[i, k]}")
    return checks.as_read_only(matrix)
