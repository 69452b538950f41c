"""The figures of the paper, drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow import plot
from attnflow.errors import UnsupportedModelError
from attnflow.importance import predict
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.paper._pronouns import FIGURE_4, resolve
from attnflow.types import Attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from torch import nn

    from attnflow.paper._pronouns import Reference
    from attnflow.types import TokenAttention

_CLS = 0  # stands first, and the classifier reads it

# Inches, width and height. Chosen by eye: names of tokens stand apart, and a page of a paper takes
# the figure with small type.
_GRAPHS, _ONE_ROW, _TWO_ROWS = (10.5, 3.6), (12.0, 3.6), (12.0, 6.6)
# Of Figure 4: the width; for each sentence a height for title and axes, one for each layer, and the
# most of both. Chosen by eye: twelve layers can be told apart, and many fit a page.
_PRONOUN_WIDTH, _PRONOUN_FRAME, _PRONOUN_LAYER, _PRONOUN_MOST = 8.6, 1.6, 0.2, 7.0

_RIGHT = {True: "correct", False: "wrong"}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of the paper's figures up to the verb, and what was answered there."""

    text: str
    verb: str  # the number that the verb should have
    missed: bool  # whether the paper's model was wrong


# As the paper has them: rare words are told by their part of speech, NNP and NNS.
EXAMPLES = (
    Example("The key to the cabinets", "singular", missed=False),
    Example("the article on NNP large systems", "singular", missed=False),
    Example("here the NNS differ in that the female", "singular", missed=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A figure of the paper, and in words what the model answered."""

    figure: Figure
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """One sentence as a model read it."""

    attention: Attention
    title: str
    told: str


def figure_1(model: nn.Module, tokenizer: Any) -> Drawing:
    """Figure 1: raw attention, rollout and flow of the first example, as graphs.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> drawing = paper.figure_1(shipped.model, shipped.tokenizer)
    >>> drawing.told
    ('The key to the cabinets <?>: singular 0.95, correct',)
    """
    plot.require_matplotlib()
    read = _read(model, tokenizer, EXAMPLES[0])
    figure = _figure(*_GRAPHS)
    _ = plot.compare(read.attention, ax=_row(figure, [1, 1, 1]))
    return Drawing(figure, (read.told,))


def figure_2(model: nn.Module, tokenizer: Any) -> Drawing:
    """Figure 2: raw attention of CLS for the three examples, layer by layer."""
    plot.require_matplotlib()
    reads = [_read(model, tokenizer, example) for example in EXAMPLES]
    widths = [each.attention.n_tokens for each in reads]
    figure = _figure(*_ONE_ROW)
    for read, ax in zip(reads, _row(figure, widths), strict=True):
        _ = plot.heatmap(raw(read.attention, queries=_CLS), title=read.title, ax=ax)
    return Drawing(figure, tuple(read.told for read in reads))


def figure_3(model: nn.Module, tokenizer: Any) -> Drawing:
    """Figure 3: rollout and flow of CLS for the three examples, layer by layer.

    Rows of flow sum to one, as in the original code; flow itself grows with the layers.
    """
    plot.require_matplotlib()
    reads = [_read(model, tokenizer, example) for example in EXAMPLES]
    widths = [each.attention.n_tokens for each in reads]
    figure = _figure(*_TWO_ROWS)
    above, below = figure.subplots(2, 3, width_ratios=widths)
    for place, read in enumerate(reads):
        views = _rollout_and_flow(read.attention)
        for view, ax in zip(views, (above[place], below[place]), strict=True):
            name = plot.TITLES[view.method]
            first = view.method == "rollout"
            title = f"{read.title}\n\n{name}" if first else name
            _ = plot.heatmap(view, title=title, ax=ax)
    return Drawing(figure, tuple(read.told for read in reads))


def figure_4(
    model: nn.Module, tokenizer: Any, references: Sequence[Reference] = FIGURE_4
) -> Drawing:
    """Figure 4: what the place of a pronoun attends to, and which pronoun the model would write.

    Parameters
    ----------
    model, tokenizer
        A masked language model or a decoder, see `resolve`.
    references
        The sentences; by default the paper's two. Above each row stands what the model read.
    """
    plot.require_matplotlib()
    resolved = [resolve(model, tokenizer, each) for each in references]
    n_layers = len(resolved[0].views[0].layers)
    height = min(_PRONOUN_FRAME + _PRONOUN_LAYER * n_layers, _PRONOUN_MOST)
    figure = _figure(_PRONOUN_WIDTH, len(resolved) * height)
    parts = figure.subfigures(len(resolved), 1, squeeze=False)[:, 0]
    told: list[str] = []
    for each, part in zip(resolved, parts, strict=True):
        widths = plot.pronoun_widths(len(each.views))
        panels = part.subplots(1, len(widths), width_ratios=widths)
        _ = plot.pronoun(
            *each.views,
            candidates=each.candidates,
            probabilities=each.probabilities,
            title=each.text,
            ax=list(panels),
        )
        odds = ", ".join(f"{name} {p:.3g}" for name, p in each.probabilities.items())
        best = f"most probable: {each.best!r} {each.best_probability:.3g}"
        told.append(f"{each.text}: {odds}; {best}")
    return Drawing(figure, tuple(told))


def _read(model: nn.Module, tokenizer: Any, example: Example) -> _Read:
    attention = attend(model, tokenizer, example.text)
    if not isinstance(attention, Attention):
        raise UnsupportedModelError(
            f"{type(model).__name__} reads one text and writes another; a verb-number model is "
            "wanted"
        )
    prediction = predict(model, tokenizer, example.text)
    p = prediction.probabilities[prediction.label]
    answer = f"{prediction.label} {p:.2f}"
    told = f"{example.text} <?>: {answer}, {_RIGHT[prediction.label == example.verb]}"
    if (prediction.label == example.verb) == example.missed:
        told += f"; the paper's model was {_RIGHT[not example.missed]}"
    return _Read(attention, f"{example.text} <?>\n{answer}", told)


def _rollout_and_flow(attention: Attention) -> tuple[TokenAttention, TokenAttention]:
    return rollout(attention, queries=_CLS), flow(attention, queries=_CLS).normalized()


def _figure(width: float, height: float) -> Figure:
    """A figure of its own: pyplot, which keeps every figure, knows nothing of it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _row(figure: Figure, widths: Sequence[float]) -> list[Any]:
    return list(figure.subplots(1, len(widths), width_ratios=widths))
