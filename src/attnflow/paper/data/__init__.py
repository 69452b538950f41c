"""The agreement sentences: reading, generating, splitting and augmenting them; and SST-2."""

from attnflow.paper.data._augment import (
    Augmentation,
    augment,
    find_openings,
    inner_prefixes,
    random_opening,
    with_subjects,
)
from attnflow.paper.data._generate import NOUNS, generate
from attnflow.paper.data._nouns import Nouns
from attnflow.paper.data._prefix import MAX_WORDS, PLURAL, SINGULAR, Prefix
from attnflow.paper.data._pronoun_data import load_pronoun_data
from attnflow.paper.data._read import ParsedFile, read_corpus, read_numpred, read_sentences
from attnflow.paper.data._schemas import (
    MASK,
    PronounData,
    PronounSchema,
    gendered_pronouns,
)
from attnflow.paper.data._splits import DataFile, Splits, generated_splits, load_splits
from attnflow.paper.data._sst2 import SENTIMENTS, Review, read_sst2
from attnflow.paper.data._winobias import read_winobias
from attnflow.paper.data._winogender import read_winogender

__all__ = [
    "MASK", "MAX_WORDS", "NOUNS", "PLURAL", "SENTIMENTS", "SINGULAR", "Augmentation", "DataFile",
    "Nouns", "ParsedFile", "Prefix", "PronounData", "PronounSchema", "Review", "Splits", "augment",
    "find_openings", "gendered_pronouns", "generate", "generated_splits", "inner_prefixes",
    "load_pronoun_data", "load_splits", "random_opening", "read_corpus", "read_numpred",
    "read_sentences", "read_sst2", "read_winobias", "read_winogender", "with_subjects",
]  # fmt: skip
