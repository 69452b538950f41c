"""What callers pass, checked and in the one form that the types keep."""

import operator
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError

Floats: TypeAlias = NDArray[np.floating[Any]]
# What long work calls with how much is done and how much there is; what it raises ends the work.
Progress: TypeAlias = Callable[[int, int], None]


def as_floats(value: object, name: str) -> Floats:
    """What NumPy can read, as float32 or float64; a view where nothing needs converting.

    Float32 and float64 stay as they are, half precisions become float32 (which holds them
    exactly), whole numbers and wider floats become float64. Tensors that NumPy cannot read by
    itself (on a device, with gradients, in bfloat16) are recognised by their `detach` method, so
    that torch is never imported. `name` says in errors what the value is.

    >>> as_floats([[1, 0], [0, 1]], "weights").dtype
    dtype('float64')
    """
    if np.ma.isMaskedArray(value):
        raise InputError(
            f"{name} is a masked array; fill what is masked first, as in value.filled(0)"
        )
    try:
        array = np.asarray(_on_the_host(value))
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(
            f"{name} ({type(value).__name__}) cannot be read as an array of numbers: {reason}. "
            "Pass an array, or nested lists of one shape"
        ) from reason
    kind, label = array.dtype.kind, array.dtype.name
    if kind == "f" and array.dtype.itemsize in (4, 8):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    # Types from outside NumPy, such as JAX's bfloat16, are of kind V (or f) and named for floats.
    if (kind == "f" and array.dtype.itemsize < 4) or label.startswith(("bfloat", "float8")):
        return array.astype(np.float32)
    if kind in "biuf":
        return array.astype(np.float64)
    raise InputError(
        f"{name} ({type(value).__name__}) holds {label}; numbers are wanted: pass floats"
    )


def _on_the_host(value: object) -> object:
    if not (hasattr(value, "detach") and hasattr(value, "cpu")):
        return value
    tensor = cast("Any", value).detach().cpu()
    narrow = tensor.is_floating_point() and tensor.element_size() < 4
    return (tensor.float() if narrow else tensor).numpy()


def as_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array as one that nobody writes to: a copy, unless it is read-only and its own already.

    Taking a read-only array as it is lets results of hundreds of megabytes be handed over without
    copying: whoever made one sets it read-only and lets go of it.

    >>> as_read_only(np.zeros(3)).flags.writeable
    False
    """
    flags = array.flags
    if flags.writeable or not flags.owndata or not flags.c_contiguous:
        array = np.array(array, order="C")
        array.setflags(write=False)
    return array


def as_tokens(tokens: Iterable[str] | None, count: int) -> tuple[str, ...]:
    """`count` names of tokens, checked; without names the positions "0", "1", ....

    >>> as_tokens(None, 3)
    ('0', '1', '2')
    """
    if tokens is None:
        return tuple(str(position) for position in range(count))
    came = cast("object", tokens)
    flat = getattr(came, "ndim", 1) == 1
    if (
        isinstance(came, str | bytes | set | frozenset)
        or not isinstance(came, Iterable)
        or not flat
    ):
        raise InputError(f"tokens is {tokens!r}; a list of {count} strings is wanted")
    names = tuple(tokens)
    for position, name in enumerate(names):
        if not isinstance(cast("object", name), str):
            raise InputError(
                f"token {position} is {name!r} ({type(name).__name__}); tokens are strings: "
                "turn ids into text with the tokenizer first"
            )
    if len(names) != count:
        raise InputError(
            f"{len(names)} tokens came for {count} positions; give one token a position"
        )
    return tuple(str(name) for name in names)  # NumPy's strings become plain ones


def as_bool(value: object, name: str) -> bool:
    """One truth value, also NumPy's, as files hold it; nothing else stands for one.

    >>> as_bool(np.array(True), "causal")
    True
    """
    array = np.asarray(value)
    if array.dtype.kind != "b" or array.size != 1:
        raise InputError(f"{name} is {value!r}; one truth value is wanted")
    return bool(array.item())


def as_ints(values: Iterable[int] | int, name: str) -> tuple[int, ...]:
    """Whole numbers as a tuple, also from NumPy or a single one; `name` says in errors what for.

    >>> as_ints(np.arange(3), "queries")
    (0, 1, 2)
    """
    try:
        each = tuple(values) if isinstance(values, Iterable) else (values,)
        if not any(isinstance(value, bool | np.bool) for value in each):
            return tuple(operator.index(value) for value in each)
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} is {values!r}; whole numbers are wanted")


def as_distinct_ints(values: Iterable[int] | int, name: str) -> tuple[int, ...]:
    """Integers, at least one and none of them twice; `name` says in errors what they are.

    >>> as_distinct_ints([3, 1], "layers")
    (3, 1)
    """
    numbers = as_ints(values, name)
    if not numbers:
        raise InputError(f"{name} is empty; leave it out for all")
    if len(set(numbers)) != len(numbers):
        raise InputError(f"{name} is {numbers}, which asks for some twice; name each once")
    return numbers


def as_int(value: object, name: str) -> int:
    """One whole number, also from NumPy.

    >>> as_int(np.int64(3), "head")
    3
    """
    numbers = as_ints(cast("int", value), name)
    if isinstance(value, Iterable) or len(numbers) != 1:
        raise InputError(f"{name} is {value!r}; one whole number is wanted")
    return numbers[0]


def as_fraction(value: object, name: str) -> float:
    """A number of at least 0 and below 1, as shares are that leave something over.

    >>> as_fraction(0.5, "residual")
    0.5
    """
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool)
    if not real or not 0 <= cast("float", value) < 1:
        raise InputError(f"{name} is {value!r}; a number of at least 0 and below 1 is wanted")
    return float(cast("float", value))
