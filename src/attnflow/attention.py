"""Attention: what goes in.

THE axis convention. `weights[layer, head, query, key]` is how much `query` (a position that
attends) takes from `key` (a position attended to). Every row `weights[layer, head, query, :]` sums
to one. Matrices keep this order everywhere: rows take, columns give. Layers are numbered as in the
paper, layer 0 being the input, so `weights[0]` is layer 1. Heads and positions count from 0.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow import checked, storage
from attnflow.errors import InputError
from attnflow.graph import AttentionGraph, edges
from attnflow.html_table import html_table

Fusion: TypeAlias = Literal["mean", "max", "min"]

# How far the sum of a row may be from one: enough for fp16, whose rounding moves a sum by at most
# 2⁻¹¹. Chosen here.
_TOLERANCE = 1e-3
# bfloat16 rounds each weight by up to 2⁻⁸ of itself, and so moves a sum by at most that. Chosen
# here: 1e-3 would refuse real models (all-MiniLM-L6-v2 in bfloat16 is off by up to 2.9e-3).
_TOLERANCE_BFLOAT16 = 2.0**-8
# A softmax in float32 is within this; anything further off is renormalised. Chosen here.
_ROUNDING = 1e-6

# What a file is that holds this instead of weights.
_OTHER_FILES = {
    "scores": "These are scores, computed already; Attention.save writes what is wanted",
    "layer_1": "This is a graph, heads fused already; Attention.save writes what is wanted",
}


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Attention:
    """What the heads of a model gave for one input: the paper's embedding attention.

    Parameters
    ----------
    weights
        Attention weights (layer, head, query, key), see the convention in `attnflow.attention`:
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

    Notes
    -----
    The constructor copies and checks the weights: about three passes over them, and their memory.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> a = af.Attention([[[[1.0, 0.0], [0.4, 0.6]]]], ["a", "b"], causal=True)
    >>> a
    Attention(layers=1, heads=1, tokens=2, causal=True)
    """

    weights: checked.Floats
    tokens: tuple[str, ...]
    causal: bool

    def __init__(
        self, weights: ArrayLike, tokens: Iterable[str] | None = None, *, causal: bool = False
    ) -> None:
        if not isinstance(cast("object", causal), bool | np.bool):
            raise InputError(f"causal is {causal!r}; True or False is wanted")
        array = _four_axes(weights)
        tolerance = _TOLERANCE_BFLOAT16 if _is_bfloat16(weights) else _TOLERANCE
        array = _with_rows_of_one(array, tolerance)
        if causal:
            _check_causal(array)
        put = functools.partial(object.__setattr__, self)
        put("weights", checked.read_only(array))
        put("tokens", checked.token_names(tokens, array.shape[-1]))
        put("causal", bool(causal))

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

    def graph(
        self,
        *,
        heads: Fusion = "mean",
        residual: float = 0.5,
        discard_ratio: float = 0.0,
        head: int | None = None,
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
        """
        if not isinstance(cast("object", heads), str) or heads not in get_args(Fusion):
            raise InputError(f"heads is {heads!r}; use one of {', '.join(get_args(Fusion))}")
        share = _share(residual, "residual")
        ratio = _share(discard_ratio, "discard_ratio")
        made = functools.partial(edges, residual=share, discard_ratio=ratio)
        fused = [made(_fused(w, heads), f"layer {l}") for l, w in enumerate(self.weights, start=1)]
        tops = None
        if head is not None:
            head = checked.whole_number(head, "head")
            if not 0 <= head < self.n_heads:
                raise InputError(f"head is {head}; heads are 0 to {self.n_heads - 1}")
            alone = self.weights[:, head].astype(np.float64)
            tops = [made(w, f"layer {l}, head {head}") for l, w in enumerate(alone, start=1)]
        settings = {
            "heads": heads,
            "residual": share,
            "discard_ratio": ratio,
            "head": head,
            "causal": self.causal,
        }
        return AttentionGraph(fused, self.tokens, tops=tops, settings=settings)

    def save(self, path: storage.PathLike) -> None:
        """Write `weights`, `tokens` and `causal` to a .npz or .safetensors file."""
        storage.write(
            path, {"weights": self.weights, "tokens": self.tokens, "causal": np.array(self.causal)}
        )

    @classmethod
    def load(cls, path: storage.PathLike) -> Self:
        """Read a file with `weights`, and `tokens` and `causal` where it has them."""
        record = storage.read(
            path, required=("weights",), optional=("tokens", "causal"), others=_OTHER_FILES
        )
        with storage.naming(path):
            causal = record.get("causal", np.zeros((), dtype=bool))
            if not isinstance(causal, np.ndarray) or causal.size != 1 or causal.dtype.kind != "b":
                raise InputError(f"causal is {causal!r}; one truth value is wanted")
            return cls(
                cast("Any", record["weights"]),
                cast("Any", record.get("tokens")),
                causal=bool(causal.item()),
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies from other processes are read-only as well.
        return functools.partial(type(self), causal=self.causal), (self.weights, self.tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attention):
            return NotImplemented
        mine, theirs = (self.tokens, self.causal), (other.tokens, other.causal)
        return mine == theirs and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.tokens, self.causal, self.weights.shape))

    def __repr__(self) -> str:
        sizes = f"layers={self.n_layers}, heads={self.n_heads}, tokens={self.n_tokens}"
        return f"Attention({sizes}{', causal=True' if self.causal else ''})"

    def _repr_html_(self) -> str:
        """The sizes, the number type and the tokens, as far as they fit."""
        shown = 20  # tokens; so that the table fits a notebook's page, chosen by eye
        tokens = " ".join(self.tokens[:shown]) + (" …" if self.n_tokens > shown else "")
        rows = [
            ["layers", str(self.n_layers)],
            ["heads", str(self.n_heads)],
            ["tokens", f"{self.n_tokens}: {tokens}"],
            ["causal", "yes" if self.causal else "no"],
            ["stored as", str(self.weights.dtype)],
        ]
        return html_table("Attention", ["what", "value"], rows)


