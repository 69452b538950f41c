"""`compare`: raw attention, rollout and flow side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from attnflow._internal import checks
from attnflow._internal.display import position_names, token_names
from attnflow._internal.sinks import sinks_to_remove
from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout
from attnflow.plot import _axes
from attnflow.plot._cells import Colours
from attnflow.plot._checks import check_titles, query_index, require_matplotlib
from attnflow.plot._graph import Scale, check_scale, draw_rows, rows_of, shares
from attnflow.plot._heatmap import draw_heatmap, label_tokens
from attnflow.plot._layered import MIN_ASPECT, label_lowest_row
from attnflow.plot._palette import TITLES, colour_of
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
    *inputs: TokenAttention | Attention | EncoderDecoderAttention | AttentionGraph,
    view: Literal["graph", "heatmap"] = "graph",
    query: int | None = None,
    without: Iterable[int] | int | None = None,
    receptive_field: bool | None = None,
    scale: Scale = "figure",
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
        "graph" as in Figure 1 of the paper, "heatmap" as in Figures 2 and 3, with one colour scale
        for each panel. Both draw rows as shares of their sum, so that flow can be compared with the
        others; `plot.heatmap` draws flow itself.
    query
        Position whose scores the heat maps show; a graph shows all.
    without
        Positions to exclude from one attention, as in `raw`, `rollout` and `flow`. By default its
        attention sinks (`Attention.sinks`), and a line below the first panel says so; `()` keeps
        them. Raw attention is drawn without the residual connection, as it is of an attention; that
        of `attention.graph(without=…)` has it.
    receptive_field
        Whether rollout and flow of one attention are corrected for the receptive field, see
        `rollout`. By default those of causal attention are, and a line below the first panel says
        so.
    scale
        Of graphs, as in `plot.graph`: "figure" for one scale of widths in all panels, "layer" for a
        scale in each layer of each panel.
    titles
        Titles of the panels; by default the names of the methods.
    ax
        Matplotlib axes, one for each panel; None makes a new figure.

    Notes
    -----
    Flow of all pairs takes minutes for hundreds of tokens. Heat maps compute one query only. Panels
    of the same tokens have the same labels.

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
    by_layer = check_scale(scale) == "layer"
    if by_layer and view == "heatmap":
        raise InputError('scale="layer" needs view="graph": a heat map has one colour scale')
    excluded = _excluded(inputs, without)
    corrected = _is_corrected(inputs, receptive_field=receptive_field)
    only = query if view == "heatmap" else None
    shown = _token_attention(inputs, only, excluded, receptive_field=corrected)
    panel_titles = None if titles is None else check_titles(titles, len(shown))
    drawn = (
        _graphs(shown, ax, by_layer=by_layer) if view == "graph" else _heatmaps(shown, query, ax)
    )
    for place, (panel, one) in enumerate(zip(drawn, shown, strict=True)):
        title = TITLES[one.method] if panel_titles is None else panel_titles[place]
        _axes.set_title(panel, title)
        same = panel.get_ylabel() == drawn[0].get_ylabel() and one.layers == shown[0].layers
        if place and same:  # a label that explains a mark stays
            _ = panel.set_ylabel("")
    lines = [_described(excluded, inputs[0].tokens)] if without is None and excluded else []
    if receptive_field is None and corrected:
        lines.append("corrected for the receptive field; receptive_field=False leaves it out")
    if lines:
        _axes.note_below(drawn[0], lines)
    return drawn


def _excluded(inputs: tuple[Any, ...], without: Iterable[int] | int | None) -> tuple[int, ...]:
    """Return the positions to exclude: those given, or the sinks of one attention."""
    if without is not None:
        return checks.as_ints(without, "without")
    if len(inputs) == 1 and isinstance(inputs[0], Attention | EncoderDecoderAttention):
        return sinks_to_remove(inputs[0].sinks, len(inputs[0].tokens))
    return ()


def _is_corrected(inputs: tuple[Any, ...], *, receptive_field: bool | None) -> bool:
    """Return whether rollout and flow are corrected: as asked for, or if attention is causal."""
    if receptive_field is not None:
        return checks.as_bool(receptive_field, "receptive_field")
    return len(inputs) == 1 and isinstance(inputs[0], Attention) and inputs[0].causal


def _described(positions: Sequence[int], tokens: Sequence[str]) -> str:
    """Return the line about attention sinks that are excluded.

    >>> _described([0], ["<s>", "a"])
    'without the attention sink at position 0 <s>; without=() keeps it'
    """
    several, it = ("s", "them") if len(positions) > 1 else ("", "it")
    names = position_names(positions, tokens)
    return f"without the attention sink{several} at {names}; without=() keeps {it}"


def _graphs(
    shown: Sequence[TokenAttention], ax: Sequence[Axes] | None, *, by_layer: bool
) -> tuple[Axes, ...]:
    rows = [rows_of(one) for one in shown]
    widest = max((one.columns for one in rows), key=len)
    n_rows = 1 + max(len(one.layers) for one in shown)
    size = _axes.size_for(widest, n_rows, panels=len(shown), min_aspect=MIN_ASPECT)
    panels = _axes.panels(ax, len(shown), size)
    # Any scale will do if all weights are zero.
    top = max(one.top for one in rows) or 1.0
    for one, panel in zip(rows, panels, strict=True):
        _ = draw_rows(one, by_layer=by_layer, vmax=top, title=None, ax=panel)
    # Again: the space for names is known when all panels are drawn.
    for group in _alike([(one.names, one.stack.widest) for one in rows]):
        first = rows[group[0]]
        weights = _joint_weights([rows[place].sums for place in group])
        label_lowest_row([panels[place] for place in group], first.stack, first.names, weights)
    return panels


def _heatmaps(
    shown: Sequence[TokenAttention], query: int | None, ax: Sequence[Axes] | None
) -> tuple[Axes, ...]:
    places = [query_index(one, query) for one in shown]
    # Rows that sum to one, as graphs draw them; unlike `normalized`, also infinite ones.
    shown = [
        replace(one, scores=shares(one.scores), settings={**one.settings, "normalized": True})
        for one in shown
    ]
    names = [token_names(one.tokens) for one in shown]
    widest = max(names, key=len)
    n_layers = max(len(one.layers) for one in shown)
    panels = _axes.panels(ax, len(shown), _axes.size_for(widest, n_layers, panels=len(shown)))
    for one, place, panel in zip(shown, places, panels, strict=True):
        colours = Colours.of(None, None, None, colour=colour_of(one.method))
        _ = draw_heatmap(one, place, colours, ax=panel)
    for group in _alike(names):
        largest = [shown[place].scores[:, places[place]].max(axis=0) for place in group]
        weights = _joint_weights(largest)
        label_tokens([panels[place] for place in group], names[group[0]], weights)
    return panels


def _alike(keys: Sequence[object]) -> list[list[int]]:
    """Return the places of equal keys, group by group.

    >>> _alike(["a", "b", "a"])
    [[0, 2], [1]]
    """
    groups: dict[object, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _joint_weights(panels: Sequence[Any]) -> list[float]:
    """Return for each column its largest weight in any panel, as a share of the panel's largest."""
    each = [np.asarray(weights) / (max(weights) or 1.0) for weights in panels]
    return np.max(each, axis=0).tolist()


def _token_attention(
    inputs: tuple[Any, ...],
    query: int | None,
    excluded: tuple[int, ...],
    *,
    receptive_field: bool,
) -> tuple[TokenAttention, ...]:
    """Return token attention, computed if one attention or graph was given."""
    if len(inputs) == 1 and isinstance(
        inputs[0], Attention | EncoderDecoderAttention | AttentionGraph
    ):
        x = cast("Attention", inputs[0])
        settings: Any = {"queries": query, "without": excluded}
        composed: Any = {**settings, "receptive_field": receptive_field}
        return raw(x, **settings), rollout(x, **composed), flow(x, **composed)
    if excluded or receptive_field:
        named = f"without={list(excluded)}" if excluded else "receptive_field=True"
        raise InputError(
            f"{named} needs one attention, whose scores are computed here. Pass the attention, or "
            "compute scores with raw(x, without=…), rollout and flow"
        )
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
