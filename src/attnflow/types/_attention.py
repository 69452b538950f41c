"""Attention: what goes in.

THE axis convention. `weights[layer, head, query, key]` is how much `query` (a position that
attends) takes from `key` (a position attended to). Every row `weights[layer, head, query, :]` sums
to one. Matrices keep this order everywhere: rows take, columns give. Layers are numbered as in the
paper, layer 0 being the input, so `weights[0]` is layer 1. Heads and positions count from 0.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from attnflow._internal import checks, storage
from attnflow._internal.html_table import count_and_names, html_table
from attnflow.errors import InputError
from attnflow.types._fusion import Fusion, edge_settings
from attnflow.types._graph import AttentionGraph
from attnflow.types._origin import (
    Origin,
    check_origin,
    origin_from_json,
    origin_to_json,
    predicting,
)
from attnflow.types._sinks import Sink, describe_sinks, sinks_of
from attnflow.types._weights import check_averaged, check_causal, checked_weights

# What a file is that holds this instead of weights.
_OTHER_FILES = {
    "scores": "These are scores, computed already; Attention.save writes what is wanted",
    "layer_1": "This is a graph, heads fused already; Attention.save writes what is wanted",
    "cross": "This is the attention of an encoder-decoder; EncoderDecoderAttention.load reads it",
}


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Attention:
    """What the heads of a model gave for one input: the paper's embedding attention.

    Parameters
    ----------
    weights
        Attention weights (layer, head, query, key), see the axis convention above:
        anything NumPy can read, torch and JAX included. Or a sequence of one (head, query, key) or
        (1, head, query, key) array a layer, as Hugging Face models return in `.attentions`. Of a
        padded batch, pass one example without its padding: `[w[0, :, :n, :n] for w in attentions]`
        for the first, padded after n tokens. float32 and float64 are kept, half precisions become
        float32. Rows sum to one; a row that is off by at most 1e-3 (rounding in half precision;
        2⁻⁸ where the weights come as bfloat16) is renormalised.
    tokens
        Names of the positions; by default "0", "1", ….
    causal
        Whether positions see only themselves and earlier ones; weights that say otherwise are an
        InputError.
    averaged
        Whether the single head is the mean of a model's heads, so that no other fusion and no
        head alone can be had of it.
    origin
        What the positions stand for outside the model, where it is known.

    Notes
    -----
    The constructor copies and checks the weights: about three passes over them, and their memory.
    Arrays that are read-only and own their memory are not copied, and are checked in two passes.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> a = af.Attention([[[[1.0, 0.0], [0.4, 0.6]]]], ["a", "b"], causal=True)
    >>> a
    Attention(layers=1, heads=1, tokens=2, causal=True)
    """

    weights: checks.Floats
    tokens: tuple[str, ...]
    causal: bool
    averaged: bool
    origin: Origin | None

    def __init__(
        self,
        weights: ArrayLike,
        tokens: Iterable[str] | None = None,
        *,
        causal: bool = False,
        averaged: bool = False,
        origin: Origin | None = None,
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        put("causal", checks.as_bool(causal, "causal"))
        put("averaged", checks.as_bool(averaged, "averaged"))
        array = checked_weights(weights, "weights")
        if self.averaged:
            check_averaged(array, "weights")
        if self.causal:
            advice = "but causal=True was given; leave it out for weights that look ahead"
            check_causal(array, "weights", advice)
        put("weights", array)
        put("tokens", checks.as_tokens(tokens, array.shape[-1]))
        put("origin", check_origin(origin, array.shape[-1]))

    @property
    def n_layers(self) -> int:
        """The number of layers, the paper's L."""
        return self.weights.shape[0]

    @property
    def n_heads(self) -> int:
        """The number of heads of each layer."""
        return self.weights.shape[1]

    @property
    def n_tokens(self) -> int:
        """The number of positions."""
        return self.weights.shape[2]

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Positions that take more than half of a layer's attention; a pass over the weights.

        The share is the mean over heads and over queries that see more than themselves.
        `graph(without=…)` takes positions out.
        """
        return sinks_of(self.weights, causal=self.causal)

    @property
    def predicting(self) -> tuple[int, ...]:
        """Positions whose output predicted the generated tokens, one each; see `Origin.generated`.

        Scores of these queries say what each generated token was made from.
        """
        return predicting(self.origin, self.n_tokens)

    def graph(
        self,
        *,
        heads: Fusion = "mean",
        residual: float = 0.5,
        discard_ratio: float = 0.0,
        head: int | None = None,
        without: Iterable[int] | int = (),
    ) -> AttentionGraph:
        """The attention graph: heads fused, rows renormalised, residual connections added.

        `A = (1 − residual) W + residual I`, where W is the fused attention of a layer. The paper
        averages the heads and takes `A = 0.5 W + 0.5 I`.

        Parameters
        ----------
        heads
            How the heads of a layer are fused: "mean", "max" or "min".
        residual
            Weight of the residual connection, at least 0 and below 1; 0 leaves it out.
        discard_ratio
            Share of the edges of each layer, at least 0 and below 1, that is dropped after fusing:
            the smallest ones, `floor(ratio · n²)` of them, except that every position keeps its
            strongest edge. Of equal weights, those of earlier queries and keys go first.
        head
            One head, for the paper's appendix A.1: at the layer of interest this head alone, and
            all layers below fused as `heads` says. The graph then holds both.
        without
            Positions that nobody may draw on, such as attention sinks: their columns of W are zero
            in every layer, and rows renormalised. A position left with nothing draws on itself.

        Notes
        -----
        One pass over the weights in float64; the result takes `8 · L · n²` bytes, twice that
        with `head`. Discarding sorts the edges.
        Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

        Examples
        --------
        >>> import attnflow as af
        >>> a = af.Attention([[[[1.0, 0.0], [0.4, 0.6]]]])
        >>> a.graph().layers[0]
        array([[1. , 0. ],
               [0.2, 0.8]])
        >>> a.graph(without=0).layers[0]
        array([[1., 0.],
               [0., 1.]])
        """
        chosen = edge_settings(
            heads=heads,
            residual=residual,
            discard_ratio=discard_ratio,
            without=without,
            n_tokens=self.n_tokens,
            averaged=self.averaged,
        )
        fused = [chosen.edges(w, f"layer {l}") for l, w in enumerate(self.weights, start=1)]
        tops = None
        if head is not None:
            head = self._checked_head(head)
            alone = enumerate(self.weights[:, head : head + 1], start=1)
            tops = [chosen.edges(w, f"layer {l}, head {head}") for l, w in alone]
        settings = {**chosen.settings, "head": head, "causal": self.causal}
        return AttentionGraph(fused, self.tokens, tops=tops, settings=settings, origin=self.origin)

    def _checked_head(self, head: int) -> int:
        if self.averaged:
            raise InputError(
                f"head must be None, since this attention holds only the mean of the heads, got "
                f'{head}. Compute it again with attend(…, heads="all")'
            )
        head = checks.as_int(head, "head")
        if not 0 <= head < self.n_heads:
            raise InputError(f"head must be 0 to {self.n_heads - 1}, got {head}")
        return head

    def save(self, path: storage.PathLike) -> None:
        """Write `weights`, `tokens` and `causal` to a .npz or .safetensors file.

        Also `averaged` where it is true, and `origin` where there is one.
        """
        record: dict[str, storage.Stored] = {
            "weights": self.weights,
            "tokens": self.tokens,
            "causal": np.array(self.causal),
            **({"averaged": np.array(self.averaged)} if self.averaged else {}),
            **({"origin": origin_to_json(self.origin)} if self.origin else {}),
        }
        storage.write(path, record)

    @classmethod
    def load(cls, path: storage.PathLike) -> Self:
        """Read a file with `weights`, and with what else `save` writes where it is there."""
        optional = ("tokens", "causal", "averaged", "origin")
        record = storage.read(path, required=("weights",), optional=optional, others=_OTHER_FILES)
        with storage.naming_file(path):
            return cls(
                cast("Any", record["weights"]),
                cast("Any", record.get("tokens")),
                causal=checks.as_bool(record.get("causal", False), "causal"),
                averaged=checks.as_bool(record.get("averaged", False), "averaged"),
                origin=origin_from_json(record["origin"]) if "origin" in record else None,
            )

    def _about(self) -> dict[str, Any]:
        """All but the weights."""
        names = ("tokens", "causal", "averaged", "origin")
        return {name: getattr(self, name) for name in names}

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies from other processes are read-only as well.
        return functools.partial(type(self), **self._about()), (self.weights,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attention):
            return NotImplemented
        return self._about() == other._about() and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.tokens, self.causal, self.weights.shape))

    def __repr__(self) -> str:
        sizes = f"layers={self.n_layers}, heads={self.n_heads}, tokens={self.n_tokens}"
        marks = [f", {name}=True" for name in ("causal", "averaged") if getattr(self, name)]
        return f"Attention({sizes}{''.join(marks)})"

    def _repr_html_(self) -> str:
        """The sizes, the number type, the tokens as far as they fit, and what to look out for."""
        rows = [
            ["layers", str(self.n_layers)],
            ["heads", "the mean of all" if self.averaged else str(self.n_heads)],
            ["tokens", count_and_names(self.tokens)],
            ["causal", "yes" if self.causal else "no"],
            ["stored as", str(self.weights.dtype)],
        ]
        if sinks := self.sinks:
            rows.append(["sinks", describe_sinks(sinks, self.tokens)])
        return html_table("Attention", ["what", "value"], rows)
