"""The paper's own experiment: the verb-number model, its sentences, its training and its results.

Loading, training and evaluating need torch and transformers, the extra `models`; figures also need
matplotlib, the extra `plot`.
"""

from attnflow.paper.data import (
    PLURAL,
    SINGULAR,
    Augmentation,
    DataFile,
    ParsedFile,
    Prefix,
    Splits,
    generate,
    generated_splits,
    load_splits,
    read_corpus,
    read_numpred,
    read_sentences,
)
from attnflow.paper.model import (
    Accuracies,
    Accuracy,
    accuracy,
    by_attractors,
    is_verb_number,
    load,
)
from attnflow.paper.results import (
    FIGURE_4,
    TABLE_1,
    TABLE_2,
    GradientSums,
    PaperFigure,
    PronounResolution,
    PronounSentence,
    agreement_table,
    agreement_tables,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    gradient_sums,
    over_models,
    resolve,
    sample,
    subject_table,
)
from attnflow.paper.training import (
    ACCURATE_RECIPE,
    SMALL_RECIPE,
    EpochLog,
    Mix,
    Recipe,
    StepLog,
    TrainingResult,
    train,
)

__all__ = [
    "ACCURATE_RECIPE", "FIGURE_4", "PLURAL", "SINGULAR", "SMALL_RECIPE", "TABLE_1", "TABLE_2",
    "Accuracies", "Accuracy", "Augmentation", "DataFile", "EpochLog", "GradientSums", "Mix",
    "PaperFigure", "ParsedFile", "Prefix", "PronounResolution", "PronounSentence", "Recipe",
    "Splits", "StepLog", "TrainingResult", "accuracy", "agreement_table", "agreement_tables",
    "by_attractors", "figure_1", "figure_2", "figure_3", "figure_4", "generate", "generated_splits",
    "gradient_sums", "is_verb_number", "load", "load_splits", "over_models", "read_corpus",
    "read_numpred", "read_sentences", "resolve", "sample", "subject_table", "train",
]  # fmt: skip
