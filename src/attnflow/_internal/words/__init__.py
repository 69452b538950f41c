"""Tokens as people read them: sub-word pieces put together to words of the original text."""

from attnflow._internal.words._align import align
from attnflow._internal.words._group import Word, grouped
from attnflow._internal.words._merge import Pieces, merged
from attnflow._internal.words._segment import Span, stripped, word_spans

__all__ = [
    "Pieces",
    "Span",
    "Word",
    "align",
    "grouped",
    "merged",
    "stripped",
    "word_spans",
]
