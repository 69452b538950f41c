"""Checks of arguments that several figures share."""

from collections.abc import Iterable, Sequence
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
        raise InputError(f"vmax must be a number above 0, or None for the default, got {vmax!r}")
    return float(vmax)


def check_title(title: object, name: str = "title") -> None:
    """Raise InputError for a title that is not a string."""
    if title is not None and not isinstance(title, str):
        raise InputError(
            f"{name} must be a str, or None for the default, got {title!r} "
            f"({type(title).__name__}). Pass {name}=str(...)"
        )


def check_titles(titles: object, count: int, name: str = "titles") -> Sequence[str]:
    """Return as many titles as there are panels or results, checked."""
    given = isinstance(titles, Iterable) and not isinstance(titles, str)
    texts = tuple(cast("Iterable[str]", titles)) if given else ()
    if len(texts) != count:
        raise InputError(f"{name}: expected {count} {name}, one for each, got {titles!r}")
    for place, title in enumerate(texts):
        check_title(title, f"{name}[{place}]")
    return texts


def check_token_attention(token_attention: object) -> TokenAttention:
    """Return token attention, checked."""
    if not isinstance(token_attention, TokenAttention):
        raise InputError(
            f"expected a TokenAttention, got {type(token_attention).__name__}. Pass raw(x), "
            "rollout(x) or flow(x)"
        )
    return token_attention


def query_index(given: object, query: int | None) -> int:
    """Return the index of a query among those computed; it is optional if there is only one."""
    token_attention = check_token_attention(given)
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
