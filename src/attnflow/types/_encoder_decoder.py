"""EncoderDecoderAttention: the attention weights of an encoder-decoder."""

from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from attnflow._internal import checks
from attnflow._internal.html_table import count_and_names, html_table
from attnflow._internal.sinks import Sink, describe_sinks, sinks_of
from attnflow.errors import InputError
from attnflow.types._fusion import Fusion, edge_settings, encoder_decoder_edges
from attnflow.types._graph import AttentionGraph
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord
from attnflow.types._weights import check_averaged, check_causal, checked_weights


@dataclass(frozen=True, slots=True, eq=False)
class EncoderDecoderAttention(StoredRecord):
    """Attention weights of an encoder-decoder for one source and one target.

    Axes, types and checks of the weights are those of `Attention`.

    Parameters
    ----------
    encoder
        Self-attention of the source tokens, (layer, head, source, source).
    decoder
        Self-attention of the target tokens, (layer, head, target, target), which is causal.
    cross
        Attention of target tokens to source tokens, (layer, head, target, source), one layer for
        each of the decoder.
    source, target
        Names of the tokens; by default their positions.
    averaged
        Whether the single head of each is the mean of the heads of the model.
    origin
        Text that the positions come from, if known: those of the source, then those of the target.
        Spans index the source text, a line break and the target text.

    Examples
    --------
    >>> import attnflow as af
    >>> half = [[[[1.0, 0.0], [0.5, 0.5]]]]
    >>> a = af.EncoderDecoderAttention(half, half, half, ["a", "b"], ["<s>", "c"])
    >>> a
    EncoderDecoderAttention(encoder_layers=1, decoder_layers=1, source=2, target=2)
    >>> a.tokens
    ('a', 'b', '<s>', 'c')
    """

    encoder: checks.Floats
    decoder: checks.Floats
    cross: checks.Floats
    source: tuple[str, ...]
    target: tuple[str, ...]
    averaged: bool
    origin: Origin | None

    _REQUIRED = ("encoder", "decoder", "cross")
    _OPTIONAL = ("source", "target", "averaged", "origin")

    def __init__(
        self,
        encoder: ArrayLike,
        decoder: ArrayLike,
        cross: ArrayLike,
        source: Iterable[str] | None = None,
        target: Iterable[str] | None = None,
        *,
        averaged: bool = False,
        origin: Origin | None = None,
    ) -> None:
        weights = {
            "encoder": checked_weights(encoder, "encoder"),
            "decoder": checked_weights(decoder, "decoder"),
            "cross": checked_weights(cross, "cross", square=False),
        }
        _check_sizes(**weights)
        check_causal(weights["decoder"], "decoder", "Pass the causal self-attention of the decoder")
        averaged = checks.as_bool(averaged, "averaged")
        if averaged:
            for name, array in weights.items():
                check_averaged(array, name)
        n_target, n_source = weights["cross"].shape[2:]
        self._set(
            **weights,
            source=checks.as_tokens(source, n_source, "source"),
            target=checks.as_tokens(target, n_target, "target"),
            averaged=averaged,
            origin=check_origin(origin, n_source + n_target),
        )
        if origin is not None and origin.generated >= n_target:
            raise InputError(
                f"origin: generated must be less than the {n_target} target positions, got "
                f"{origin.generated}"
            )

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of all positions: those of the source, then those of the target."""
        return self.source + self.target

    @property
    def n_layers(self) -> int:
        """The number of layers of the graph: one per encoder layer, two per decoder layer."""
        return len(self.encoder) + 2 * len(self.decoder)

    @property
    def n_tokens(self) -> int:
        """The number of positions, source and target."""
        return len(self.source) + len(self.target)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Positions that receive more than half of the attention of a layer, see `Sink`.

        The share is the mean over heads and over the queries that attend in this layer. Takes one
        pass over the weights.
        """
        first, above = len(self.encoder) + 1, self.n_layers + 1
        upper = (
            *sinks_of(
                self.decoder, causal=True, layers=range(first, above, 2), first=len(self.source)
            ),
            *sinks_of(self.cross, layers=range(first + 1, above, 2)),
        )
        return (*sinks_of(self.encoder), *sorted(upper, key=lambda sink: sink.layer))

    @property
    def predicting(self) -> tuple[int, ...]:
        """Positions whose output predicted the generated tokens, one each; see `Origin.generated`.

        Positions are those of the graph: source tokens first.
        """
        return () if self.origin is None else self.origin.predicting(self.n_tokens)

    def graph(
        self,
        *,
        heads: Fusion = "mean",
        residual: float = 0.5,
        discard_ratio: float = 0.0,
        without: Iterable[int] | int = (),
    ) -> AttentionGraph:
        """Return one attention graph over source and target tokens.

        It has one layer for each layer of the encoder, then two for each of the decoder:
        self-attention and cross-attention. A layer is `(1 − r) W + r I` for the positions that
        attend in it. Every other position has one edge, to itself: source tokens in the layers of
        the decoder, target tokens in those of the encoder. These edges have infinite weight, so
        that they do not limit the flow.

        Parameters
        ----------
        heads, residual, discard_ratio
            As in `Attention.graph`. Of cross-attention, `floor(ratio · targets · sources)` edges
            are discarded.
        without
            Positions to exclude, source tokens first; see `Attention.graph`.

        Notes
        -----
        Takes one pass over the weights in float64; the result has `8 · L · n²` bytes for the L
        layers of the graph and its n positions, source and target.

        Examples
        --------
        >>> import attnflow as af
        >>> a = af.EncoderDecoderAttention([[[[1.0]]]], [[[[1.0]]]], [[[[1.0]]]], ["a"], ["<s>"])
        >>> g = a.graph()
        >>> g.layers[2]
        array([[inf, 0. ],
               [0.5, 0.5]])
        >>> af.rollout(g, layers=3, queries=1).scores
        array([[[0.5, 0.5]]])
        """
        edges = edge_settings(
            heads, residual, discard_ratio, without, n_tokens=self.n_tokens, averaged=self.averaged
        )
        settings = {
            **edges.settings,
            "head": None,
            "causal": False,
            "encoder_layers": len(self.encoder),
            "decoder_layers": len(self.decoder),
            "source_tokens": len(self.source),
        }
        layers = encoder_decoder_edges(edges, self.encoder, self.decoder, self.cross)
        return AttentionGraph(layers, self.tokens, settings=settings, origin=self.origin)

    def __repr__(self) -> str:
        layers = f"encoder_layers={len(self.encoder)}, decoder_layers={len(self.decoder)}"
        tokens = f"source={len(self.source)}, target={len(self.target)}"
        averaged = ", averaged=True" if self.averaged else ""
        return f"EncoderDecoderAttention({layers}, {tokens}{averaged})"

    def _repr_html_(self) -> str:
        """Return the sizes, the dtype, the first tokens and the sinks as HTML."""
        heads = "the mean of all" if self.averaged else ""
        parts = [(name, getattr(self, name)) for name in self._REQUIRED]
        rows = [
            *([name, f"{w.shape[0]} layers, {heads or w.shape[1]} heads"] for name, w in parts),
            ["source", count_and_names(self.source)],
            ["target", count_and_names(self.target)],
            ["stored as", str(self.cross.dtype)],
        ]
        if sinks := self.sinks:
            rows.append(["sinks", describe_sinks(sinks, self.tokens)])
        return html_table("EncoderDecoderAttention", ["what", "value"], rows)


def _check_sizes(encoder: checks.Floats, decoder: checks.Floats, cross: checks.Floats) -> None:
    if len(cross) != len(decoder):
        raise InputError(
            f"cross: expected {len(decoder)} layers, as many as decoder, got {len(cross)}"
        )
    n_target, n_source = decoder.shape[3], encoder.shape[3]
    if cross.shape[2:] != (n_target, n_source):
        raise InputError(
            f"cross: expected {n_target} queries (target tokens of decoder) and {n_source} keys "
            f"(source tokens of encoder), got {cross.shape[2]} and {cross.shape[3]}. Pass one "
            "source and one target without padding"
        )
