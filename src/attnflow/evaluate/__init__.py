"""How well token attention agrees with what the answer of a model depends on.

Ranks need scipy: `pip install "attnflow[models]"`.
"""

from attnflow.evaluate._agreement import agreement, hits
from attnflow.evaluate._explain import Explanation, explain
from attnflow.evaluate._explanation_document import explanation_document, unknown_words
from attnflow.evaluate._spearman import spearman
from attnflow.types import LayerTable

__all__ = [
    "Explanation",
    "LayerTable",
    "agreement",
    "explain",
    "explanation_document",
    "hits",
    "spearman",
    "unknown_words",
]
