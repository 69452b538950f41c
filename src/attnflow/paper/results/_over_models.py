"""A table of several models."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from attnflow.errors import InputError
from attnflow.evaluate import LayerTable


def over_models(tables: Mapping[str, LayerTable]) -> LayerTable:
    """Return a table of the means of several models: its mean and deviation are over models.

    Parameters
    ----------
    tables
        The table of each model, by its name.
    """
    if not tables:
        raise InputError("expected the table of at least one model, got none")
    name_of_first, first = next(iter(tables.items()))
    seconds: Counter[str] = Counter()
    for name, table in tables.items():
        if table.layers != first.layers:
            raise InputError(
                f"the models must have the same layers: {name_of_first} has {len(first.layers)}, "
                f"{name} has {len(table.layers)}. Compare them one by one"
            )
        for key in {**first.settings, **table.settings}.keys() - {"seconds"}:
            expected, found = first.settings.get(key), table.settings.get(key)
            if found != expected:
                raise InputError(
                    f"the tables must have the same settings: {key} is {expected!r} for "
                    f"{name_of_first}, {found!r} for {name}. Compare them one by one"
                )
        seconds.update(cast("Any", table.settings.get("seconds", {})))
    settings = {**first.settings, "sentences": len(first.texts), "seconds": dict(seconds)}
    means = [table.mean for table in tables.values()]
    return LayerTable(means, first.rows, first.layers, tables, settings=settings)
