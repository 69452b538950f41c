"""Settings: how a result was computed, as a read-only mapping that can be written as JSON."""

import json
import reprlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from attnflow._internal.files import parse_json
from attnflow.errors import InputError

Settings: TypeAlias = Mapping[str, object]


def freeze_settings(settings: Settings | None) -> Settings:
    """Return a read-only copy of settings; lists become tuples."""
    try:
        copy = _freeze(json.loads(settings_to_json(settings or {})))
    except (TypeError, ValueError, RecursionError) as reason:
        raise InputError(
            f"settings {reprlib.repr(settings)} cannot be written as JSON: {reason}. "
            "Use strings, numbers, booleans and lists of them"
        ) from reason
    if not isinstance(copy, Mapping):
        raise InputError(f"settings must map names to values, got {reprlib.repr(settings)}")
    return cast("Settings", copy)


def thaw_settings(settings: Settings) -> dict[str, Any]:
    """Return a copy of settings as a plain dictionary."""
    return json.loads(settings_to_json(settings))


def settings_to_json(settings: Settings) -> str:
    """Return settings as JSON text."""
    return json.dumps(settings, default=_plain_dict, allow_nan=False)


def _freeze(value: object) -> object:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return MappingProxyType({key: _freeze(item) for key, item in items})
    if isinstance(value, list):
        return tuple(_freeze(item) for item in cast("list[object]", value))
    return value


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
