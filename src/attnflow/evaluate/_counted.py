"""The tokens that count in a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnflow.models.inputs import inner_tokenizer


def counted_positions(tokens: Sequence[str], tokenizer: Any, *, special: bool) -> list[int]:
    """Return the positions that count: all, or those that are not special tokens.

    All count if there are only special tokens, and without a tokenizer, which knows them.

    Examples
    --------
    >>> from attnflow import paper
    >>> tokenizer = paper.load().tokenizer
    >>> counted_positions(["[CLS]", "the", "key", "<?>"], tokenizer, special=False)
    [1, 2]
    """
    places = list(range(len(tokens)))
    if special or tokenizer is None:
        return places
    inner = inner_tokenizer(tokenizer)
    names = set(inner.all_special_tokens) - {inner.unk_token}
    return [place for place in places if tokens[place] not in names] or places
