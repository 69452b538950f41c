"""Figures 1 to 4 of the paper, drawn with attnflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow import plot
from attnflow._internal.display import token_names
from attnflow._internal.sinks import Sinks
from attnflow.errors import UnsupportedModelError
from attnflow.importance import predict
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.paper.results._pronouns import (
    FIGURE_4,
    PronounResolution,
    PronounSentence,
    resolve,
)
from attnflow.types import Attention

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import nn

_CLS = 0  # the position of CLS, from which the classifier predicts

# Inches, width and height. Chosen by eye: token names do not overlap, and the figure fits the page
# of a paper with small type.
_GRAPHS, _ONE_ROW, _TWO_ROWS = (10.5, 3.6), (12.0, 3.6), (12.0, 6.6)
# Of Figure 4, in inches: the width; for each sentence the height of title and axes, that of a
# layer, and the largest height. Chosen by eye: twelve layers are distinguishable, many fit a page.
_PRONOUN_WIDTH, _PRONOUN_FRAME, _PRONOUN_LAYER, _PRONOUN_MAX = 8.6, 1.6, 0.2, 7.0

_OUTCOME = {True: "correct", False: "wrong"}


@dataclass(frozen=True, slots=True)
class FigureSentence:
    """A sentence of the paper's figures up to the verb, the number of the verb, and the outcome."""

    text: str
    verb: str
    paper_correct: bool  # whether the paper's model was correct


# As in the paper: NNP and NNS replace rare words.
SENTENCES = (
    FigureSentence("The key to the cabinets", "singular", paper_correct=True),
    FigureSentence("the article on NNP large systems", "singular", paper_correct=True),
    FigureSentence("here the NNS differ in that the female", "singular", paper_correct=False),
)


@dataclass(frozen=True, slots=True, eq=False)
class PaperFigure:
    """A figure of the paper, and a line of text about each prediction of the model.

    Of Figure 4, `without` are the words taken out of its scores as attention sinks, and
    `receptive_field` says whether rollout and flow are corrected for the receptive field.
    """

    figure: Figure
    predictions: tuple[str, ...]
    without: tuple[str, ...] = ()
    receptive_field: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """The attention of a model for one sentence, and its prediction in words."""

    attention: Attention
    title: str
    prediction: str


def figure_1(model: nn.Module, tokenizer: Any) -> PaperFigure:
    """Return Figure 1: raw attention, rollout and flow of the first sentence, as graphs.

    Edges have a scale of widths in each layer, so that the distributions of different layers can be
    compared.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> paper.figure_1(shipped.model, shipped.tokenizer).predictions
    ('The key to the cabinets <?>: singular 0.99, correct',)
    """
    plot.require_matplotlib()
    panel = _panel(model, tokenizer, SENTENCES[0])
    figure = _new_figure(*_GRAPHS)
    axes = list(figure.subplots(1, 3))
    _ = plot.compare(panel.attention, without=(), scale="layer", ax=axes)
    return PaperFigure(figure, (panel.prediction,))


def figure_2(model: nn.Module, tokenizer: Any) -> PaperFigure:
    """Return Figure 2: raw attention of CLS at each layer for the three sentences."""
    plot.require_matplotlib()
    panels = [_panel(model, tokenizer, sentence) for sentence in SENTENCES]
    figure = _new_figure(*_ONE_ROW)
    axes = figure.subplots(1, 3, width_ratios=[panel.attention.n_tokens for panel in panels])
    for panel, ax in zip(panels, axes, strict=True):
        _ = plot.heatmap(raw(panel.attention, queries=_CLS), title=panel.title, ax=ax)
    return PaperFigure(figure, tuple(panel.prediction for panel in panels))


