"""`Accuracies`: the accuracy of a trained model on every split."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from attnflow.paper.data import PLURAL, Nouns, Prefix, Splits
from attnflow.paper.model import Accuracy, accuracy, by_attractors

if TYPE_CHECKING:
    from attnflow.models import Loaded


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The accuracy on each split, and by number of attractors; None for an empty split.

    Parameters
    ----------
    validation, test, wiki_test
        The splits.
    test_attractors
        By number of attractors: on `attractor_test`, and on `test` where attractors are counted.
    wiki_attractors
        By number of attractors on `wiki_test`, counted with the nouns of the training sentences.
    """

    validation: Accuracy
    test: Accuracy | None
    wiki_test: Accuracy | None
    test_attractors: dict[int, Accuracy]
    wiki_attractors: dict[int, Accuracy]

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracies as JSON values; numbers of attractors become strings."""
        values = asdict(self)
        for name in ("test_attractors", "wiki_attractors"):
            values[name] = {str(count): found for count, found in values[name].items()}
        return values


def evaluate(loaded: Loaded, splits: Splits, nouns: Nouns) -> Accuracies:
    """Return the accuracies of a model on the splits that it was trained with."""
    both = loaded.model, loaded.tokenizer
    wiki_test = [replace(p, attractors=count_attractors(p, nouns)) for p in splits.wiki_test]
    return Accuracies(
        accuracy(*both, splits.validation),
        accuracy(*both, splits.test) if splits.test else None,
        accuracy(*both, wiki_test) if wiki_test else None,
        by_attractors(*both, (*splits.test, *splits.attractor_test)),
        by_attractors(*both, wiki_test),
    )


def count_attractors(prefix: Prefix, nouns: Nouns) -> int | None:
    """Return the number of known attractors; None without a known subject."""
    if prefix.subject is None:
        return None
    other = prefix.number != PLURAL
    return sum(nouns.is_plural(word) is other for word in prefix.words[prefix.subject + 1 :])
