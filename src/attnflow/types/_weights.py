"""Checks of attention weights: four axes, rows that sum to one."""

from typing import Any, cast

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError

# Largest error of the sum of a row. Chosen: rounding to float16 changes a sum by at most 2⁻¹¹.
_TOLERANCE = 1e-3
# Rounding to bfloat16 changes a sum by at most 2⁻⁸. Chosen, since 1e-3 would refuse real models
# (all-MiniLM-L6-v2 in bfloat16 has errors of up to 2.9e-3).
_TOLERANCE_BFLOAT16 = 2.0**-8
# Rows with a larger error are renormalized. Chosen as ten times the error of a softmax in float32,
# up to 1e-6 over 2,048 keys (PyTorch, measured), which does not justify a copy of all weights.
_ROUNDING = 1e-5
# Weights from half precision have been copied already, so the limit is that of float32.
_ROUNDING_HALF = 1e-6

# Bytes of a block that is read twice. Chosen so that it stays in the cache of a core.
_CACHED = 2**19

_HINT = (
    "Use attnflow.models.attend, or load a Hugging Face model with attn_implementation='eager' and "
    "call it with output_attentions=True"
)


def checked_weights(value: object, name: str, *, square: bool = True) -> checks.Floats:
    """Return weights (layer, head, query, key) as a read-only array whose rows sum to one.

    `value` is an array-like, or a sequence of one per layer; `name` is its name in errors. With
    `square`, there must be as many keys as queries. Rows with rounding errors are renormalized.
    Takes two passes over the weights. An array that is read-only and owns its memory is copied
    only if rows are renormalized.

    >>> checked_weights([[[[0.25, 0.75]]]], "cross", square=False)
    array([[[[0.25, 0.75]]]])
    """
    received = _stack(value, name)
    _check_shape(received, name, square=square)
    arrays = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    dtypes = {str(getattr(w, "dtype", "")).rpartition(".")[2] for w in arrays}
    array = checks.as_read_only(received)
    return _normalize_rows(
        array,
        name,
        tolerance=_TOLERANCE_BFLOAT16 if "bfloat16" in dtypes else _TOLERANCE,
        rounding=_ROUNDING_HALF if dtypes & {"bfloat16", "float16"} else _ROUNDING,
        copied=array is not received or isinstance(value, list | tuple),
    )


def check_averaged(array: checks.Floats, name: str) -> None:
    """Raise an InputError if averaged weights have more than one head."""
    if array.shape[1] != 1:
        raise InputError(
            f"{name}: expected one head, the mean of all, with averaged=True, got "
            f"{array.shape[1]}. Leave averaged out"
        )


def check_causal(array: checks.Floats, name: str, advice: str) -> None:
    """Raise an InputError if a query attends to a later key; `advice` ends its message.

    Takes half a pass over the weights.
    """
    for query in range(array.shape[2]):
        ahead = array[:, :, query, query + 1 :]
        if ahead.max(initial=0.0) > 0:
            layer, head, key = np.unravel_index(np.argmax(ahead > 0), ahead.shape)
            where = _row_name(name, (layer, head, query))
            raise InputError(f"{where} attends to key {query + 1 + key}, a later one. {advice}")


def _stack(value: object, name: str) -> checks.Floats:
    """Return weights as one array, also from a sequence of one array per layer."""
    received = type(value).__name__
    if value is None:
        raise InputError(f"{name}: expected attention weights, got None. {_HINT}")
    if hasattr(value, "attentions"):
        raise InputError(f"{name}: expected attention weights, got {received}. Use its .attentions")
    if hasattr(value, "cross_attentions"):
        raise InputError(
            f"{name}: expected attention weights, got {received} of an encoder-decoder. Use its "
            ".encoder_attentions, .decoder_attentions and .cross_attentions with "
            "EncoderDecoderAttention"
        )
    if not isinstance(value, list | tuple):
        return checks.as_floats(value, name)
    layers = [_layer(w, f"{name}[{i}]", name) for i, w in enumerate(cast("list[object]", value))]
    if not layers:
        raise InputError(f"{name}: expected at least one layer, got none. {_HINT}")
    for i, layer in enumerate(layers):
        if layer.shape != layers[0].shape:
            raise InputError(
                f"{name}[{i}]: expected shape {layers[0].shape} as {name}[0], got {layer.shape}. "
                "For layers that differ in size, use AttentionGraph"
            )
    array = np.stack(layers)
    array.setflags(write=False)  # so that `as_read_only` does not copy it
    return array


