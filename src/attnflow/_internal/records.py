"""Record: immutability, equality and pickling of the data types."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray


class Record:
    """Immutable object that is compared, hashed, copied and pickled by its fields.

    A subclass is a `@dataclass(frozen=True, slots=True, eq=False)`. Its `__init__` checks the
    arguments and stores them with `_set`. Fields hold read-only arrays, tuples, mappings of these,
    and hashable values. A field that `__init__` computes is declared with `field(init=False)`.
    """

    __slots__ = ()

    def _set(self, **fields: object) -> None:
        """Set fields in `__init__`; afterwards a dataclass refuses assignments."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _fields(self) -> dict[str, Any]:
        """Return the arguments of `__init__` that make an equal record."""
        fields = dataclasses.fields(cast("Any", self))
        return {field.name: getattr(self, field.name) for field in fields if field.init}

    def __reduce__(self) -> tuple[Any, ...]:
        # The constructor makes arrays read-only, which pickle alone does not.
        fields = {name: _thaw(value) for name, value in self._fields().items()}
        return functools.partial(type(self), **fields), ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(_equal(value, getattr(other, name)) for name, value in self._fields().items())

    def __hash__(self) -> int:
        return hash(tuple(map(_hash_key, self._fields().values())))


def _equal(a: object, b: object) -> bool:
    if _is_array(a):
        # The second comparison copies the arrays, so it runs only if there is a difference.
        return _is_array(b) and (np.array_equal(a, b) or np.array_equal(a, b, equal_nan=True))
    if _is_tuple(a) and _is_tuple(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    if _is_mapping(a) and _is_mapping(b):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return a == b


def _hash_key(value: object) -> object:
    """Return a hashable that is the same for equal values: of an array, its shape."""
    if _is_array(value):
        return value.shape
    if _is_tuple(value):
        return tuple(map(_hash_key, value))
    return frozenset(value) if _is_mapping(value) else value


def _thaw(value: object) -> object:
    """Return read-only mappings as dictionaries, which can be pickled."""
    if _is_mapping(value):
        return {key: _thaw(item) for key, item in value.items()}
    return tuple(map(_thaw, value)) if _is_tuple(value) else value


def _is_array(value: object) -> TypeGuard[NDArray[Any]]:
    return isinstance(value, np.ndarray)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)
