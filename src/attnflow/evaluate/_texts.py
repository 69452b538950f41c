"""LabelledText: a text, with what is known about it."""

from typing import NamedTuple


class LabelledText(NamedTuple):
    """A text to evaluate, with what is known about it.

    Attributes
    ----------
    text
        The text.
    label
        Its class or token, by number or name, for `EvaluationPlan(target="label")`.
    position
        The position of the token that scores should point at, counted with special tokens such as
        CLS, for the metric "pointing".

    Examples
    --------
    >>> LabelledText("the key to the cabinets", "singular", position=2)
    LabelledText(text='the key to the cabinets', label='singular', position=2)
    """

    text: str
    label: int | str | None = None
    position: int | None = None
