"""`pronoun`: scores of two candidates of a pronoun, by layer (Figure 4 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.display import token_names
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot import _names as names
from attnflow.plot._checks import check_title, query_index
from attnflow.plot._labels import layer_label, layer_names, score_label
from attnflow.plot._palette import GREY, INK, PAIR, PALE, TITLES
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A token by name or position, or the positions of all pieces of a word.
Candidate: TypeAlias = str | int | Sequence[int]

_MARKERS = ("o", "D")
_AREAS = (44, 22)  # square points; both markers are visible at one place. Chosen by eye

# Inches of a new figure: bars, each panel, legend. Chosen by eye.
_BARS_INCHES, _PANEL_INCHES, _LEGEND_INCHES = 1.6, 2.3, 0.6
# Height as a share of that of a heat map. Chosen by eye.
_HEIGHT = 0.8
# Width of the bars as a share of a panel. Chosen by eye.
_BARS_WIDTH = 0.62


def pronoun_widths(methods: int) -> list[float]:
    """Return the relative widths of the axes of `pronoun`: the bars, and one panel for each method.

    >>> pronoun_widths(2)
    [0.62, 1.0, 1.0]
    """
    return [_BARS_WIDTH, *(1.0 for _ in range(methods))]


def pronoun(
    *token_attention: TokenAttention,
    candidates: Mapping[str, Candidate] | Sequence[str],
    probabilities: Mapping[str, float],
    query: int | None = None,
    title: str | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw the scores of two candidates by layer, and the probabilities of two pronouns.

    The bars at the left are the probabilities of two pronouns at that position, as shares of their
    sum, with the probabilities themselves below. Each method has a panel with the two scores of
    each layer, joined by a line. A star marks saturated layers and a dagger flat ones.

    Parameters
    ----------
    token_attention
        Token attention of the masked position, usually raw, rollout and flow of words
        (`to_words`).
    candidates
        The two words that the pronoun may refer to: their names, or name → position, or name →
        positions of all pieces, whose scores are added.
    probabilities
        Pronoun → probability, two of them in the order of the candidates, which share their
        colours.
    query
        The masked position; optional if only one was computed.
    title
        Title of the figure or subfigure of the axes.
    ax
        Matplotlib axes, one for the bars and one for each method; None makes a new figure.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> t = af.TokenAttention([[[0.5, 0.3, 0.2]]], ["Mary", "John", "[MASK]"], [1], [2], "raw")
    >>> bars, raw = plot.pronoun(
    ...     t, candidates=["Mary", "John"], probabilities={"her": 0.375, "his": 0.125}
    ... )
    >>> [float(bar.get_height()) for bar in bars.patches]
    [0.75, 0.25]
    """
    check_title(title)
    if not token_attention:
        raise InputError("expected token attention of one or more methods, got nothing")
    labels = _candidate_names(candidates)
    pairs = _pairs(token_attention, candidates, query)
    shown = _check_probabilities(probabilities)
    n_layers = max(len(one.layers) for one in token_attention)
    width = _BARS_INCHES + _PANEL_INCHES * len(token_attention)
    height = _axes.size_for([""], n_layers)[1] * _HEIGHT + _LEGEND_INCHES
    widths = pronoun_widths(len(token_attention))
    bars, *panels = _axes.panels(ax, len(widths), (width, height), widths)
    _draw_bars(bars, shown)
    for place, (one, panel, scores) in enumerate(zip(token_attention, panels, pairs, strict=True)):
        layers = layer_names(one, query_index(one, query))
        _draw_scores(panel, one, scores, layers)
        label = layer_label(layers)
        if not place or label != layer_label(()):  # a label that explains a mark stays
            _ = panel.set_ylabel(label, fontsize=_axes.font_size("small"))
    handles = [_handle(place) for place in (0, 1)]
    _axes.legend(panels[-1], handles, labels, handletextpad=0.2)
    if title is not None:
        figure: Any = bars.get_figure()
        text, how = names.drawable_line(title, 120)
        _ = figure.suptitle(text, fontsize=_axes.font_size("medium"), **how)
    return (bars, *panels)


def _candidate_names(candidates: object) -> tuple[str, ...]:
    """Return the names of the two candidates, checked."""
    several = isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes)
    values = tuple(cast("Iterable[object]", candidates)) if several else ()
    labels = tuple(value for value in values if isinstance(value, str))
    if len(values) != 2 or len(set(labels)) != 2:
        raise InputError(
            "candidates: expected two different words, or two names with positions such as "
            f"{{'author': 1, 'Sara': (3, 4)}}, got {candidates!r}"
        )
    return labels


