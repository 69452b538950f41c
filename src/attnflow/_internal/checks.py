"""Checks of arguments, which return them in the form that the types store."""

import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from numbers import Real
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError

Floats: TypeAlias = NDArray[np.floating[Any]]
# Called during long work with the numbers of steps done and of all steps; may raise to stop it.
Progress: TypeAlias = Callable[[int, int], None]
_KEPT = (np.dtype(np.float32), np.dtype(np.float64))
# Chosen: above the cores of any machine. What is larger is a typing error, and crashes torch.
MAX_THREADS = 1024
MAX_STEPS = 1000  # of integrated gradients. Chosen: more change nothing, and take memory


def check_progress(progress: object) -> None:
    """Reject what cannot be called during work, before the work.

    >>> check_progress(print)
    """
    if progress is not None and not callable(progress):
        raise InputError(
            "progress: expected a function of (steps done, steps in total) or None, got "
            f"{progress!r}"
        )


def as_floats(value: object, name: str) -> Floats:
    """Return an array-like as float32 or float64, without a copy if possible.

    Float32 and float64 keep their type, half precisions become float32, integers and wider floats
    become float64. Tensors that NumPy cannot convert (on a device, with gradients, in bfloat16)
    are recognized by their `detach` method, so that torch is never imported. `name` is the name of
    the argument in errors.

    >>> as_floats([[1, 0], [0, 1]], "weights").dtype
    dtype('float64')
    """
    if np.ma.isMaskedArray(value):
        raise InputError(f"{name}: expected a plain array, got a masked one. Use value.filled(0)")
    try:
        array = np.asarray(_to_host(value))
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(
            f"{name}: expected an array of numbers, got {type(value).__name__}: {reason}. "
            "Pass an array, or nested lists of one shape"
        ) from reason
    if array.dtype in _KEPT:
        return array  # the usual case, fast: the name of a type takes 10 µs
    kind, label = array.dtype.kind, array.dtype.name
    if kind == "f" and array.dtype.itemsize in (4, 8):
        return array.astype(array.dtype.newbyteorder("="))
    # Types of other packages, such as JAX's bfloat16, have kind V or f and the name of a float.
    if (kind == "f" and array.dtype.itemsize < 4) or label.startswith(("bfloat", "float8")):
        return array.astype(np.float32)
    if kind in "biuf":
        return array.astype(np.float64)
    raise InputError(f"{name}: expected numbers, got values of type {label}")


def _to_host(value: object) -> object:
    if not (hasattr(value, "detach") and hasattr(value, "cpu")):
        return value
    tensor = cast("Any", value).detach().cpu()
    narrow = tensor.is_floating_point() and tensor.element_size() < 4
    return (tensor.float() if narrow else tensor).numpy()


def as_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only array: a copy, unless `array` is read-only and owns its memory.

    Large results are passed on without a copy: the function that made one sets it read-only.

    >>> as_read_only(np.zeros(3)).flags.writeable
    False
    """
    flags = array.flags
    if flags.writeable or not flags.owndata or not flags.c_contiguous:
        array = np.array(array, order="C")
        array.setflags(write=False)
    return array


def as_tokens(tokens: Iterable[str] | None, count: int, name: str = "tokens") -> tuple[str, ...]:
    """Return `count` names of tokens; by default the positions "0", "1", ....

    >>> as_tokens(None, 3)
    ('0', '1', '2')
    """
    if tokens is None:
        return tuple(str(position) for position in range(count))
    if isinstance(tokens, tuple) and len(tokens) == count and set(map(type, tokens)) <= {str}:
        return tokens  # the usual case, fast
    value = cast("object", tokens)
    flat = getattr(value, "ndim", 1) == 1 and isinstance(value, Iterable)
    if not flat or isinstance(value, str | bytes | set | frozenset):
        raise InputError(f"{name} must be a list of {count} strings, got {tokens!r}")
    strings = tuple(tokens)
    for position, token in enumerate(strings):
        if not isinstance(cast("object", token), str):
            raise InputError(
                f"{name} must be strings, got {token!r} ({type(token).__name__}) at position "
                f"{position}. Convert ids with tokenizer.convert_ids_to_tokens"
            )
    if len(strings) != count:
        raise InputError(f"{name}: expected {count}, one per position, got {len(strings)}")
    return tuple(str(token) for token in strings)  # converts NumPy's strings


def as_bool(value: object, name: str) -> bool:
    """Return a bool, also from a NumPy array of size one as files hold it.

    >>> as_bool(np.array(True), "causal")
    True
    """
    array = np.asarray(value)
    if array.dtype.kind != "b" or array.size != 1:
        raise InputError(f"{name} must be a bool, got {value!r}")
    return bool(array.item())


def as_ints(
    values: Iterable[int] | int, name: str, *, expected: str = "integers"
) -> tuple[int, ...]:
    """Return integers as a tuple, also from a single one; `expected` is for the error.

    >>> as_ints(np.arange(3), "queries")
    (0, 1, 2)
    """
    try:
        items = tuple(values) if isinstance(values, Iterable) else (values,)
        if isinstance(cast("object", values), bytes | bytearray):
            raise TypeError  # noqa: TRY301 (its items would be integers)
        if set(map(type, items)) <= {int}:
            return items
        if not any(isinstance(item, bool | np.bool) for item in items):
            return tuple(operator.index(item) for item in items)
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} must be {expected}, got {values!r}")


def as_distinct_ints(values: Iterable[int] | int, name: str) -> tuple[int, ...]:
    """Return integers as a tuple, at least one and none of them twice.

    >>> as_distinct_ints([3, 1], "layers")
    (3, 1)
    """
    numbers = as_ints(values, name)
    if not numbers:
        raise InputError(f"{name} must not be empty. Leave it out for all")
    if len(set(numbers)) != len(numbers):
        raise InputError(f"{name} must be distinct, got {numbers}")
    return numbers


def as_int(value: object, name: str, *, least: int | None = None, most: int | None = None) -> int:
    """Return an integer, also from NumPy, from `least` up to `most`, which needs `least`.

    >>> as_int(np.int64(3), "head")
    3
    """
    number = None
    if not isinstance(value, bool | np.bool | Iterable):
        with suppress(TypeError):
            number = operator.index(cast("int", value))
    if number is None:
        raise InputError(f"{name} must be an integer, got {value!r}")
    if (least is not None and number < least) or (most is not None and number > most):
        end = "" if most == least else " or more" if most is None else f" to {most}"
        raise InputError(f"{name} must be {least}{end}, got {number}")
    return number


def as_float(value: object, name: str, interval: str = "[0, 1)") -> float:
    """Return a number in an interval as a float.

    >>> as_float(1, "learning_rate", "(0, inf)")
    1.0
    """
    low, high = map(float, interval[1:-1].split(","))
    number = cast("float", value)
    if isinstance(value, Real) and not isinstance(value, bool | np.bool):
        above = low < number if interval[0] == "(" else low <= number
        if above and (number < high if interval[-1] == ")" else number <= high):
            return float(number)
    raise InputError(f"{name} must be a number in {interval}, got {value!r}")
