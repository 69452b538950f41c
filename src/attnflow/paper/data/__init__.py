"""The agreement sentences: reading, generating, splitting and augmenting them."""

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
from attnflow.paper.data._read import ParsedFile, read_corpus, read_numpred, read_sentences
from attnflow.paper.data._splits import DataFile, Splits, generated_splits, load_splits

__all__ = [
    "MAX_WORDS", "NOUNS", "PLURAL", "SINGULAR", "Augmentation", "DataFile", "Nouns", "ParsedFile",
    "Prefix", "Splits", "augment", "find_openings", "generate", "generated_splits",
    "inner_prefixes", "load_splits", "random_opening", "read_corpus", "read_numpred",
    "read_sentences", "with_subjects",
]  # fmt: skip