def _layer(value: object, layer_name: str, name: str) -> checks.Floats:
    if value is None:
        raise InputError(f"{layer_name}: expected attention weights, got None. {_HINT}")
    layer = checks.as_floats(value, layer_name)
    if layer.ndim == 4 and layer.shape[0] != 1:
        raise InputError(
            f"{layer_name}: expected one example, got a batch of {layer.shape[0]}, shape "
            f"{layer.shape}. Use [w[0] for w in {name}] for the first, or [w[0, :, :n, :n] for w "
            f"in {name}] if it is padded after n tokens"
        )
    if layer.ndim not in (3, 4):
        raise InputError(
            f"{layer_name}: expected axes (head, query, key) or (1, head, query, key), got shape "
            f"{layer.shape}"
        )
    return layer[0] if layer.ndim == 4 else layer


def _check_shape(array: checks.Floats, name: str, *, square: bool) -> None:
    if array.ndim != 4 or 0 in array.shape:
        batch = f". Of a batch, use one example without padding: {name}[:, 0, :, :n, :n]"
        raise InputError(
            f"{name}: expected 4 axes (layer, head, query, key), none empty, got shape "
            f"{array.shape}{batch if array.ndim == 5 else ''}"
        )
    if square and array.shape[2] != array.shape[3]:
        raise InputError(
            f"{name}: expected as many keys as queries, got {array.shape[2]} queries and "
            f"{array.shape[3]} keys. For cross-attention, use EncoderDecoderAttention or "
            "AttentionGraph"
        )


def _normalize_rows(
    array: checks.Floats, name: str, *, tolerance: float, rounding: float, copied: bool
) -> checks.Floats:
    """Return distributions; rows whose sum has an error above `rounding` are renormalized.

    The array is changed in place if it is `copied` already.
    """
    if rounding == _ROUNDING and _are_distributions(array):
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        sums = array.sum(axis=-1, dtype=np.float64)
        errors = np.abs(sums - 1)
    if not (array.min() >= 0 and errors.max() <= tolerance):  # also when one of them is NaN
        raise _not_distributions(array, name, sums, tolerance)
    inexact = errors > rounding
    if inexact.any():
        array = array if copied else array.copy()
        array.setflags(write=True)
        _ = np.divide(
            array,
            sums[..., None],
            out=array,
            where=inexact[..., None],
            dtype=np.float64,
            casting="same_kind",
        )
        array.setflags(write=False)
    return array


def _are_distributions(array: checks.Floats) -> bool:
    """Return whether no weight is negative and all rows sum to one; False if in doubt.

    Sums in the precision of the weights have errors of about 1e-6 (2,048 keys in float32,
    measured), so half the limit is tested. NaN and infinity show in the sums. Not a product with
    ones, since the threads of BLAS would compete with those of a model.
    """
    keys = array.shape[-1]
    rows = array.reshape(-1, keys)
    step = max(1, _CACHED // (keys * array.itemsize))
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            np.abs(part.sum(axis=-1) - 1).max() <= _ROUNDING / 2 and part.min() >= 0
            for part in (rows[start : start + step] for start in range(0, len(rows), step))
        )


def _not_distributions(
    array: checks.Floats, name: str, sums: checks.Floats, tolerance: float
) -> InputError:
    valid = (array >= 0) & (array < np.inf)
    if not valid.all():
        bad = np.unravel_index(np.argmin(valid), array.shape)
        return InputError(
            f"{_row_name(name, bad)}: expected weights from 0 to 1, got {array[bad]} for key "
            f"{bad[3]}. Pass weights after the softmax"
        )
    errors = np.abs(sums - 1)
    bad = np.unravel_index(np.argmax(errors), errors.shape)
    return InputError(
        f"{_row_name(name, bad)}: expected a sum of 1 within {tolerance:.3g}, got "
        f"{sums[bad]:.6g}, an error of {errors[bad]:.3g}. Pass weights after the softmax and "
        f"before dropout. If they have a lower precision, divide by {name}.sum(-1, keepdims=True)"
    )


def _row_name(name: str, index: tuple[Any, ...]) -> str:
    layer, head, query = index[:3]
    return f"layer {layer + 1} ({name}[{layer}]), head {head}, query {query}"
