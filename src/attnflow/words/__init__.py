"""Tokens as people read them: sub-word pieces put together to words of the original text."""

from attnflow.words._align import align
from attnflow.words._group import Word, grouped
from attnflow.words._merge import Pieces, merged
from attnflow.words._reading import Reading, names, reading
from attnflow.words._segment import stripped, word_spans

__all__ = [
    "Pieces",
    "Reading",
    "Word",
    "align",
    "grouped",
    "merged",
    "names",
    "reading",
    "stripped",
    "word_spans",
]
