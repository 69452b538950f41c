"""Checks of arguments that several figures share."""

from numbers import Real
from typing import cast

import numpy as np

from attnflow._internal import optional
from attnflow.errors import InputError
from attnflow.types import TokenAttention


def require_matplotlib() -> None:
    """Raise MissingDependencyError where matplotlib is missing; nothing is imported."""
    optional.require("matplotlib", need="figures need", extra="plot")


def check_vmax(vmax: float) -> float:
    """Return the upper end of a colour or width scale, checked."""
    value = cast("object", vmax)
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InputError(
            f"vmax must be a number above 0, or None for the largest value drawn, got {vmax!r}"
        )
    return float(vmax)


def check_title(title: object, name: str = "title") -> None:
    """Raise InputError for a title that is not a string."""
    if title is not None and not isinstance(title, str):
        raise InputError(
            f"{name} must be a str, or None for the default, got {title!r} "
            f"({type(title).__name__}). Pass {name}=str(...)"
        )


def query_index(token_attention: object, query: int | None) -> int:
    """Return the index of a query among those computed; it is optional if there is only one."""
    if not isinstance(token_attention, TokenAttention):
        raise InputError(
            f"expected a TokenAttention, got {type(token_attention).__name__}. Pass raw(x), "
            "rollout(x) or flow(x)"
        )
    queries = token_attention.queries
    if query is None:
        if len(queries) > 1:
            raise InputError(
                f"{len(queries)} queries were computed, and the figure shows one. Pass query="
                f"{queries[0]} or another of them"
            )
        return 0
    _ = token_attention.row(token_attention.layers[0], query)  # raises with the queries there are
    return queries.index(query)
