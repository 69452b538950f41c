"""`pronoun`: what a masked word attends to of two it may stand for (Figure 4 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot import _names as names
from attnflow.plot._checks import checked_query, checked_title
from attnflow.plot._palette import GREY, INK, PAIR, PALE, TITLES
from attnflow.plot._told import measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from attnflow.types import TokenAttention

# A token by name or position, or the positions of all of its pieces.
Candidate: TypeAlias = str | int | Sequence[int]

_MARKERS = ("o", "D")
_AREAS = (44, 22)  # square points; of two in one place, both are seen. Chosen by eye


# Inches of a new figure: the bars with their axis, each panel, and the names below. Chosen by eye.
_BARS_INCHES, _PANEL_INCHES, _LEGEND_INCHES = 1.6, 2.3, 0.6
# Two bars or lines a layer need no square cells: of the height that a heat map has. Chosen by eye.
_LOWER = 0.8
# Width of the bars, of that of a panel. Chosen by eye: two bars, with a name under each.
_BARS_WIDTH = 0.62


def pronoun_widths(methods: int) -> list[float]:
    """How wide the panels of `pronoun` are to each other: the bars, and one a method.

    >>> pronoun_widths(2)
    [0.62, 1.0, 1.0]
    """
    return [_BARS_WIDTH, *(1.0 for _ in range(methods))]


def pronoun(
    *shown: TokenAttention,
    candidates: Mapping[str, Candidate] | Sequence[str],
    probabilities: Mapping[str, float],
    query: int | None = None,
    title: str | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw what a position takes from two candidates, layer by layer, beside two probabilities.

    The bars at the left are the probabilities of two pronouns for that position, as shares of
    both; what they are by themselves stands below. Then there is a panel for each method: the two
    scores of each layer, joined by a line.

    Parameters
    ----------
    shown
        Token attention of the masked position; usually raw, rollout and flow, of words
        (`to_words`).
    candidates
        The two words that the pronoun may refer to: their names, or name → position or positions
        of all pieces, whose scores are added up.
    probabilities
        Pronoun → probability, two of them in the order of the candidates: the first pronoun has the
        colour of the first candidate.
    query
        The masked position; it may be left out where only one was computed.
    title
        Above all panels: the title of the figure or subfigure that they are on.
    ax
        As many axes of matplotlib as there are panels and one more; None makes a new figure.

    Notes
    -----
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

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
    checked_title(title)
    if not shown:
        raise InputError("nothing came; give token attention of one or more methods")
    called = _called(candidates)
    pairs = _pairs(shown, candidates, query)
    likely = _likely(probabilities)
    n_layers = max(len(one.layers) for one in shown)
    width = _BARS_INCHES + _PANEL_INCHES * len(shown)
    height = _axes.size_for([""], n_layers)[1] * _LOWER + _LEGEND_INCHES
    widths = pronoun_widths(len(shown))
    bars, *panels = _axes.panels(ax, len(widths), (width, height), widths)
    _draw_bars(bars, likely)
    for place, (one, panel, scores) in enumerate(zip(shown, panels, pairs, strict=True)):
        _draw_scores(panel, one, scores, named=not place)
    handles = [_handle(place) for place in (0, 1)]
    _axes.legend(
        panels[-1],
        handles,
        called,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=_axes.font_size("small"),
        handletextpad=0.2,
    )
    if title is not None:
        figure: Any = bars.get_figure()
        text, how = names.one(title, 120)
        _ = figure.suptitle(text, fontsize=_axes.font_size("medium"), **how)
    return (bars, *panels)


def _called(candidates: object) -> tuple[str, ...]:
    """The names of the two candidates."""
    several = isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes)
    each = tuple(cast("Iterable[object]", candidates)) if several else ()
    called = tuple(name for name in each if isinstance(name, str))
    if len(each) != 2 or len(set(called)) != 2:
        raise InputError(
            f"candidates is {candidates!r}; two different words are wanted, or two names with "
            "positions, as in {'author': 1, 'Sara': (3, 4)}"
        )
    return called


def _pairs(
    shown: tuple[TokenAttention, ...],
    candidates: Mapping[str, Candidate] | Sequence[str],
    query: int | None,
) -> list[NDArray[np.float64]]:
    """For each method the scores (candidate, layer), layers upwards."""
    mapped = isinstance(candidates, Mapping)
    places: list[Candidate] = [*candidates.values()] if mapped else [*candidates]
    pairs: list[NDArray[np.float64]] = []
    for one in shown:
        row = checked_query(one, query)
        order = np.argsort(one.layers, kind="stable")
        scores = one.scores[order, row]  # (layer, token)
        each = [scores[:, list(_positions(one, place))].sum(axis=1) for place in places]
        pairs.append(np.array(each))
    return pairs


def _positions(shown: TokenAttention, candidate: Candidate) -> tuple[int, ...]:
    count = len(shown.tokens)
    if isinstance(candidate, str):
        found = [place for place, token in enumerate(shown.tokens) if token == candidate]
        if len(found) != 1:
            listed = " ".join(shown.tokens[:30])
            often = "is not among" if not found else f"stands at {found} of"
            raise InputError(
                f"{candidate!r} {often} the tokens ({listed}); give name → position for a word "
                "that is not there once, and name → positions for one of several pieces"
            )
        return (found[0],)
    numbers = checks.as_ints(cast("Iterable[int]", candidate), "candidates")
    if not numbers or min(numbers) < 0 or max(numbers) >= count:
        raise InputError(
            f"candidate positions are {numbers}; tokens are 0 to {count - 1}: give one or more of "
            "them for each candidate"
        )
    return numbers


def _likely(probabilities: Mapping[str, float]) -> dict[str, float]:
    each: dict[str, float] = {}
    if isinstance(cast("object", probabilities), Mapping):
        # Anything but a number is less than a probability.
        each = {
            str(name): float(p) if isinstance(cast("object", p), Real) else -1.0
            for name, p in probabilities.items()
        }
    if len(each) != 2 or not all(0 <= p <= 1 for p in each.values()) or not sum(each.values()):
        raise InputError(
            f"probabilities is {probabilities!r}; two pronouns with probabilities 0 to 1 are "
            "wanted, not both 0, as in {'his': 0.3, 'her': 0.1}"
        )
    return each


def _draw_bars(ax: Axes, likely: dict[str, float]) -> None:
    whole = sum(likely.values())
    heights = [p / whole for p in likely.values()]
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
    text, how = names.shown(likely)
    below = [f"{name}\n{p:.2g}" for name, p in zip(text, likely.values(), strict=True)]
    _ = ax.set_xticks([0, 1], below, **how)
    _ = ax.set_ylim(0, 1.08)
    _ = ax.set_xlim(-0.6, 1.6)
    _ = ax.set_yticks([0, 0.5, 1])
    _ = ax.set_ylabel("share of the two", fontsize=small)
    _ = ax.set_xlabel("probability", fontsize=small)
    ax.tick_params(labelsize=small, colors=INK, length=0)
    # Smaller: two numbers such as 3.1e-05 stand beside each other.
    ax.tick_params(axis="x", labelsize=_axes.font_size("x-small"))
    _bare(ax)


def _draw_scores(
    ax: Axes, shown: TokenAttention, scores: NDArray[np.float64], *, named: bool
) -> None:
    """Draw two marks for each layer, joined by a line in the colour of the larger."""
    layers = sorted(shown.layers)
    rows = np.arange(len(layers))
    finite = np.where(np.isfinite(scores), scores, np.nan)
    first, second = finite
    colours = [PAIR[int(b > a)] for a, b in zip(first, second, strict=True)]
    _ = ax.hlines(rows, first, second, colors=colours, linewidths=1.6, alpha=0.7, zorder=1)
    for place, values in enumerate(finite):
        marks: Any = {"color": PAIR[place], "edgecolors": INK, "linewidths": 0.5, "zorder": 2}
        _ = ax.scatter(values, rows, marker=_MARKERS[place], s=_AREAS[place], **marks)
    top = float(np.nanmax(finite, initial=0.0)) or 1.0
    _ = ax.set_xlim(-0.05 * top, 1.08 * top)
    _ = ax.set_ylim(-0.6, len(layers) - 0.4)
    _axes.name_layers(ax, [str(layer) for layer in layers], rows.tolist())
    small = _axes.font_size("small")
    _ = ax.set_ylabel("layer" if named else "", fontsize=small)
    _ = ax.set_xlabel(measured(shown), fontsize=small)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(labelsize=small, colors=INK)
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
    _axes.titled(ax, TITLES[shown.method])
    _bare(ax)


def _handle(place: int) -> Any:
    from matplotlib.lines import Line2D

    mark: dict[str, Any] = {"marker": _MARKERS[place], "markeredgecolor": INK, "linestyle": "none"}
    return Line2D([], [], markerfacecolor=PAIR[place], markersize=5.5, markeredgewidth=0.5, **mark)


def _bare(ax: Axes) -> None:
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(GREY)
