"""Attention weights as they come, checked: four axes, rows that sum to one."""

from typing import Any, cast

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError

# How far the sum of a row may be from one: enough for fp16, whose rounding moves a sum by at most
# 2⁻¹¹. Chosen here.
_TOLERANCE = 1e-3
# bfloat16 rounds each weight by up to 2⁻⁸ of itself, and so moves a sum by at most that. Chosen
# here: 1e-3 would refuse real models (all-MiniLM-L6-v2 in bfloat16 is off by up to 2.9e-3).
_TOLERANCE_BFLOAT16 = 2.0**-8
# Rows further off are renormalised. A softmax in float32 is off by up to 1e-6 over 2,048 keys
# (PyTorch, measured); ten times that, chosen here, is not worth a copy of all weights.
_ROUNDING = 1e-5
# Weights that came in half precision are copies already, so they are held to what float32 can do.
_ROUNDING_HALF = 1e-6

# Bytes that are looked at together, so that the second look finds them in a core's cache. Chosen.
_CACHED = 2**19

_HINT = (
    "attnflow.models.attend reads them off a model as it is; a Hugging Face model gives them by "
    "itself when loaded with attn_implementation='eager' and called with output_attentions=True"
)


def checked_weights(value: object, name: str, *, square: bool = True) -> checks.Floats:
    """Weights (layer, head, query, key) as one read-only array whose rows sum to one.

    `value` is anything NumPy can read, or one array a layer; `name` says in errors what it is.
    `square`: there are as many keys as queries. Rows off by rounding are renormalised. Two passes
    over the weights; an array that is read-only and owns its memory is taken without a copy, but
    where rows need renormalising.

    >>> checked_weights([[[[0.25, 0.75]]]], "cross", square=False)
    array([[[[0.25, 0.75]]]])
    """
    given = _four_axes(value, name)
    _check_shape(given, name, square=square)
    types = _types(value)
    array = checks.as_read_only(given)
    mine = array is not given or isinstance(value, list | tuple)
    return _with_rows_of_one(
        array,
        name,
        tolerance=_TOLERANCE_BFLOAT16 if "bfloat16" in types else _TOLERANCE,
        rounding=_ROUNDING_HALF if types & {"bfloat16", "float16"} else _ROUNDING,
        mine=mine,
    )


def check_averaged(array: checks.Floats, name: str) -> None:
    """Refuse more than one head where the one is to be the mean of all."""
    if array.shape[1] != 1:
        raise InputError(
            f"{name} has {array.shape[1]} heads, but averaged=True was given, which says that the "
            "only one is the mean of all; leave it out"
        )


def check_causal(array: checks.Floats, name: str, advice: str) -> None:
    """Refuse weights of a query for a later key; `advice` says what to do about it.

    Half a pass over the weights.
    """
    for query in range(array.shape[2]):
        ahead = array[:, :, query, query + 1 :]
        if ahead.max(initial=0.0) > 0:
            layer, head, key = np.unravel_index(np.argmax(ahead > 0), ahead.shape)
            place = _place(name, (layer, head, query))
            raise InputError(
                f"{place} attends to key {query + 1 + key}, which comes later, {advice}"
            )


# ---- four axes ------------------------------------------------------------------------------


def _four_axes(value: object, name: str) -> checks.Floats:
    """Weights as one array, also from one array a layer."""
    if value is None:
        raise InputError(f"{name} is None. {_HINT}")
    if hasattr(value, "attentions"):
        raise InputError(
            f"{name} is a {type(value).__name__}, all that a model gave; pass its .attentions"
        )
    if hasattr(value, "cross_attentions"):
        raise InputError(
            f"{name} is a {type(value).__name__}, all that an encoder-decoder gave; pass its "
            ".encoder_attentions, .decoder_attentions and .cross_attentions to "
            "EncoderDecoderAttention"
        )
    if not isinstance(value, list | tuple):
        return checks.as_floats(value, name)
    each = [_layer(w, f"{name}[{i}]", name) for i, w in enumerate(cast("list[object]", value))]
    if not each:
        raise InputError(f"{name} is empty; at least one layer is wanted. {_HINT}")
    for i, layer in enumerate(each):
        if layer.shape != each[0].shape:
            raise InputError(
                f"{name}[{i}] has shape {layer.shape}, {name}[0] {each[0].shape}; all layers "
                "have the same heads and positions. For layers that differ in size, use "
                "AttentionGraph"
            )
    array = np.stack(each)
    array.setflags(write=False)  # it is ours: `read_only` need not copy it again
    return array


