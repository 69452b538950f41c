"""Words of a text: which characters tokens stand for, and which tokens make a word."""

from attnflow._internal.words._align import align
from attnflow._internal.words._group import Word, group_tokens, word_names
from attnflow._internal.words._merge import QueryReduction, merge_scores
from attnflow._internal.words._spans import Span, strip_span, word_spans

__all__ = [
    "QueryReduction", "Span", "Word", "align", "group_tokens", "merge_scores", "strip_span",
    "word_names", "word_spans",
]  # fmt: skip
