"""Arrays as base64, and JSON that is safe inside HTML."""

import base64
import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.checks import Floats
from attnflow.errors import InputError

# An array in JSON: {"type", "shape", "scale", "data"}.
EncodedArray: TypeAlias = dict[str, Any]

_STEPS = 65535  # 16 bits: the error is below 1/65535 of the largest weight
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def as_shares(parts: Floats | Sequence[Floats]) -> EncodedArray:
    """Encode finite non-negative numbers in 16 bits: `integer / 65535 · scale`.

    `parts` are arrays of one shape, such as the rows of an array; the scale is the largest number.
    The error is at most `scale / 131070`.

    >>> as_shares(np.array([0.0, 0.25, 0.5]))
    {'type': 'u2', 'shape': [3], 'scale': 0.5, 'data': 'AAAAgP//'}
    """
    scale = max(float(part.max()) for part in parts) or 1.0
    integers = np.empty((len(parts), *parts[0].shape), dtype="<u2")
    for place, part in enumerate(parts):  # one by one, to save memory
        integers[place] = np.rint(part.astype(np.float64) / scale * _STEPS)
    return _encoded("u2", integers, scale)


def as_floats(numbers: Floats) -> EncodedArray:
    """Encode numbers as float32, including infinite ones.

    >>> as_floats(np.array([1.0, np.inf]))
    {'type': 'f4', 'shape': [2], 'scale': 1.0, 'data': 'AACAPwAAgH8='}
    """
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    if numbers.size and (largest := float(np.abs(finite).max())) > _FLOAT32_MAX:
        raise InputError(
            f"expected numbers up to {_FLOAT32_MAX:.3g}, the limit of a page, got {largest:.3g}. "
            "Divide all of them by a constant"
        )
    return _encoded("f4", numbers.astype("<f4"), 1.0)


def script_json(document: object) -> str:
    r"""Return JSON text that is safe inside a script element.

    Every `<` and everything but ASCII is escaped. Equal documents give equal text.

    >>> script_json({"token": "</script>"})
    '{"token":"\\u003c/script>"}'
    """
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _encoded(kind: str, numbers: NDArray[Any], scale: float) -> EncodedArray:
    data = base64.b64encode(numbers.tobytes()).decode("ascii")
    return {"type": kind, "shape": list(numbers.shape), "scale": scale, "data": data}
