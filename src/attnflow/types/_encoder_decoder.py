"""EncoderDecoderAttention: what goes in of a model that reads one text and writes another."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from attnflow._internal import checks, storage
from attnflow._internal.html_table import count_and_names, html_table
from attnflow.errors import InputError
from attnflow.types._fusion import Fusion, edge_settings, encoder_decoder_edges
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

_PARTS = ("encoder", "decoder", "cross")


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class EncoderDecoderAttention:
    """What the heads of an encoder-decoder gave for one source and one target.

    Axes are as in `Attention`; all rows sum to one, and what is said there about forms
    and precision of weights holds here.

    Parameters
    ----------
    encoder
        Self-attention of the source tokens, (layer, head, source, source).
    decoder
        Self-attention of the target tokens, (layer, head, target, target); no token looks ahead.
    cross
        Attention of target tokens to source tokens, (layer, head, target, source), one layer for
        each of the decoder.
    source, target
        Names of the tokens; by default their positions.
    averaged
        Whether the single head of each is the mean of the model's heads.
    origin
        What the positions stand for outside the model, where it is known: those of the source,
        then those of the target. Spans are over the source text, a line break and the target text.

    Notes
    -----
    The constructor copies and checks the weights, as that of `Attention` does.

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
        parts = {
            "encoder": checked_weights(encoder, "encoder"),
            "decoder": checked_weights(decoder, "decoder"),
            "cross": checked_weights(cross, "cross", square=False),
        }
        _check_together(**parts)
        check_causal(parts["decoder"], "decoder", "which a decoder cannot; pass causal attention")
        put = functools.partial(object.__setattr__, self)
        put("averaged", checks.as_bool(averaged, "averaged"))
        for name, array in parts.items():
            if self.averaged:
                check_averaged(array, name)
            put(name, array)
        n_target, n_source = parts["cross"].shape[2:]
        put("source", checks.as_tokens(source, n_source, "source"))
        put("target", checks.as_tokens(target, n_target, "target"))
        put("origin", check_origin(origin, n_source + n_target))
        if origin is not None and origin.generated >= n_target:
            raise InputError(
                f"the origin has {origin.generated} generated positions, but there are {n_target} "
                "of the target; a decoder writes after at least one that was given"
            )

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of all positions: those of the source, then those of the target."""
        return self.source + self.target

    @property
    def n_layers(self) -> int:
        """The number of layers of the graph: one for each encoder layer, two for each decoder's."""
        return len(self.encoder) + 2 * len(self.decoder)

    @property
    def n_tokens(self) -> int:
        """The number of positions, source and target."""
        return len(self.source) + len(self.target)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Positions that take more than half of the attention that a layer of the graph adds.

        The share is the mean over heads and over the queries that attend there. A pass over the
        weights.
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

        They count from the first source token, as queries of the graph do.
        """
        return predicting(self.origin, self.n_tokens)

    def graph(
        self,
        *,
        heads: Fusion = "mean",
        residual: float = 0.5,
        discard_ratio: float = 0.0,
        without: Iterable[int] | int = (),
    ) -> AttentionGraph:
        """One attention graph over source and target tokens.

        Layers come bottom first: one for each layer of the encoder, then two for each of the
        decoder, its self-attention and its cross-attention. Each is `(1 − r) W + r I` on the
        positions that attend there, I being the residual connection of each to itself; all other
        positions are carried along unchanged: source tokens through the decoder, target tokens
        through the encoder. Carried edges are unbounded, so that they narrow no flow.

        Parameters
        ----------
        heads, residual, discard_ratio
            As in `Attention.graph`. Of cross-attention, `floor(ratio · targets · sources)` edges
            are dropped.
        without
            Positions that nobody may draw on, source tokens first; see `Attention.graph`.

        Notes
        -----
        One pass over the weights in float64; the result takes `8 · L · n²` bytes for the L layers
        of the graph and its n positions, source and target.

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
        chosen = edge_settings(
            heads=heads,
            residual=residual,
            discard_ratio=discard_ratio,
            without=without,
            n_tokens=self.n_tokens,
            averaged=self.averaged,
        )
        settings = {
            **chosen.settings,
            "head": None,
            "causal": False,
            "encoder_layers": len(self.encoder),
            "decoder_layers": len(self.decoder),
            "source_tokens": len(self.source),
        }
        layers = encoder_decoder_edges(chosen, self.encoder, self.decoder, self.cross)
        return AttentionGraph(layers, self.tokens, settings=settings, origin=self.origin)

    def save(self, path: storage.PathLike) -> None:
        """Write the three weights, `source` and `target` to a .npz or .safetensors file.

        Also `averaged` where it is true, and `origin` where there is one.
        """
        record: dict[str, storage.Stored] = {
            **{name: getattr(self, name) for name in (*_PARTS, "source", "target")},
            **({"averaged": np.array(self.averaged)} if self.averaged else {}),
            **({"origin": origin_to_json(self.origin)} if self.origin else {}),
        }
        storage.write(path, record)

    @classmethod
    def load(cls, path: storage.PathLike) -> Self:
        """Read a file with the three weights, and what else `save` writes where it is there."""
        optional = ("source", "target", "averaged", "origin")
        others = {"weights": "This is the attention of one text alone; Attention.load reads it"}
        record = storage.read(path, required=_PARTS, optional=optional, others=others)
        with storage.naming_file(path):
            return cls(
                *cast("Any", [record[name] for name in _PARTS]),
                *cast("Any", [record.get(name) for name in ("source", "target")]),
                averaged=checks.as_bool(record.get("averaged", False), "averaged"),
                origin=origin_from_json(record["origin"]) if "origin" in record else None,
            )

    def _about(self) -> dict[str, Any]:
        """All but the weights."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in _PARTS}

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies from other processes are read-only as well.
        made = functools.partial(type(self), **self._about())
        return made, (self.encoder, self.decoder, self.cross)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EncoderDecoderAttention):
            return NotImplemented
        return self._about() == other._about() and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _PARTS
        )

    def __hash__(self) -> int:
        return hash((self.source, self.target, self.encoder.shape, self.cross.shape))

    def __repr__(self) -> str:
        layers = f"encoder_layers={len(self.encoder)}, decoder_layers={len(self.decoder)}"
        tokens = f"source={len(self.source)}, target={len(self.target)}"
        averaged = ", averaged=True" if self.averaged else ""
        return f"EncoderDecoderAttention({layers}, {tokens}{averaged})"

    def _repr_html_(self) -> str:
        """The sizes, the number type, the tokens as far as they fit, and what to look out for."""
        heads = "the mean of all" if self.averaged else ""
        parts = [(name, getattr(self, name)) for name in _PARTS]
        rows = [
            *([name, f"{w.shape[0]} layers, {heads or w.shape[1]} heads"] for name, w in parts),
            ["source", count_and_names(self.source)],
            ["target", count_and_names(self.target)],
            ["stored as", str(self.cross.dtype)],
        ]
        if sinks := self.sinks:
            rows.append(["sinks", describe_sinks(sinks, self.tokens)])
        return html_table("EncoderDecoderAttention", ["what", "value"], rows)


def _check_together(encoder: checks.Floats, decoder: checks.Floats, cross: checks.Floats) -> None:
    if len(cross) != len(decoder):
        raise InputError(
            f"cross has {len(cross)} layers, decoder {len(decoder)}; each layer of a decoder has "
            "one self-attention and one cross-attention"
        )
    if cross.shape[2:] != (came := (decoder.shape[3], encoder.shape[3])):
        raise InputError(
            f"cross has {cross.shape[2]} queries and {cross.shape[3]} keys, but there are "
            f"{came[0]} target tokens in decoder and {came[1]} source tokens in encoder; the three "
            "belong to one source and one target, padding cut away"
        )
