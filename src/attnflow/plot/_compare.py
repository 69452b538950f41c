"""`compare`: raw attention, rollout and flow side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout
from attnflow.plot import _axes, _graph, _heatmap
from attnflow.plot._checks import checked_query, checked_title
from attnflow.plot._door import require_matplotlib
from attnflow.plot._graph import graph, rows_of, shares
from attnflow.plot._heatmap import heatmap
from attnflow.plot._layered import FLATTEST
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


def compare(
    *shown: TokenAttention | Attention | EncoderDecoderAttention | AttentionGraph,
    view: Literal["graph", "heatmap"] = "graph",
    query: int | None = None,
    titles: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw several methods side by side, a panel each.

    Parameters
    ----------
    shown
        Token attention of several methods; or one attention or graph, of which raw attention,
        rollout and flow are computed.
    view
        "graph" as in Figure 1 of the paper, with edges on one scale in all panels; "heatmap" as in
        Figures 2 and 3, each panel with a scale of its own. Both draw rows as shares of their sum,
        so that flow can be compared with the others; `heatmap` draws flow itself.
    query
        The position that heat maps are of; of a graph, all are drawn.
    titles
        Above the panels; by default the methods.
    ax
        As many axes of matplotlib as there are panels; None makes a new figure.

    Notes
    -----
    Flow of all pairs takes minutes for hundreds of tokens. Heat maps compute one query alone.

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
        raise InputError(f'view is {view!r}; use "graph" or "heatmap"')
    if view == "graph" and query is not None:
        raise InputError(f'query={query} came, and a graph shows all; use view="heatmap"')
    each = _views(shown, query if view == "heatmap" else None)
    above = _titles(titles, len(each))
    if view == "heatmap":
        for one in each:
            _ = checked_query(one, query)
        each = tuple(_shared_out(one) for one in each)
    widest = max((rows_of(one).wide if view == "graph" else one.tokens for one in each), key=len)
    n_layers = max(len(one.layers) for one in each)
    flattest = FLATTEST if view == "graph" else 0.0
    n_rows = n_layers + (view == "graph")
    size = _axes.size_for(widest, n_rows, panels=len(each), flattest=flattest)
    panels = _axes.panels(ax, len(each), size)
    settings: dict[str, Any] = {"query": query}
    if view == "graph":
        # Where nothing has any weight, any scale shows it.
        settings = {"strongest": max(rows_of(one).strongest for one in each) or 1.0}
    draw: Any = graph if view == "graph" else heatmap
    for place, (one, panel, title) in enumerate(zip(each, panels, above, strict=True)):
        _ = draw(one, title=title, ax=panel, **settings)
        same = panel.get_ylabel() == panels[0].get_ylabel() and one.layers == each[0].layers
        if place and same:  # one that explains a star stays
            _ = panel.set_ylabel("")
    # Anew: the room for names is known when all panels are drawn.
    for one, panel in zip(each, panels, strict=True):
        if view == "graph":
            _graph.name_tokens(panel, rows_of(one))
        else:
            _heatmap.name_tokens(panel, one, checked_query(one, query))
    return panels


def _views(shown: tuple[Any, ...], query: int | None) -> tuple[TokenAttention, ...]:
    """Token attention, computed where it did not come."""
    if len(shown) == 1 and isinstance(
        shown[0], Attention | EncoderDecoderAttention | AttentionGraph
    ):
        x = cast("Attention", shown[0])
        return tuple(method(x, queries=query) for method in (raw, rollout, flow))
    for one in shown:
        if not isinstance(one, TokenAttention):
            raise InputError(
                f"a {type(one).__name__} came among {len(shown)}; give token attention of several "
                "methods, or one attention or graph alone"
            )
    if not shown:
        raise InputError("nothing came; give token attention of several methods, or one attention")
    return shown


def _shared_out(one: TokenAttention) -> TokenAttention:
    """The same with rows that sum to one, as graphs draw them; infinite scores share all of a row.

    `normalized` refuses those.
    """
    settings = {**one.settings, "normalized": True}
    return replace(one, scores=shares(one.scores), settings=settings)


def _titles(titles: Sequence[str] | None, count: int) -> Sequence[str | None]:
    if titles is None:
        return [None] * count
    came = cast("object", titles)
    each = () if isinstance(came, str) or not isinstance(came, Iterable) else tuple(titles)
    if len(each) != count:
        raise InputError(f"titles is {titles!r}; a list of {count} is wanted, one for each panel")
    for place, title in enumerate(each):
        checked_title(title, f"titles[{place}]")
    return each
