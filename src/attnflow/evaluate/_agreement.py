"""How well token attention agrees with importance, or with the position of one token."""

from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.evaluate._spearman import spearman
from attnflow.types import Importance, TokenAttention


def agreement(
    token_attention: TokenAttention, importance: Importance, *, query: int | None = None
) -> NDArray[np.float64]:
    """Return Spearman's rank correlation of token attention with importance, for each layer.

    `rho[l] = corr(rank(scores[l, query, :]), rank(values))`, NaN if it is undefined, as in Tables 1
    to 3 of the paper.

    Parameters
    ----------
    token_attention
        Scores that include `query`.
    importance
        Importance of the same tokens.
    query
        The position whose scores count. By default the one whose output the importance is about, as
        in `explain`: the position that its settings record, for models with an output at every
        position; else the only query of `token_attention`; else the last position if it is causal
        and the first, where CLS stands, if it is not.

    Examples
    --------
    >>> t = TokenAttention([[[0.2, 0.5, 0.3]]], ["a", "b", "c"], layers=[1], queries=[0],
    ...     method="raw")
    >>> agreement(t, Importance([0.1, 0.9, 0.2], ["a", "b", "c"], "blank_out"))
    array([1.])
    """
    for value, expected in ((token_attention, TokenAttention), (importance, Importance)):
        if not isinstance(cast("object", value), expected):
            raise InputError(
                f"expected {expected.__name__}, got {type(value).__name__}; spearman takes arrays"
            )
    if token_attention.tokens != importance.tokens:
        raise InputError(
            f"token attention has {_name_some(token_attention.tokens)} and importance "
            f"{_name_some(importance.tokens)}; pass results of one text and model, both of tokens "
            "or both of words"
        )
    row = _read_position(token_attention, importance) if query is None else query
    rows = [token_attention.row(layer, row) for layer in token_attention.layers]
    return spearman(rows, importance.values)


def _read_position(token_attention: TokenAttention, importance: Importance) -> int:
    """Return the query whose output the importance is about."""
    queries, settings = token_attention.queries, token_attention.settings
    position = importance.settings.get("position")
    segments = settings.get("segments", "tokens") != "tokens"
    of_words = "words" in importance.settings or importance.method == "leave_span_out"
    if position is not None and not of_words:
        if position not in queries:
            raise InputError(
                f"importance is about the output at position {position}, which is not among the "
                f"queries of token attention; compute it with queries={position}, or pass query"
            )
        return cast("int", position)
    if len(queries) == 1:
        return queries[0]
    if position is not None or settings.get("onto", 0) or segments:
        raise InputError(
            f"token attention has {len(queries)} queries, and the importance does not record which "
            "of them it is about; pass query"
        )
    scores = token_attention.scores
    causal = not any(scores[:, row, query + 1 :].any() for row, query in enumerate(queries))
    return scores.shape[2] - 1 if causal else 0


def hits(scores: ArrayLike, position: int, *, among: Iterable[int]) -> NDArray[np.float64]:
    """Return for each row whether its highest score is at a position: 1 or 0.

    If several scores are highest and one of them is at the position, each counts its share.

    Parameters
    ----------
    scores
        (…, token).
    position
        The position of the highest score.
    among
        Positions that count; the others are left out.

    Examples
    --------
    >>> hits(np.array([[0.9, 0.3, 0.1], [0.9, 0.2, 0.2]]), 1, among=[1, 2])
    array([1. , 0.5])
    """
    rows = checks.as_floats(scores, "scores")
    places = tuple(dict.fromkeys(checks.as_ints(among, "among")))
    if position not in places:
        raise InputError(f"position: expected one of among, {places}, got {position}")
    if not rows.ndim or min(places) < 0 or max(places) >= rows.shape[-1]:
        raise InputError(f"among: expected positions of scores, shape {rows.shape}, got {places}")
    if np.isnan(rows).any():
        raise InputError("scores hold NaN, which is neither higher nor lower than others")
    rows = rows[..., places]
    highest = rows == rows.max(axis=-1, keepdims=True)
    return highest[..., places.index(position)] / highest.sum(axis=-1)


def _name_some(tokens: tuple[str, ...]) -> str:
    shown = 6  # so that the message fits on a line or two. Chosen
    more = " …" if len(tokens) > shown else ""
    return f"{len(tokens)} tokens ({' '.join(tokens[:shown])}{more})"
