"""How well token attention agrees with importance, and explanations of single texts.

Ranks need scipy: the extra `models`.
"""

from attnflow.evaluate._agreement import agreement, hits
from attnflow.evaluate._explain import explain
from attnflow.evaluate._explanation import Explanation, explanation_document, unknown_words
from attnflow.evaluate._faithfulness import Faithfulness, faithfulness
from attnflow.evaluate._spearman import dense_spearman, spearman
from attnflow.types import LayerTable

__all__ = [
    "Explanation", "Faithfulness", "LayerTable", "agreement", "dense_spearman", "explain",
    "explanation_document", "faithfulness", "hits", "spearman", "unknown_words",
]  # fmt: skip
