"""Numbers and text as the page reads them: base64 arrays, and JSON that is safe inside HTML."""

import base64
import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.checks import Floats
from attnflow.errors import InputError

# What JSON holds of an array: {"type", "shape", "scale", "data"}.
Encoded: TypeAlias = dict[str, Any]

_STEPS = 65535  # of 16 bits: a weight is off by less than 1/65535 of the largest one
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def as_shares(parts: Floats | Sequence[Floats]) -> Encoded:
    """Finite numbers of 0 or more in 16 bits each: `integer / 65535 · scale`.

    `parts` are arrays of one shape, as the rows of an array are; the scale is the largest number.
    The error is at most `scale / 131070`.

    >>> as_shares(np.array([0.0, 0.25, 0.5]))
    {'type': 'u2', 'shape': [3], 'scale': 0.5, 'data': 'AAAAgP//'}
    """
    scale = max(float(part.max()) for part in parts) or 1.0
    whole = np.empty((len(parts), *parts[0].shape), dtype="<u2")
    for place, part in enumerate(parts):  # one by one, so that float64 is needed for one alone
        whole[place] = np.rint(part.astype(np.float64) / scale * _STEPS)
    return _encoded("u2", whole, scale)


def as_floats(numbers: Floats) -> Encoded:
    """Numbers as float32, infinite ones among them.

    >>> as_floats(np.array([1.0, np.inf]))
    {'type': 'f4', 'shape': [2], 'scale': 1.0, 'data': 'AACAPwAAgH8='}
    """
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    if numbers.size and (largest := float(np.abs(finite).max())) > _FLOAT32_MAX:
        raise InputError(
            f"a number is {largest:.3g}, and the page holds numbers up to {_FLOAT32_MAX:.3g}; "
            "divide all of them by one that brings them there"
        )
    return _encoded("f4", numbers.astype("<f4"), 1.0)


def script_json(document: object) -> str:
    r"""JSON text that ends no script element and breaks no line of JavaScript.

    Every `<` is written as an escape, and so is all that is not ASCII, line separators and half
    characters included. Equal documents give equal text.

    >>> script_json({"token": "</script>"})
    '{"token":"\\u003c/script>"}'
    """
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _encoded(kind: str, numbers: NDArray[Any], scale: float) -> Encoded:
    data = base64.b64encode(numbers.tobytes()).decode("ascii")
    return {"type": kind, "shape": list(numbers.shape), "scale": scale, "data": data}
