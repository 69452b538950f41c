"""StoredRecord: `save` and `load` of the data types."""

from typing import Any, ClassVar, Self

import numpy as np

from attnflow._internal import storage
from attnflow._internal.records import Record
from attnflow._internal.settings import settings_from_json, settings_to_json
from attnflow.errors import InputError
from attnflow.types._origin import origin_from_json, origin_to_json

# Name of an array that only files of one type hold → the type.
_TYPE_BY_ARRAY = {
    "weights": "Attention",
    "cross": "EncoderDecoderAttention",
    "layer_1": "AttentionGraph",
    "scores": "TokenAttention",
    "values": "Importance",
}


class StoredRecord(Record):
    """Record that `save` writes to a file, one array or string for each field.

    `settings` and `origin` are JSON. A tuple of arrays such as `layers` is stored as `layer_1`,
    `layer_2`, …. A field that is None is left out, and so are settings if there are none, and
    `averaged` and `flat` if all is False.
    """

    __slots__ = ()

    # Names that a file must hold, and names that it may hold. `layer_*` is `layer_1`, `layer_2`, ….
    _REQUIRED: ClassVar[tuple[str, ...]]
    _OPTIONAL: ClassVar[tuple[str, ...]]

    def save(self, path: storage.PathLike) -> None:
        """Write all fields to a .npz or .safetensors file; the suffix chooses the format."""
        stored: dict[str, storage.Stored] = {}
        for name, value in self._fields().items():
            if value is None or (name in ("averaged", "flat") and not np.any(value)):
                continue
            if name == "settings" and not value:
                continue
            if f"{name[:-1]}_*" in self._OPTIONAL:
                stored |= {f"{name[:-1]}_{i}": array for i, array in enumerate(value, start=1)}
            else:
                stored[name] = _encode(name, value)
        storage.write(path, stored)

    @classmethod
    def load(cls, path: storage.PathLike) -> Self:
        """Read a file that `save` wrote; arrays with a default may be missing."""
        others = {
            array: f"This is a file of {name}: {name}.load reads it"
            for array, name in _TYPE_BY_ARRAY.items()
            if name != cls.__name__
        }
        stored: dict[str, Any] = dict(
            storage.read(path, required=cls._REQUIRED, optional=cls._OPTIONAL, others=others)
        )
        with storage.naming_file(path):
            for prefix in (name[:-1] for name in cls._OPTIONAL if name.endswith("_*")):
                if arrays := _pop_numbered(stored, prefix):
                    stored[f"{prefix[:-1]}s"] = arrays
            for name, decode in (("settings", settings_from_json), ("origin", origin_from_json)):
                if name in stored:
                    stored[name] = decode(stored[name])
            return cls(**stored)


def _encode(name: str, value: Any) -> storage.Stored:
    if name == "settings":
        return settings_to_json(value)
    if name == "origin":
        return origin_to_json(value)
    array = np.asarray(value)
    return value if array.dtype.kind == "U" else array


def _pop_numbered(stored: dict[str, Any], prefix: str) -> list[Any]:
    """Take the arrays `prefix`1, `prefix`2, … out of what a file holds."""
    count = sum(name.startswith(prefix) for name in stored)
    names = [f"{prefix}{number}" for number in range(1, count + 1)]
    if missing := [name for name in names if name not in stored]:
        raise InputError(
            f"{missing[0]} is missing; expected {prefix}1 to {prefix}{count} without a gap"
        )
    return [stored.pop(name) for name in names]
