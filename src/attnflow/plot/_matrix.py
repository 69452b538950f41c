"""`matrix`: scores of one layer, query by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from attnflow._internal.display import token_names
from attnflow._internal.scale import largest_other
from attnflow.errors import InputError
from attnflow.plot import _axes
from attnflow.plot._cells import Cmap, Colours, Norm, draw_cell_borders
from attnflow.plot._checks import check_title, check_token_attention
from attnflow.plot._labels import layer_title, position_tokens, score_label, score_notes
from attnflow.plot._palette import INK, colour_of
from attnflow.plot._scale import is_segmented, own_column
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The tokens of an encoder-decoder that are columns.
Columns: TypeAlias = Literal["source", "target", "all"]


def matrix(
    token_attention: TokenAttention,
    *,
    layer: int | None = None,
    columns: Columns | None = None,
    cmap: Cmap = None,
    norm: Norm = None,
    vmax: float | None = None,
    colorbar: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of one layer as a matrix: queries as rows, tokens as columns.

    The cell of query i and token j shows `scores[layer, i, j]`.

    Parameters
    ----------
    token_attention
        Scores of some queries.
    layer
        Layer; by default the last computed.
    columns
        Of an encoder-decoder, which tokens are columns: "source" (the default), "target" or "all".
        Rows are the positions that attend: target tokens, or source tokens in the layers of the
        encoder; with "all", all queries.
    cmap, norm, vmax, colorbar
        As for `heatmap`.
    title
        Title; by default method and layer, and whether flow is saturated or flat there.
    ax
        Matplotlib axes to draw on; None makes a new figure.

    Notes
    -----
    If not all names fit, the rows and columns with the largest scores are labelled. Infinite scores
    are drawn like the largest finite one. A line below says what was taken out of the scores.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> from attnflow.types import random_attention
    >>> ax = plot.matrix(af.rollout(random_attention(3, 2, 5)))
    >>> ax.images[0].get_array().shape, ax.get_title()
    ((5, 5), 'Attention rollout, layer 3')
    """
    check_title(title)
    _ = check_token_attention(token_attention)
    layers = token_attention.layers
    chosen = max(layers) if layer is None else layer
    _ = token_attention.row(chosen, token_attention.queries[0])  # raises with the layers there are
    colours = Colours.of(cmap, norm, vmax, colour=colour_of(token_attention.method))
    block = _block(token_attention, chosen, columns)
    scores = token_attention.scores[layers.index(chosen)][np.ix_(block.rows, block.places)]
    queries = [token_attention.queries[row] for row in block.rows]
    own = np.stack([own_column(token_attention, query) for query in queries])[:, block.places]
    tokens = token_names(token_attention.tokens)
    names = [tokens[place] for place in block.places]
    named = len(position_tokens(token_attention))
    labels = [tokens[query] if query < named else str(query) for query in queries]
    ax = _axes.axes(ax, _axes.size_for_matrix(names, labels))
    label = score_label(token_attention) if colorbar else None
    colours.draw(ax, scores, top=largest_other(scores, own), origin="upper", label=label)
    small = _axes.font_size("small")
    _ = ax.set_ylabel(block.row_label, fontsize=small)
    _ = ax.set_xlabel(block.column_label, fontsize=small)
    others = np.where(own, 0.0, scores)
    by_row, by_column = others.max(axis=1).tolist(), others.max(axis=0).tolist()
    _axes.label_rows(ax, labels, weights=by_row, positions=queries)
    at = [float(j) for j in range(len(names))]
    _axes.label_columns(ax, names, at, weights=by_column, positions=block.places)
    draw_cell_borders(ax, *scores.shape)
    ax.tick_params(colors=INK)
    _axes.set_title(ax, layer_title(token_attention, chosen) if title is None else title)
    if notes := score_notes(token_attention):
        _axes.note_below(ax, notes)
    return ax


class _Block(NamedTuple):
    """The part of the scores that is drawn: rows of queries and places of tokens."""

    rows: list[int]
    places: list[int]
    row_label: str
    column_label: str


def _block(token_attention: TokenAttention, layer: int, columns: Columns | None) -> _Block:
    if columns is not None and columns not in get_args(Columns):
        raise InputError(f'columns must be "source", "target" or "all", got {columns!r}')
    queries, settings = token_attention.queries, token_attention.settings
    rows, places = list(range(len(queries))), list(range(len(token_attention.tokens)))
    n_source = settings.get("source_tokens")
    if not isinstance(n_source, int) or is_segmented(token_attention):
        if columns in ("source", "target"):
            raise InputError(
                f'columns="{columns}" needs scores of tokens of an encoder-decoder. Leave it out'
            )
        return _Block(rows, places, "query", "token")
    if columns == "all":
        return _Block(rows, places, "query", "token")
    attending = "source" if layer <= cast("int", settings["encoder_layers"]) else "target"
    in_source = [query < n_source for query in queries]
    rows = [row for row in rows if in_source[row] == (attending == "source")]
    if not rows:
        raise InputError(
            f"layer {layer}: expected queries of {attending} tokens, which attend in this layer, "
            f"got {', '.join(map(str, queries[:10]))}. Compute others, or draw another layer"
        )
    shown = "source" if columns is None else columns
    places = places[:n_source] if shown == "source" else places[n_source:]
    return _Block(rows, places, f"{attending} token", f"{shown} token")
