"""Prediction: the class or token that a model predicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attnflow._internal.display import label_names
from attnflow._internal.html_table import html_table
from attnflow._internal.records import Record
from attnflow.errors import InputError

# So that the table fits on a notebook page. Chosen.
_ROWS_SHOWN = 30


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Prediction(Record):
    """What a model predicts for one input, with probabilities.

    Parameters
    ----------
    label
        The most probable class, or token of a language model.
    probabilities
        By name of the class, in the model's order; for a language model, of the most probable
        tokens, the best first. Read-only.
    position
        The position whose output was read, of a model with one at every position; None for one
        output for the complete input.

    Examples
    --------
    >>> from attnflow.importance import Prediction
    >>> p = Prediction("plural", {"singular": 0.02, "plural": 0.98})
    >>> p
    Prediction('plural', probability=0.98)
    >>> p.probabilities["singular"]
    0.02
    """

    label: str
    probabilities: Mapping[str, float]
    position: int | None = None

    def __post_init__(self) -> None:
        given = {str(name): float(p) for name, p in dict(self.probabilities).items()}
        for name, p in given.items():
            if not 0 <= p <= 1:  # also when it is NaN
                raise InputError(f"probabilities[{name!r}] must be from 0 to 1, got {p}")
        if self.label not in given:
            raise InputError(
                f"label: expected one with a probability ({', '.join(given)}), got {self.label!r}"
            )
        self._set(probabilities=MappingProxyType(given))

    def __repr__(self) -> str:
        at = "" if self.position is None else f", position={self.position}"
        name, p = label_names(self.probabilities)[self.label], self.probabilities[self.label]
        return f"Prediction({name!r}, probability={p:.3g}{at})"

    def _repr_html_(self) -> str:
        """Return a table of the first probabilities."""
        pairs, names = list(self.probabilities.items()), label_names(self.probabilities)
        rows = [[names[label], f"{p:.3g}"] for label, p in pairs[:_ROWS_SHOWN]]
        more = f", the first {_ROWS_SHOWN} of {len(pairs)}" if len(pairs) > _ROWS_SHOWN else ""
        at = "" if self.position is None else f", position {self.position}"
        caption = f"{names[self.label]} {self.probabilities[self.label]:.3g}{at}{more}"
        return html_table(caption, ["class", "probability"], rows)
