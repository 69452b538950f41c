"""Tokens as people read them: sub-word pieces put together to words of the original text."""

from attnflow.words._align import align
from attnflow.words._group import Word, grouped
from attnflow.words._merge import Pieces, merged
from attnflow.words._segment import stripped, word_spans

__all__ = ["Pieces", "Word", "align", "grouped", "merged", "stripped", "word_spans"]
