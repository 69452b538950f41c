"""Words of a text: which characters tokens stand for, and which tokens make a word."""

from attnflow._internal.words._align import align
from attnflow._internal.words._group import Word, group_tokens, word_names
from attnflow._internal.words._merge import QueryReduction, merge_scores, query_rows
from attnflow._internal.words._spans import Span, strip_span, word_spans
from attnflow._internal.words._token_texts import token_texts

__all__ = [
    "QueryReduction", "Span", "Word", "align", "group_tokens", "merge_scores",
    "query_rows", "strip_span",
    "token_texts", "word_names", "word_spans",
]  # fmt: skip
