"""The paper's own experiment: the verb-number model, its sentences and its training.

Needs torch and transformers to load, train and measure: `pip install "attnflow[models]"`; figures
need matplotlib as well: `pip install "attnflow[plot]"`.
"""

from attnflow.paper._augment import Augmentation
from attnflow.paper._drawings import Drawing, figure_1, figure_2, figure_3, figure_4
from attnflow.paper._figures import Figures
from attnflow.paper._load import is_verb_number, load
from attnflow.paper._material import Mix
from attnflow.paper._measure import Accuracy, accuracy, by_attractors
from attnflow.paper._prefix import PLURAL, SINGULAR, Prefix
from attnflow.paper._pronouns import FIGURE_4, Reference, Resolved, resolve
from attnflow.paper._published import TABLE_1, TABLE_2
from attnflow.paper._read import Read, read_corpus, read_numpred, read_sentences
from attnflow.paper._recipe import SMALL, Recipe
from attnflow.paper._sentences import generate
from attnflow.paper._splits import Source, Splits, generated_splits, load_splits
from attnflow.paper._tables import agreement_table, sample, subject_table
from attnflow.paper._train import Epoch, Step, Trained, train

__all__ = [
    "FIGURE_4",
    "PLURAL",
    "SINGULAR",
    "SMALL",
    "TABLE_1",
    "TABLE_2",
    "Accuracy",
    "Augmentation",
    "Drawing",
    "Epoch",
    "Figures",
    "Mix",
    "Prefix",
    "Read",
    "Recipe",
    "Reference",
    "Resolved",
    "Source",
    "Splits",
    "Step",
    "Trained",
    "accuracy",
    "agreement_table",
    "by_attractors",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "generate",
    "generated_splits",
    "is_verb_number",
    "load",
    "load_splits",
    "read_corpus",
    "read_numpred",
    "read_sentences",
    "resolve",
    "sample",
    "subject_table",
    "train",
]
