"""The number of tokens of a text, and the limit of a model."""

from typing import Any

from attnflow.models._families import length_limit
from attnflow.models.inputs._tokenize import tokenize


def count_tokens(tokenizer: Any, text: str) -> int:
    """Return the number of tokens of a text, special tokens included.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers, as `load` returns it.
    text
        A text of any length; a text without a word is an InputError.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.count_tokens(paper.load().tokenizer, "the key to the cabinets")
    7
    """
    return len(tokenize(tokenizer, text, limit=None, truncate=False).ids)


def token_limit(model: object) -> int | None:
    """Return how many tokens a model takes at most; None if unlimited or unknown.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.token_limit(paper.load().model)
    64
    """
    return length_limit(model)