def figure_3(model: nn.Module, tokenizer: Any) -> PaperFigure:
    """Return Figure 3: rollout and flow of CLS at each layer for the three sentences.

    Rows of flow are normalised, as in the original code; flow itself grows with the layers.
    """
    plot.require_matplotlib()
    panels = [_panel(model, tokenizer, sentence) for sentence in SENTENCES]
    figure = _new_figure(*_TWO_ROWS)
    axes = figure.subplots(2, 3, width_ratios=[panel.attention.n_tokens for panel in panels])
    for column, panel in enumerate(panels):
        above = rollout(panel.attention, queries=_CLS)
        below = flow(panel.attention, queries=_CLS).normalized()
        names = [plot.TITLES[scores.method] for scores in (above, below)]
        _ = plot.heatmap(above, title=f"{panel.title}\n\n{names[0]}", ax=axes[0, column])
        _ = plot.heatmap(below, title=names[1], ax=axes[1, column])
    return PaperFigure(figure, tuple(panel.prediction for panel in panels))


def figure_4(
    model: nn.Module,
    tokenizer: Any,
    sentences: Sequence[PronounSentence] = FIGURE_4,
    *,
    sinks: Sinks = "remove",
    receptive_field: bool | None = None,
) -> PaperFigure:
    """Return Figure 4: the attention at the position of a pronoun, and the predicted pronoun.

    Parameters
    ----------
    model, tokenizer
        A masked language model or a decoder, see `resolve`.
    sentences
        By default the paper's two. The title of each row is the input of the model.
    sinks, receptive_field
        As for `resolve`. The title and the line about the prediction name what is taken out, and
        say whether scores are corrected.
    """
    plot.require_matplotlib()
    settings: Any = {"sinks": sinks, "receptive_field": receptive_field}
    resolved = [resolve(model, tokenizer, sentence, **settings) for sentence in sentences]
    n_layers = len(resolved[0].scores[0].layers)
    height = min(_PRONOUN_FRAME + _PRONOUN_LAYER * n_layers, _PRONOUN_MAX)
    figure = _new_figure(_PRONOUN_WIDTH, len(resolved) * height)
    subfigures = figure.subfigures(len(resolved), 1, squeeze=False)[:, 0]
    predictions: list[str] = []
    for item, subfigure in zip(resolved, subfigures, strict=True):
        widths = plot.pronoun_widths(len(item.scores))
        axes = subfigure.subplots(1, len(widths), width_ratios=widths)
        _ = plot.pronoun(
            *item.scores,
            candidates=item.candidates,
            probabilities=item.probabilities,
            title=_described(item),
            ax=list(axes),
        )
        pronouns = ", ".join(f"{name} {p:.3g}" for name, p in item.probabilities.items())
        best = f"most probable: {token_names([item.best])[0]!r} {item.best_probability:.3g}"
        predictions.append(f"{_described(item)}: {pronouns}; {best}")
    without = tuple(dict.fromkeys(word for item in resolved for word in item.without))
    corrected = any(item.receptive_field for item in resolved)
    return PaperFigure(figure, tuple(predictions), without, corrected)


def _described(item: PronounResolution) -> str:
    """Return the input of the model, and how the scores of its words were made."""
    made = [f"without {', '.join(item.without)}"] if item.without else []
    made += [f"{word} is an attention sink" for word in item.kept_sinks]
    if item.receptive_field:
        made.append("corrected for the receptive field")
    return f"{item.text} ({', '.join(made)})" if made else item.text


def _panel(model: nn.Module, tokenizer: Any, sentence: FigureSentence) -> _Panel:
    attention = attend(model, tokenizer, sentence.text)
    if not isinstance(attention, Attention):
        raise UnsupportedModelError(
            f"expected a verb-number model, got the encoder-decoder {type(model).__name__}"
        )
    prediction = predict(model, tokenizer, sentence.text)
    correct = prediction.label == sentence.verb
    number = f"{prediction.label} {prediction.probabilities[prediction.label]:.2f}"
    line = f"{sentence.text} <?>: {number}, {_OUTCOME[correct]}"
    if correct != sentence.paper_correct:
        line += f"; the paper's model was {_OUTCOME[sentence.paper_correct]}"
    return _Panel(attention, f"{sentence.text} <?>\n{number}", line)


def _new_figure(width: float, height: float) -> Figure:
    """Return a figure that pyplot does not keep."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
