"""How many tokens a text has, and how many a model takes."""

from typing import Any

from attnflow.models._families import length_limit
from attnflow.models.inputs._tokenize import tokenize


def count_tokens(tokenizer: Any, text: str) -> int:
    """How many tokens a text has, those that the tokenizer puts around it included.

    Parameters
    ----------
    tokenizer
        Of transformers, as `load` gives it.
    text
        Of any length; one without a word is an InputError.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.count_tokens(paper.load().tokenizer, "the key to the cabinets")
    7
    """
    return len(tokenize(tokenizer, text, limit=None, truncate=False).ids)


def token_limit(model: object) -> int | None:
    """How many tokens a model takes at most; None where it names no limit, or has none.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.token_limit(paper.load().model)
    64
    """
    return length_limit(model)
