"""Draw docs/overview.svg: an attention graph, and one maximum flow in it with its minimum cut.

Everything in the picture is computed here. Run: python docs/draw_overview.py docs/overview.svg
"""

import html
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import attnflow as af
from attnflow.synthetic import random_attention

TOKENS = ["[CLS]", "the", "key", "to", "the", "cabinets"]
SOURCE, SINK = (4, 0), 2  # from [CLS] of layer 4 down to "key"
# Places on the page, chosen by eye.
STEP_X, STEP_Y, LEFT, TOP, PANEL = 74, 62, 70, 64, 520
FLOW, CUT, GREY = "#0072b2", "#d55e00", "#888"  # told apart by colour-blind readers (Okabe & Ito)


def main(target: Path) -> None:
    """Write the picture to `target`."""
    graph = random_attention(6, 8, len(TOKENS), tokens=TOKENS).graph()
    layers = graph.layers[: SOURCE[0]]
    solved = af.max_flow(graph, source=SOURCE, sink=SINK)
    width, height = 2 * PANEL, TOP + STEP_Y * len(layers) + 56
    page = f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {page}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _title(0, "The attention graph: what each position takes"),
        *_edges(0, layers, layers, GREY),
        *_nodes(0, len(layers), marked=set()),
        _title(
            PANEL,
            f"Flow from [CLS] to “key”: {solved.value:.3f}, limited by the orange edges",
        ),
        *_edges(PANEL, layers, solved.flows[: len(layers)], FLOW, solved.cut),
        *_nodes(PANEL, len(layers), marked={SOURCE, (0, SINK)}),
        "</svg>",
    ]
    _ = target.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _place(panel: int, layer: int, node: int, n_layers: int) -> tuple[int, int]:
    return panel + LEFT + node * STEP_X, TOP + (n_layers - layer) * STEP_Y


def _title(panel: int, text: str) -> str:
    return f'<text x="{panel + 16}" y="28" font-weight="600">{html.escape(text)}</text>'


def _edges(
    panel: int,
    capacities: tuple[NDArray[np.floating], ...],
    weights: tuple[NDArray[np.floating], ...],
    colour: str,
    cut: tuple[NDArray[np.bool_], ...] | None = None,
) -> list[str]:
    """Lines as wide as their weight; edges of the cut, which are full, in their own colour."""
    lines: list[str] = []
    for layer, (capacity, weight) in enumerate(zip(capacities, weights, strict=True), start=1):
        for above, below in np.argwhere(weight > 0.002):
            x1, y1 = _place(panel, layer, int(above), len(weights))
            x2, y2 = _place(panel, layer - 1, int(below), len(weights))
            crosses = cut is not None and cut[layer][above] and not cut[layer - 1][below]
            share = float(weight[above, below])
            assert not crosses or np.isclose(share, capacity[above, below])  # a cut edge is full
            stroke, opacity = (CUT, 1.0) if crosses else (colour, 0.3 + 0.7 * share)
            lines.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{stroke}" '
                f'stroke-width="{0.8 + 10 * share:.2f}" stroke-opacity="{opacity:.2f}"/>'
            )
    return lines


def _nodes(panel: int, n_layers: int, marked: set[tuple[int, int]]) -> list[str]:
    marks: list[str] = []
    for layer in range(n_layers + 1):
        _, y = _place(panel, layer, 0, n_layers)
        marks.append(f'<text x="{panel + 16}" y="{y + 4}" fill="#555">{layer}</text>')
        for node in range(len(TOKENS)):
            x, y = _place(panel, layer, node, n_layers)
            fill = FLOW if (layer, node) in marked else "white"
            marks.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}" stroke="#333"/>')
    for node, token in enumerate(TOKENS):
        x, y = _place(panel, 0, node, n_layers)
        marks.append(f'<text x="{x}" y="{y + 26}" text-anchor="middle">{html.escape(token)}</text>')
    return marks


if __name__ == "__main__":
    main(Path(sys.argv[1]))
