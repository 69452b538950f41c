"""What a trained model reaches: the figures of its card."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from attnflow.paper._measure import Accuracy, accuracy, by_attractors, count_attractors

if TYPE_CHECKING:
    from attnflow.models import Loaded
    from attnflow.paper._nouns import Nouns
    from attnflow.paper._splits import Splits


@dataclass(frozen=True, slots=True)
class Figures:
    """Accuracy on each split, and by the number of attractors; None where a split is empty.

    Parameters
    ----------
    validation, test, cross
        As the splits are named.
    test_attractors
        By the number of attractors: files of such sentences, and the test where it was counted.
    cross_attractors
        By the number of attractors as counted with the nouns of the training sentences.
    """

    validation: Accuracy
    test: Accuracy | None
    cross: Accuracy | None
    test_attractors: dict[int, Accuracy]
    cross_attractors: dict[int, Accuracy]

    def plain(self) -> dict[str, Any]:
        """The figures as JSON has them; numbers of attractors are texts there."""
        plain = asdict(self)
        for name in ("test_attractors", "cross_attractors"):
            plain[name] = {str(kind): found for kind, found in plain[name].items()}
        return plain


def figures(loaded: Loaded, splits: Splits, nouns: Nouns) -> Figures:
    """All figures of a model on the splits that it was trained with."""
    both = loaded.model, loaded.tokenizer
    counted = [replace(p, attractors=count_attractors(p, nouns)) for p in splits.cross]
    return Figures(
        accuracy(*both, splits.validation),
        accuracy(*both, splits.test) if splits.test else None,
        accuracy(*both, splits.cross) if splits.cross else None,
        by_attractors(*both, (*splits.test, *splits.attractor_test)),
        by_attractors(*both, counted),
    )
