"""Attention: the attention weights of a model, and the convention of axes and numbers.

`weights[layer, head, query, key]` is the attention of position `query` to position `key`, and every
row `weights[layer, head, query, :]` sums to one. Matrices of all types have this order: rows
attend, columns are attended to. Layers are numbered as in the paper: layer 0 is the input and layer
l the output of block l, so `weights[0]` is layer 1. Heads and positions are numbered from 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from attnflow._internal import checks
from attnflow._internal.html_table import count_and_names, html_table
from attnflow._internal.settings import NO_SETTINGS, Settings, freeze_settings
from attnflow._internal.sinks import Sink, describe_sinks, sinks_of
from attnflow.errors import InputError
from attnflow.types._fusion import Fusion, edge_settings
from attnflow.types._graph import AttentionGraph
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord
from attnflow.types._weights import check_averaged, check_causal, checked_weights


@dataclass(frozen=True, slots=True, eq=False)
class Attention(StoredRecord):
    """Attention weights of a model for one input: the paper's embedding attention.

    `weights[layer, head, query, key]` is the attention of position `query` to position `key`.
    Layer 0 is the input, so `weights[0]` is layer 1.

    Parameters
    ----------
    weights
        Array-like (layer, head, query, key), also of torch and JAX; or a sequence of one
        (head, query, key) or (1, head, query, key) array per layer, as Hugging Face models return
        in `.attentions`. Of a padded batch, pass one example without padding:
        `[w[0, :, :n, :n] for w in attentions]` for the first, padded after n tokens. float32 and
        float64 are kept, half precisions become float32. Rows must sum to one; rows with an error
        of at most 1e-3 (2⁻⁸ for bfloat16), as half precision has, are renormalized.
    tokens
        Names of the positions; by default "0", "1", ….
    causal
        Whether positions attend only to themselves and earlier ones. Other weights are an
        InputError.
    averaged
        Whether the single head is the mean of the heads of a model. Then there is no other fusion
        and no single head.
    origin
        Text or image that the positions come from, if known.
    settings
        How the weights were made, if they are not what a model computes; a graph of them has these
        in its settings.

    Notes
    -----
    The constructor copies and checks the weights in about three passes. Arrays that are read-only
    and own their memory are not copied.
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
    settings: Settings

    _REQUIRED = ("weights",)
    _OPTIONAL = ("tokens", "causal", "averaged", "origin", "settings")

    def __init__(
        self,
        weights: ArrayLike,
        tokens: Iterable[str] | None = None,
        *,
        causal: bool = False,
        averaged: bool = False,
        origin: Origin | None = None,
        settings: Settings | None = None,
    ) -> None:
        causal, averaged = checks.as_bool(causal, "causal"), checks.as_bool(averaged, "averaged")
        array = checked_weights(weights, "weights")
        if averaged:
            check_averaged(array, "weights")
        if causal:
            check_causal(array, "weights", "Leave causal=True out for such weights")
        self._set(
            weights=array,
            tokens=checks.as_tokens(tokens, array.shape[-1]),
            causal=causal,
            averaged=averaged,
            origin=check_origin(origin, array.shape[-1]),
            settings=freeze_settings(settings) if settings else NO_SETTINGS,
        )

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
        """Positions that receive more than half of the attention of a layer, see `Sink`.

        The share is the mean over heads and over queries with more than one key. Takes one pass
        over the weights. `graph(without=…)` excludes positions.
        """
        return sinks_of(self.weights, causal=self.causal)

    @property
    def predicting(self) -> tuple[int, ...]:
        """Positions whose output predicted the generated tokens, one each; see `Origin.generated`.

        The scores of these queries explain the generated tokens.
        """
        return () if self.origin is None else self.origin.predicting(self.n_tokens)

    def graph(
        self,
        *,
        heads: Fusion = "mean",
        residual: float = 0.5,
        discard_ratio: float = 0.0,
        head: int | None = None,
        without: Iterable[int] | int = (),
    ) -> AttentionGraph:
        """Return the attention graph: heads fused, rows renormalized, residual connections added.

        `A = (1 − residual) W + residual I`, where W is the fused attention of a layer. The paper
        averages the heads and takes `A = 0.5 W + 0.5 I`.

        Parameters
        ----------
        heads
            How the heads of a layer are fused: "mean", "max" or "min".
        residual
            Weight of the residual connection, at least 0 and below 1; 0 leaves it out.
        discard_ratio
            Share of the edges of each layer, at least 0 and below 1, that is discarded after
            fusing: the `floor(ratio · n²)` smallest, except that every position keeps its largest.
            Of equal weights, those of earlier queries and keys are discarded first.
        head
            One head, for the paper's appendix A.1: this head at the layer of interest, and all
            heads fused at the layers below. The graph then holds both.
        without
            Positions to exclude, such as attention sinks: their columns of W are zero in every
            layer, and rows are renormalized. A position without any other key attends to itself.

        Notes
        -----
        Takes one pass over the weights in float64; the result has `8 · L · n²` bytes, twice that
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
        settings = edge_settings(
            heads, residual, discard_ratio, without, n_tokens=self.n_tokens, averaged=self.averaged
        )
        fused = settings.edges(self.weights, "layer {}")
        tops = None
        if head is not None:
            head = self._check_head(head)
            single = self.weights[:, head : head + 1]
            tops = settings.edges(single, f"layer {{}}, head {head}")
        return AttentionGraph(
            fused,
            self.tokens,
            tops=tops,
            settings={
                **self.settings,
                **settings.settings,
                "head": head,
                "causal": self.causal,
            },
            origin=self.origin,
        )

    def _check_head(self, head: int) -> int:
        if self.averaged:
            raise InputError(
                f"head must be None, since this attention holds only the mean of the heads, got "
                f'{head}. Compute it again with attend(…, heads="all")'
            )
        return checks.as_int(head, "head", least=0, most=self.n_heads - 1)

    def __repr__(self) -> str:
        sizes = f"layers={self.n_layers}, heads={self.n_heads}, tokens={self.n_tokens}"
        marks = [f", {name}=True" for name in ("causal", "averaged") if getattr(self, name)]
        return f"Attention({sizes}{''.join(marks)})"

    def _repr_html_(self) -> str:
        """Return the sizes, the dtype, the first tokens and the sinks as HTML."""
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
