"""The results of the paper: its tables, its figures, and pronoun resolution."""

from attnflow.paper.results._count_pronouns import count_pronouns
from attnflow.paper.results._figures import PaperFigure, figure_1, figure_2, figure_3, figure_4
from attnflow.paper.results._gradient_sum import GradientSums, gradient_sums
from attnflow.paper.results._over_models import over_models
from attnflow.paper.results._pronoun_choice import PronounChoice
from attnflow.paper.results._pronoun_counts import PronounCounts
from attnflow.paper.results._pronoun_figure import pronoun_counts_figure
from attnflow.paper.results._pronouns import (
    FIGURE_4,
    PronounResolution,
    PronounSentence,
    resolve,
)
from attnflow.paper.results._published import TABLE_1, TABLE_2, TABLE_3
from attnflow.paper.results._sample import sample
from attnflow.paper.results._shares import Share
from attnflow.paper.results._table_3 import (
    AS_PUBLISHED_TEXTS,
    TABLE_3_AS_PUBLISHED,
    Table3Settings,
    table_3,
    table_3_ablation,
)
from attnflow.paper.results._tables import (
    agreement_table,
    agreement_tables,
    entropy_table,
    subject_table,
)

__all__ = [
    "AS_PUBLISHED_TEXTS", "FIGURE_4", "TABLE_1", "TABLE_2", "TABLE_3", "TABLE_3_AS_PUBLISHED",
    "GradientSums", "PaperFigure", "PronounChoice", "PronounCounts", "PronounResolution",
    "PronounSentence", "Share", "Table3Settings", "agreement_table", "agreement_tables",
    "count_pronouns", "entropy_table", "figure_1", "figure_2", "figure_3", "figure_4",
    "gradient_sums", "over_models", "pronoun_counts_figure", "resolve", "sample", "subject_table",
    "table_3", "table_3_ablation",
]  # fmt: skip