def _layer(value: object, place: str, name: str) -> checks.Floats:
    if value is None:
        raise InputError(f"{place} is None. {_HINT}")
    layer = checks.as_floats(value, place)
    if layer.ndim == 4 and layer.shape[0] != 1:
        raise InputError(
            f"{place} has shape {layer.shape}, a batch of {layer.shape[0]}; one example is "
            f"wanted: pass [w[0] for w in {name}] for the first, or, where it is padded after n "
            f"tokens, [w[0, :, :n, :n] for w in {name}]"
        )
    if layer.ndim not in (3, 4):
        raise InputError(
            f"{place} has shape {layer.shape}; each layer is (head, query, key) or "
            "(1, head, query, key)"
        )
    return layer[0] if layer.ndim == 4 else layer


def _check_shape(array: checks.Floats, name: str, *, square: bool) -> None:
    if array.ndim != 4:
        batch = (
            f" Of a batch, pass one example, its padding cut away: {name}[:, 0, :, :n, :n]"
            if array.ndim == 5
            else ""
        )
        raise InputError(
            f"{name} has shape {array.shape}; four axes (layer, head, query, key) are wanted."
            f"{batch}"
        )
    if 0 in array.shape:
        raise InputError(
            f"{name} has shape {array.shape}; (layer, head, query, key) are wanted, none empty"
        )
    if square and array.shape[2] != array.shape[3]:
        raise InputError(
            f"{name} has {array.shape[2]} queries and {array.shape[3]} keys; self-attention has "
            "as many of both. For cross-attention, use EncoderDecoderAttention or AttentionGraph"
        )


def _types(value: object) -> set[str]:
    """Names of the number types that the weights came in, without what a library puts before."""
    each = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    return {str(getattr(w, "dtype", "")).rpartition(".")[2] for w in each}


# ---- rows that sum to one -------------------------------------------------------------------


def _with_rows_of_one(
    array: checks.Floats, name: str, *, tolerance: float, rounding: float, mine: bool
) -> checks.Floats:
    """The weights if they are distributions, renormalised where more than rounding shows.

    What is not `mine` is copied before it is changed.
    """
    if rounding == _ROUNDING and _clearly_distributions(array):
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        sums = array.sum(axis=-1, dtype=np.float64)
        off = np.abs(sums - 1)
    if not (array.min() >= 0 and off.max() <= tolerance):  # also when one of them is NaN
        raise _no_distribution(array, name, sums, tolerance)
    rough = off > rounding
    if rough.any():
        array = array if mine else array.copy()
        array.setflags(write=True)
        divisors = sums[..., None]
        _ = np.divide(
            array,
            divisors,
            out=array,
            where=rough[..., None],
            dtype=np.float64,
            casting="same_kind",
        )
        array.setflags(write=False)
    return array


def _clearly_distributions(array: checks.Floats) -> bool:
    """Whether no weight is negative and all rows sum to one, at a glance.

    Sums in the weights' own precision, which are off by some 1e-6 (2,048 keys in float32,
    measured); rows that seem to be off by half of what is worth a copy are left to an exact look.
    NaN and infinity show in the sums. By adding up and not as a product with ones, whose threads
    would wait busily for more, and take their time from a model's.
    """
    keys = array.shape[-1]
    rows = array.reshape(-1, keys)
    step = max(1, _CACHED // (keys * array.itemsize))
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            np.abs(part.sum(axis=-1) - 1).max() <= _ROUNDING / 2 and part.min() >= 0
            for part in (rows[start : start + step] for start in range(0, len(rows), step))
        )


def _no_distribution(
    array: checks.Floats, name: str, sums: checks.Floats, tolerance: float
) -> InputError:
    fine = (array >= 0) & (array < np.inf)
    if not fine.all():
        bad = np.unravel_index(np.argmin(fine), array.shape)
        return InputError(
            f"{_place(name, bad)} has weight {array[bad]} at key {bad[3]}; attention weights lie "
            "between 0 and 1. Pass them after the softmax"
        )
    off = np.abs(sums - 1)
    bad = np.unravel_index(np.argmax(off), off.shape)
    return InputError(
        f"{_place(name, bad)} sums to {sums[bad]:.6g}, off by {off[bad]:.3g}; rows sum to one "
        f"within {tolerance:.3g}. Pass weights after the softmax and before dropout. If they were "
        f"rounded more coarsely, divide by {name}.sum(-1, keepdims=True)"
    )


def _place(name: str, index: tuple[Any, ...]) -> str:
    layer, head, query = index[:3]
    return f"layer {layer + 1} ({name}[{layer}]), head {head}, query {query}"
