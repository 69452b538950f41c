"""What token attention is measured by: importance, or the position of one token."""

from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.evaluate._spearman import spearman
from attnflow.types import Importance, TokenAttention


def agreement(
    token_attention: TokenAttention, importance: Importance, *, query: int = 0
) -> NDArray[np.float64]:
    """Spearman's rank correlation of token attention with importance, for each layer.

    `rho[l] = corr(rank(scores[l, query, :]), rank(values))`, NaN where it is undefined, as in
    Tables 1 to 3 of the paper.

    Parameters
    ----------
    token_attention
        Scores, in which `query` was computed.
    importance
        Of the same tokens.
    query
        Position whose scores count: 0, where CLS stands, as in the paper.

    Notes
    -----
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> t = TokenAttention([[[0.2, 0.5, 0.3]]], ["a", "b", "c"], layers=[1], queries=[0],
    ...     method="raw")
    >>> agreement(t, Importance([0.1, 0.9, 0.2], ["a", "b", "c"], "blank_out"))
    array([1.])
    """
    for came, wanted in ((token_attention, TokenAttention), (importance, Importance)):
        if not isinstance(cast("object", came), wanted):
            raise InputError(
                f"a {type(came).__name__} came in the place of {wanted.__name__}; spearman takes "
                "arrays"
            )
    if token_attention.tokens != importance.tokens:
        raise InputError(
            f"token attention is of {_named(token_attention.tokens)} and importance of "
            f"{_named(importance.tokens)}; both of the same text and model are wanted, and both of "
            "tokens or both of words"
        )
    rows = [token_attention.row(layer, query) for layer in token_attention.layers]
    return spearman(rows, importance.values)


def hits(scores: ArrayLike, position: int, *, among: Iterable[int]) -> NDArray[np.float64]:
    """Whether the highest of the scores is at a position: 1 or 0 for each row.

    Where several are highest and one of them is at the position, each counts its share.

    Parameters
    ----------
    scores
        (…, token).
    position
        Where the highest is to be.
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
        raise InputError(f"position {position} is not among {places}, so it cannot be highest")
    if not rows.ndim or min(places) < 0 or max(places) >= rows.shape[-1]:
        raise InputError(f"scores has shape {rows.shape}, and positions up to {max(places)} count")
    if np.isnan(rows).any():
        raise InputError("scores holds NaN, which is neither higher nor lower than others")
    rows = rows[..., places]
    highest = rows == rows.max(axis=-1, keepdims=True)
    return highest[..., places.index(position)] / highest.sum(axis=-1)


def _named(tokens: tuple[str, ...]) -> str:
    shown = 6  # tokens; chosen so that the message fits a line or two
    more = " …" if len(tokens) > shown else ""
    return f"{len(tokens)} tokens ({' '.join(tokens[:shown])}{more})"
