"""The results of the paper: its tables, its figures, and pronoun resolution."""

from attnflow.paper.results._figures import PaperFigure, figure_1, figure_2, figure_3, figure_4
from attnflow.paper.results._gradient_sum import GradientSums, gradient_sums
from attnflow.paper.results._pronouns import (
    FIGURE_4,
    PronounResolution,
    PronounSentence,
    resolve,
)
from attnflow.paper.results._tables import (
    TABLE_1,
    TABLE_2,
    agreement_table,
    agreement_tables,
    over_models,
    sample,
    subject_table,
)

__all__ = [
    "FIGURE_4", "TABLE_1", "TABLE_2", "GradientSums", "PaperFigure", "PronounResolution",
    "PronounSentence", "agreement_table", "agreement_tables", "figure_1", "figure_2", "figure_3",
    "figure_4", "gradient_sums", "over_models", "resolve", "sample", "subject_table",
]  # fmt: skip
