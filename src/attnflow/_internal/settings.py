"""Settings: how a result was computed, as a read-only mapping that can be written as JSON."""

import json
import math
import reprlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from attnflow._internal.files import parse_json
from attnflow.errors import InputError

Settings: TypeAlias = Mapping[str, object]
NO_SETTINGS: Settings = MappingProxyType({})
_PLAIN = {str, int, bool, type(None)}


def freeze_settings(settings: Settings | None) -> Settings:
    """Return a read-only copy of settings; lists become tuples."""
    try:
        copy = _freeze(settings or {})
    except (_NotPlainError, RecursionError):  # such as numbers of NumPy, which JSON may know
        copy = _frozen_json(settings)
    if not isinstance(copy, Mapping):
        raise InputError(f"settings must map names to values, got {reprlib.repr(settings)}")
    return cast("Settings", copy)


def _frozen_json(settings: Settings | None) -> object:
    try:
        return _freeze(json.loads(settings_to_json(settings or {})))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError(
            f"settings {reprlib.repr(settings)} cannot be written as JSON: {reason}. "
            "Use strings, numbers, booleans and lists of them"
        ) from reason


def thaw_settings(settings: Settings) -> dict[str, Any]:
    """Return a copy of settings as a plain dictionary."""
    return json.loads(settings_to_json(settings))


def settings_to_json(settings: Settings) -> str:
    """Return settings as JSON text."""
    return json.dumps(settings, default=_plain_dict, allow_nan=False)


class _NotPlainError(Exception):
    """A value is not one that JSON returns as it is."""


def _freeze(value: object) -> object:
    """Return a read-only copy of values that JSON returns as they are."""
    kind = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(cast("float", value))):
        return value
    if kind in (dict, MappingProxyType):
        items = cast("Mapping[object, object]", value).items()
        if all(type(key) is str for key, _ in items):
            return MappingProxyType({key: _freeze(item) for key, item in items})
    if kind in (list, tuple):
        return tuple(map(_freeze, cast("list[object]", value)))
    raise _NotPlainError


def _plain_dict(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Settings", value))
    raise TypeError(f"{type(value).__name__} is not JSON")


def settings_from_json(stored: object) -> Settings:
    """Return the settings in JSON text from a file."""
    try:
        settings = parse_json(str(stored))
    except ValueError as reason:
        raise InputError(
            f"settings must be JSON text, got {reprlib.repr(stored)}: {reason}"
        ) from reason
    return freeze_settings(settings)
