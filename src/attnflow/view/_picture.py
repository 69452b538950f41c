"""The static picture of a page, for viewers of notebooks that run no scripts."""

from __future__ import annotations

import importlib.util
import io
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnflow import plot
from attnflow._internal.display import (
    format_number,
    label_names,
    position_names,
)
from attnflow.methods import flow, raw, rollout
from attnflow.types import Grid, TokenAttention
from attnflow.view._content import Content, PageInput, content
from attnflow.view._data import PageSettings
from attnflow.view._opening import opens_corrected, opens_with_sinks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Chosen: sharp at the width of a notebook, and tens of kilobytes.
_DPI = 100
# Inches of a panel for each token and layer, and for the rest of it. Chosen by eye.
_TOKEN, _LAYER, _WIDE, _HIGH = 0.3, 0.22, 1.3, 1.3
# Inches of a figure: at least a line of the caption, at most about the width of a notebook.
_MIN_WIDTH, _MAX_WIDTH, _MIN_HEIGHT, _MAX_HEIGHT = 6.5, 12.0, 2.2, 9.0
# Panels of more tokens are one above the other. Chosen: names stay readable.
_SIDE_BY_SIDE = 20
# Inches of a panel with a grid of patches. Chosen.
_GRID = 3.2
# Characters of a line of the caption. A title has no more.
_LINE = 78


def picture(x: PageInput, settings: PageSettings) -> bytes | None:
    """Return what the page shows first as a PNG image; None if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    out = io.BytesIO()  # without the version of matplotlib: the same figure gives the same file
    figure: Any = draw(x, settings)
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    return out.getvalue()


def draw(x: PageInput, settings: PageSettings) -> Figure:
    """Return a figure with a heat map for each method: token by layer, of the selected position.

    For an image, it has a grid of patches for each method: those of the selected layer.
    """
    found = content(
        x,
        prediction=settings.get("prediction"),
        layer=settings.get("layer"),
        query=settings.get("query"),
    )
    keep_sinks = opens_with_sinks(found, settings.get("sinks"))
    without = () if keep_sinks else found.sink_positions
    corrected = opens_corrected(found, receptive_field=settings.get("receptive_field"))
    scores = _scores(found, without, settings.get("threads"), receptive_field=corrected)
    caption = _caption(found, scores[-1])
    grid = found.origin.grid if found.origin is not None and found.to_tokens else None
    if grid is None:
        return _heatmaps(scores, found, caption)
    return _grids(scores, found, caption, grid)


def _scores(
    found: Content, without: tuple[int, ...], threads: int | None, *, receptive_field: bool
) -> tuple[TokenAttention, ...]:
    """Return the scores of the selected position: those passed, or of each method."""
    source = found.weights or found.graph
    if source is None:
        return tuple(one for one in found.scores if found.query in one.queries)
    layers = [place for place in range(1, len(found.sizes)) if found.sizes[place] > found.query]
    rows: Any = {"layers": layers, "queries": found.query, "without": without}
    composed: Any = {**rows, "receptive_field": receptive_field and found.can_correct}
    # Raw attention goes to the layer below, which must be the tokens in all rows.
    alike = len(set(found.sizes)) == 1
    return (
        *((raw(source, **rows),) if alike else ()),
        rollout(source, **composed),
        flow(source, **composed, threads=threads),
    )


def _caption(found: Content, scores: TokenAttention) -> str:
    """Return the prediction, the position that attends and how its scores were made."""
    position = position_names([found.query], found.tokens if found.named else ())
    parts = [f"From {position}"]
    if (prediction := found.prediction) is not None:
        label, shares = prediction.label, prediction.probabilities
        answer = f"{label_names(shares)[label]} {format_number(shares[label])}"
        parts = [answer, f"from {position}"]
    if without := tuple(cast("tuple[int, ...]", scores.settings.get("without", ()))):
        names = position_names(without, found.tokens)
        parts.append(f"sinks removed: {names}" if found.sinks else f"without {names}")
    if scores.settings.get("receptive_field") is True:
        parts.append("corrected for the receptive field")
    return textwrap.fill(", ".join(parts), _LINE, break_on_hyphens=False)


def _heatmaps(scores: Sequence[TokenAttention], found: Content, caption: str) -> Figure:
    n_tokens, n_layers = len(found.tokens), max(len(one.layers) for one in scores)
    width = _TOKEN * n_tokens + _WIDE
    height = _LAYER * n_layers + _HIGH
    beside = n_tokens <= _SIDE_BY_SIDE
    columns = len(scores) if beside else 1
    figure, axes = _panels(len(scores), columns, (width, height))
    titles = [plot.TITLES[one.method] for one in scores]
    # Above all panels, as part of a title, because titles find fonts for the names of tokens.
    middle = len(scores) // 2 if beside else 0
    titles[middle] = f"{caption}\n{titles[middle]}"
    _ = plot.compare(*scores, view="heatmap", query=found.query, titles=titles, ax=axes)
    return figure


def _grids(scores: Sequence[TokenAttention], found: Content, caption: str, grid: Grid) -> Figure:
    height = _GRID * grid.rows / grid.columns + 0.8  # with two lines of title
    figure, axes = _panels(len(scores), len(scores), (_GRID, height))
    blank = np.ones((grid.rows, grid.columns))
    for place, (one, ax) in enumerate(zip(scores, axes, strict=True)):
        layer = found.layer if found.layer in one.layers else max(one.layers)
        title = plot.layer_title(one, layer, found.query)
        if place == len(scores) // 2:
            title = f"{caption}\n{title}"
        settings: Any = {"query": found.query, "layer": layer, "title": title, "ax": ax}
        _ = plot.image(one, blank, **settings, smooth=False, opacity=1.0, colorbar=False)
        _ = ax.set_xlabel("")  # the caption says for all what was taken out
    return figure


def _panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Any]]:
    """Return a figure that pyplot does not know, and so no notebook shows, and its axes."""
    from matplotlib.figure import Figure

    rows = math.ceil(count / columns)
    width = min(max(columns * size[0], _MIN_WIDTH), _MAX_WIDTH)
    height = min(max(rows * size[1], _MIN_HEIGHT), _MAX_HEIGHT)
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)
