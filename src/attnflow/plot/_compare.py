"""`compare`: raw attention, rollout and flow side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout
from attnflow.plot import _axes, _heatmap
from attnflow.plot._checks import check_title, query_index, require_matplotlib
from attnflow.plot._graph import graph, rows_of, shares
from attnflow.plot._heatmap import heatmap
from attnflow.plot._layered import MIN_ASPECT, label_lowest_row
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
    *inputs: TokenAttention | Attention | EncoderDecoderAttention | AttentionGraph,
    view: Literal["graph", "heatmap"] = "graph",
    query: int | None = None,
    titles: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw several methods side by side, one panel each.

    Parameters
    ----------
    inputs
        Token attention of several methods; or one attention or graph, whose raw attention, rollout
        and flow are computed.
    view
        "graph" as in Figure 1 of the paper, with one scale of edge widths in all panels; "heatmap"
        as in Figures 2 and 3, with one colour scale for each panel. Both draw rows as shares of
        their sum, so that flow can be compared with the others; `plot.heatmap` draws flow itself.
    query
        Position whose scores the heat maps show; a graph shows all.
    titles
        Titles of the panels; by default the names of the methods.
    ax
        Matplotlib axes, one for each panel; None makes a new figure.

    Notes
    -----
    Flow of all pairs takes minutes for hundreds of tokens. Heat maps compute one query only.

    Examples
    --------
    >>> from attnflow import plot
    >>> from attnflow.types import random_attention
    >>> panels = plot.compare(random_attention(3, 2, 5))
    >>> [ax.get_title() for ax in panels]
    ['Raw attention', 'Attention rollout', 'Attention flow']
    """
    require_matplotlib()
    if not isinstance(cast("object", view), str) or view not in ("graph", "heatmap"):
        raise InputError(f'view must be "graph" or "heatmap", got {view!r}')
    if view == "graph" and query is not None:
        raise InputError(f'query={query} needs view="heatmap": a graph shows all queries')
    shown = _token_attention(inputs, query if view == "heatmap" else None)
    panel_titles = _titles(titles, len(shown))
    if view == "heatmap":
        for one in shown:
            _ = query_index(one, query)
        # Rows that sum to one, as graphs draw them; unlike `normalized`, also infinite ones.
        shown = tuple(
            replace(one, scores=shares(one.scores), settings={**one.settings, "normalized": True})
            for one in shown
        )
    columns = [rows_of(one).columns if view == "graph" else one.tokens for one in shown]
    widest = max(columns, key=len)
    n_layers = max(len(one.layers) for one in shown)
    min_aspect = MIN_ASPECT if view == "graph" else 0.0
    n_rows = n_layers + (view == "graph")
    size = _axes.size_for(widest, n_rows, panels=len(shown), min_aspect=min_aspect)
    panels = _axes.panels(ax, len(shown), size)
    settings: dict[str, Any] = {"query": query}
    if view == "graph":
        # Any scale will do if all weights are zero.
        settings = {"vmax": max(rows_of(one).largest for one in shown) or 1.0}
    draw: Any = graph if view == "graph" else heatmap
    for place, (one, panel, title) in enumerate(zip(shown, panels, panel_titles, strict=True)):
        _ = draw(one, title=title, ax=panel, **settings)
        same = panel.get_ylabel() == panels[0].get_ylabel() and one.layers == shown[0].layers
        if place and same:  # a label that explains a star stays
            _ = panel.set_ylabel("")
    # Again: the space for names is known when all panels are drawn.
    for one, panel in zip(shown, panels, strict=True):
        if view == "graph":
            rows = rows_of(one)
            label_lowest_row(panel, rows.stack, rows.tokens, rows.sums)
        else:
            _heatmap.label_tokens(panel, one, query_index(one, query))
    return panels


def _token_attention(inputs: tuple[Any, ...], query: int | None) -> tuple[TokenAttention, ...]:
    """Return token attention, computed if one attention or graph was given."""
    if len(inputs) == 1 and isinstance(
        inputs[0], Attention | EncoderDecoderAttention | AttentionGraph
    ):
        x = cast("Attention", inputs[0])
        return tuple(method(x, queries=query) for method in (raw, rollout, flow))
    for one in inputs:
        if not isinstance(one, TokenAttention):
            raise InputError(
                "expected token attention of several methods, or one attention or graph, got "
                f"{type(one).__name__} among {len(inputs)} arguments"
            )
    if not inputs:
        raise InputError(
            "expected token attention of several methods, or one attention or graph, got nothing"
        )
    return inputs


def _titles(titles: Sequence[str] | None, count: int) -> Sequence[str | None]:
    if titles is None:
        return [None] * count
    value = cast("object", titles)
    texts = () if isinstance(value, str) or not isinstance(value, Iterable) else tuple(titles)
    if len(texts) != count:
        raise InputError(f"titles: expected {count} titles, one for each panel, got {titles!r}")
    for place, title in enumerate(texts):
        check_title(title, f"titles[{place}]")
    return texts
