"""What callers of several pictures pass, checked."""

from __future__ import annotations

from numbers import Real
from typing import cast

import numpy as np

from attnflow.errors import InputError
from attnflow.types import TokenAttention


def checked_strongest(strongest: float) -> float:
    """A weight or score that others can be shares of."""
    given = cast("object", strongest)
    if not isinstance(given, Real) or not 0 < float(given) < np.inf:
        raise InputError(
            f"strongest is {strongest!r}; a number above 0 is wanted, or None for the largest "
            "that is drawn"
        )
    return float(strongest)


def checked_title(title: object, name: str = "title") -> None:
    """Refuse what is no text, before anything is drawn."""
    if title is not None and not isinstance(title, str):
        raise InputError(
            f"{name} is {title!r} ({type(title).__name__}); text is wanted, or None for the "
            f"default: pass {name}=str(...)"
        )


def checked_query(token_attention: object, query: int | None) -> int:
    """Where the scores of the query are; it need not be named where there is one."""
    if not isinstance(token_attention, TokenAttention):
        raise InputError(
            f"a {type(token_attention).__name__} came; token attention is wanted: raw(x), "
            "rollout(x) or flow(x)"
        )
    queries = token_attention.queries
    if query is None:
        if len(queries) > 1:
            raise InputError(
                f"{len(queries)} queries were computed, and one is drawn; name it: "
                f"query={queries[0]}"
            )
        return 0
    _ = token_attention.row(token_attention.layers[0], query)  # says which ones there are
    return queries.index(query)