def _pairs(
    token_attention: tuple[TokenAttention, ...],
    candidates: Mapping[str, Candidate] | Sequence[str],
    query: int | None,
) -> list[NDArray[np.float64]]:
    """Return for each method the scores (candidate, layer), lowest layer first."""
    mapped = isinstance(candidates, Mapping)
    places: list[Candidate] = [*candidates.values()] if mapped else [*candidates]
    pairs: list[NDArray[np.float64]] = []
    for one in token_attention:
        row = query_index(one, query)
        order = np.argsort(one.layers, kind="stable")
        scores = one.scores[order, row]  # (layer, token)
        pairs.append(
            np.array([scores[:, list(_positions(one, place))].sum(axis=1) for place in places])
        )
    return pairs


def _positions(token_attention: TokenAttention, candidate: Candidate) -> tuple[int, ...]:
    count = len(token_attention.tokens)
    if isinstance(candidate, str):
        names = token_names(token_attention.tokens)
        pairs = enumerate(zip(token_attention.tokens, names, strict=True))
        found = [place for place, both in pairs if candidate in both]
        if len(found) != 1:
            listed = " ".join(names[:30])
            often = "is not among" if not found else f"is at positions {found} of"
            raise InputError(
                f"candidate {candidate!r} {often} the tokens ({listed}). Pass name → position, or "
                "name → positions for a word of several pieces"
            )
        return (found[0],)
    numbers = checks.as_ints(cast("Iterable[int]", candidate), "candidates")
    if not numbers or min(numbers) < 0 or max(numbers) >= count:
        raise InputError(
            f"candidates: expected one or more positions from 0 to {count - 1} for each candidate, "
            f"got {numbers}"
        )
    return numbers


def _check_probabilities(probabilities: Mapping[str, float]) -> dict[str, float]:
    values: dict[str, float] = {}
    if isinstance(cast("object", probabilities), Mapping):
        # What is not a number becomes −1, which the check below rejects.
        values = {
            str(name): float(p) if isinstance(cast("object", p), Real) else -1.0
            for name, p in probabilities.items()
        }
    valid = all(0 <= p <= 1 for p in values.values()) and sum(values.values()) > 0
    if len(values) != 2 or not valid:
        raise InputError(
            "probabilities: expected two pronouns with probabilities from 0 to 1, not both 0, such "
            f"as {{'his': 0.3, 'her': 0.1}}, got {probabilities!r}"
        )
    return values


def _draw_bars(ax: Axes, probabilities: dict[str, float]) -> None:
    total = sum(probabilities.values())
    heights = [p / total for p in probabilities.values()]
    small = _axes.font_size("small")
    _ = ax.bar([0, 1], heights, width=0.7, color=PAIR)
    for place, height in enumerate(heights):
        _ = ax.annotate(
            f"{height:.2f}",
            (place, height),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=_axes.font_size("x-small"),
            usetex=False,
        )
    text, how = names.drawable(probabilities)
    labels = [f"{name}\n{p:.2g}" for name, p in zip(text, probabilities.values(), strict=True)]
    _ = ax.set_xticks([0, 1], labels, **how)
    _ = ax.set_ylim(0, 1.08)
    _ = ax.set_xlim(-0.6, 1.6)
    _ = ax.set_yticks([0, 0.5, 1])
    _ = ax.set_ylabel("share of the two", fontsize=small)
    _ = ax.set_xlabel("probability", fontsize=small)
    ax.tick_params(labelsize=small, colors=INK, length=0)
    # Smaller, so that two numbers such as 3.1e-05 fit.
    ax.tick_params(axis="x", labelsize=_axes.font_size("x-small"))
    _hide_spines(ax)


def _draw_scores(
    ax: Axes, token_attention: TokenAttention, scores: NDArray[np.float64], layers: Sequence[str]
) -> None:
    """Draw two markers for each layer, joined by a line in the colour of the larger."""
    rows = np.arange(len(layers))
    finite = np.where(np.isfinite(scores), scores, np.nan)
    first, second = finite
    colours = [PAIR[int(b > a)] for a, b in zip(first, second, strict=True)]
    _ = ax.hlines(rows, first, second, colors=colours, linewidths=1.6, alpha=0.7, zorder=1)
    for place, values in enumerate(finite):
        style: Any = {"color": PAIR[place], "edgecolors": INK, "linewidths": 0.5, "zorder": 2}
        _ = ax.scatter(values, rows, marker=_MARKERS[place], s=_AREAS[place], **style)
    top = float(np.nanmax(finite, initial=0.0)) or 1.0
    _ = ax.set_xlim(-0.05 * top, 1.08 * top)
    _ = ax.set_ylim(-0.6, len(layers) - 0.4)
    _axes.label_layers(ax, layers)
    small = _axes.font_size("small")
    _ = ax.set_xlabel(score_label(token_attention), fontsize=small)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(labelsize=small, colors=INK)
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
    _axes.set_title(ax, TITLES[token_attention.method])
    _hide_spines(ax)


def _handle(place: int) -> Any:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": _MARKERS[place], "markeredgecolor": INK, "linestyle": "none"}
    return Line2D([], [], markerfacecolor=PAIR[place], markersize=5.5, markeredgewidth=0.5, **style)


def _hide_spines(ax: Axes) -> None:
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(GREY)