# ---- what the constructor checks ------------------------------------------------------------


def _four_axes(weights: object) -> checked.Floats:
    """Weights as one array (layer, head, query, key), also from one array a layer."""
    hint = (
        "A Hugging Face model gives its weights when loaded with attn_implementation='eager' and "
        "called with output_attentions=True"
    )
    if weights is None:
        raise InputError(f"weights is None. {hint}")
    if hasattr(weights, "attentions"):
        raise InputError(
            f"weights is a {type(weights).__name__}, all that a model gave; pass its .attentions"
        )
    if isinstance(weights, list | tuple):
        each = [_layer(w, i, hint) for i, w in enumerate(cast("list[object]", weights))]
        if not each:
            raise InputError(f"weights is empty; at least one layer is wanted. {hint}")
        for i, layer in enumerate(each):
            if layer.shape != each[0].shape:
                raise InputError(
                    f"weights[{i}] has shape {layer.shape}, weights[0] {each[0].shape}; all layers "
                    "have the same heads and positions. For layers that differ in size, use "
                    "AttentionGraph"
                )
        array = np.stack(each)
        array.setflags(write=False)  # it is ours: `read_only` need not copy it again
    else:
        array = checked.floats(weights, "weights")
    if array.ndim != 4:
        batch = (
            " Of a batch, pass one example, its padding cut away: weights[:, 0, :, :n, :n]"
            if array.ndim == 5
            else ""
        )
        raise InputError(
            f"weights has shape {array.shape}; four axes (layer, head, query, key) are wanted."
            f"{batch}"
        )
    if 0 in array.shape:
        raise InputError(
            f"weights has shape {array.shape}; (layer, head, query, key) are wanted, none empty"
        )
    if array.shape[2] != array.shape[3]:
        raise InputError(
            f"weights has {array.shape[2]} queries and {array.shape[3]} keys; self-attention has "
            "as many of both. For cross-attention, use AttentionGraph"
        )
    return array


