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
    PronounData,
    PronounSchema,
    Review,
    Splits,
    generate,
    generated_splits,
    load_pronoun_data,
    load_splits,
    read_corpus,
    read_numpred,
    read_sentences,
    read_sst2,
    read_winobias,
    read_winogender,
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
    AS_PUBLISHED_TEXTS,
    FIGURE_4,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_3_AS_PUBLISHED,
    GradientSums,
    PaperFigure,
    PronounChoice,
    PronounCounts,
    PronounResolution,
    PronounSentence,
    Share,
    Table3Settings,
    agreement_table,
    agreement_tables,
    count_pronouns,
    entropy_table,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    gradient_sums,
    over_models,
    pronoun_counts_figure,
    resolve,
    sample,
    subject_table,
    table_3,
    table_3_ablation,
)
from attnflow.paper.runs import EpochLog, StepLog
from attnflow.paper.sentiment import (
    SentimentRecipe,
    SentimentResult,
    sentiment_accuracy,
    train_sentiment,
)
from attnflow.paper.training import (
    ACCURATE_RECIPE,
    SMALL_RECIPE,
    Mix,
    Recipe,
    TrainingResult,
    train,
)

__all__ = [
    "ACCURATE_RECIPE", "AS_PUBLISHED_TEXTS", "FIGURE_4", "PLURAL", "SINGULAR", "SMALL_RECIPE",
    "TABLE_1", "TABLE_2", "TABLE_3", "TABLE_3_AS_PUBLISHED", "Accuracies", "Accuracy",
    "Augmentation", "DataFile", "EpochLog", "GradientSums", "Mix", "PaperFigure", "ParsedFile",
    "Prefix", "PronounChoice", "PronounCounts", "PronounData", "PronounResolution", "PronounSchema",
    "PronounSentence", "Recipe", "Review", "SentimentRecipe", "SentimentResult", "Share", "Splits",
    "StepLog", "Table3Settings", "TrainingResult", "accuracy", "agreement_table",
    "agreement_tables", "by_attractors", "count_pronouns", "entropy_table", "figure_1", "figure_2",
    "figure_3", "figure_4", "generate", "generated_splits", "gradient_sums", "is_verb_number",
    "load", "load_pronoun_data", "load_splits", "over_models", "pronoun_counts_figure",
    "read_corpus", "read_numpred", "read_sentences", "read_sst2", "read_winobias",
    "read_winogender", "resolve", "sample", "sentiment_accuracy", "subject_table", "table_3",
    "table_3_ablation", "train", "train_sentiment",
]  # fmt: skip
