"""How well token attention agrees with importance, and explanations of single texts.

`measure` compares any scores with any importance for many texts, as `EvaluationPlan` says;
`spearman`, `kendall`, `top_k_overlap`, `hits`, `normalized_entropy` and `faithfulness` are its
metrics.
"""

from attnflow.evaluate._agreement import agreement, hits
from attnflow.evaluate._document import explanation_document, unknown_words
from attnflow.evaluate._entropy import normalized_entropy
from attnflow.evaluate._explain import explain
from attnflow.evaluate._explanation import Explanation
from attnflow.evaluate._faithfulness import Faithfulness, faithfulness
from attnflow.evaluate._kendall import kendall
from attnflow.evaluate._measure import measure
from attnflow.evaluate._measured import Measured, MeasuredText
from attnflow.evaluate._plan import Cell, EvaluationPlan
from attnflow.evaluate._spearman import dense_spearman, spearman
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate._top_k import top_k_overlap
from attnflow.evaluate.corpus import CellSummary, RunProgress, RunResult, Summary, run
from attnflow.types import LayerTable

__all__ = [
    "Cell", "CellSummary", "EvaluationPlan", "Explanation", "Faithfulness", "LabelledText",
    "LayerTable", "Measured", "MeasuredText", "RunProgress", "RunResult", "Summary", "agreement",
    "dense_spearman", "explain", "explanation_document", "faithfulness", "hits", "kendall",
    "measure", "normalized_entropy", "run", "spearman", "top_k_overlap", "unknown_words",
]  # fmt: skip