def _layer(weights: object, i: int, hint: str) -> checked.Floats:
    if weights is None:
        raise InputError(f"weights[{i}] is None. {hint}")
    layer = checked.floats(weights, f"weights[{i}]")
    if layer.ndim == 4 and layer.shape[0] != 1:
        raise InputError(
            f"weights[{i}] has shape {layer.shape}, a batch of {layer.shape[0]}; one example is "
            "wanted: pass [w[0] for w in weights] for the first, or, where it is padded after n "
            "tokens, [w[0, :, :n, :n] for w in weights]"
        )
    if layer.ndim not in (3, 4):
        raise InputError(
            f"weights[{i}] has shape {layer.shape}; each layer is (head, query, key) or "
            "(1, head, query, key)"
        )
    return layer[0] if layer.ndim == 4 else layer


def _is_bfloat16(weights: object) -> bool:
    each = cast("list[object]", weights) if isinstance(weights, list | tuple) else [weights]
    return any(str(getattr(w, "dtype", "")).endswith("bfloat16") for w in each)


def _with_rows_of_one(array: checked.Floats, tolerance: float) -> checked.Floats:
    """The weights if they are distributions, renormalised where rounding shows."""
    if not (array.min() >= 0 and array.max() < np.inf):  # also when there is NaN
        bad = np.unravel_index(np.argmin((array >= 0) & (array < np.inf)), array.shape)
        raise InputError(
            f"{_place(bad)} has weight {array[bad]} at key {bad[3]}; attention weights lie between "
            "0 and 1. Pass them after the softmax"
        )
    sums = array.sum(axis=-1, dtype=np.float64)
    off = np.abs(sums - 1)
    if off.max() > tolerance:
        bad = np.unravel_index(np.argmax(off), off.shape)
        raise InputError(
            f"{_place(bad)} sums to {sums[bad]:.6g}, off by {off[bad]:.3g}; rows sum to one within "
            f"{tolerance:.3g}. Pass weights after the softmax and before dropout. If they were "
            "rounded more coarsely, divide by weights.sum(-1, keepdims=True)"
        )
    rough = off > _ROUNDING
    if rough.any():
        array = array.copy()
        array[rough] = array[rough].astype(np.float64) / sums[rough][:, None]
        array.setflags(write=False)  # it is ours: `read_only` need not copy it again
    return array


def _check_causal(array: checked.Floats) -> None:
    for number, layer in enumerate(array, start=1):
        ahead = np.triu(layer, k=1) > 0
        if ahead.any():
            head, query, key = np.unravel_index(np.argmax(ahead), ahead.shape)
            raise InputError(
                f"{_place((number - 1, head, query))} attends to key {key}, which comes later, but "
                "causal=True was given; leave it out for weights that look ahead"
            )


def _place(index: tuple[Any, ...]) -> str:
    layer, head, query = index[:3]
    return f"layer {layer + 1} (weights[{layer}]), head {head}, query {query}"


# ---- from heads to edges --------------------------------------------------------------------


def _share(value: float, name: str) -> float:
    real = isinstance(cast("object", value), Real) and not isinstance(value, bool | np.bool)
    if not real or not 0 <= value < 1:
        raise InputError(f"{name} is {value!r}; a number of at least 0 and below 1 is wanted")
    return float(value)


def _fused(layer: checked.Floats, heads: Fusion) -> NDArray[np.float64]:
    """(head, query, key) -> (query, key), in float64."""
    if heads == "mean":
        return layer.mean(axis=0, dtype=np.float64)
    return (layer.max(axis=0) if heads == "max" else layer.min(axis=0)).astype(np.float64)
