"""The paper's own experiment: the verb-number model, its sentences and its training.

Needs torch and transformers to load, train and measure: `pip install "attnflow[models]"`.
"""

from attnflow.paper._augment import Augmentation
from attnflow.paper._figures import Figures
from attnflow.paper._load import is_verb_number, load
from attnflow.paper._material import Mix
from attnflow.paper._measure import Accuracy, accuracy, by_attractors
from attnflow.paper._prefix import PLURAL, SINGULAR, Prefix
from attnflow.paper._published import TABLE_1, TABLE_2
from attnflow.paper._read import Read, read_corpus, read_numpred, read_sentences
from attnflow.paper._recipe import SMALL, Recipe
from attnflow.paper._sentences import generate
from attnflow.paper._splits import Source, Splits, generated_splits, load_splits
from attnflow.paper._tables import agreement_table, sample, subject_table
from attnflow.paper._train import Epoch, Step, Trained, train

__all__ = [
    "PLURAL",
    "SINGULAR",
    "SMALL",
    "TABLE_1",
    "TABLE_2",
    "Accuracy",
    "Augmentation",
    "Epoch",
    "Figures",
    "Mix",
    "Prefix",
    "Read",
    "Recipe",
    "Source",
    "Splits",
    "Step",
    "Trained",
    "accuracy",
    "agreement_table",
    "by_attractors",
    "generate",
    "generated_splits",
    "is_verb_number",
    "load",
    "load_splits",
    "read_corpus",
    "read_numpred",
    "read_sentences",
    "sample",
    "subject_table",
    "train",
]
