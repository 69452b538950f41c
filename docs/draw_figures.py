"""Draw the pictures of docs/figures.md into a folder.

Everything in them is computed here. Run: python docs/draw_figures.py docs/figures
"""

import sys
from pathlib import Path

import attnflow as af
from attnflow import paper, plot
from attnflow.models import attend

SENTENCE = "The key to the cabinets"
# From [CLS] of layer 3 down to "cabinets"; chosen for a cut that runs through three layers.
SOURCE, SINK = (3, 0), 5
LAYER = 3  # of the matrix; chosen: queries still differ
SENTENCES = 200  # of the table; chosen: some ten seconds


def main(folder: Path) -> None:
    """Write the pictures to `folder`."""
    folder.mkdir(exist_ok=True)
    shipped = paper.load()
    model, tokenizer = shipped.model, shipped.tokenizer
    for name, draw in (
        ("figure-1", paper.figure_1),
        ("figure-2", paper.figure_2),
        ("figure-3", paper.figure_3),
    ):
        plot.save(draw(model, tokenizer).figure, folder / f"{name}.svg")
    attention = attend(model, tokenizer, SENTENCE)
    assert isinstance(attention, af.Attention)
    graph = attention.graph()
    ax = plot.max_flow(graph, af.max_flow(graph, source=SOURCE, sink=SINK))
    plot.save(ax, folder / "max-flow.svg")
    found = af.explain(model, tokenizer, SENTENCE)
    bars = [*found.scores.values(), found.importance["blank_out"]]
    plot.save(plot.bar(*bars), folder / "bar.svg")
    plot.save(plot.matrix(af.rollout(attention), layer=LAYER), folder / "matrix.svg")
    table = paper.agreement_table(model, tokenizer, paper.sample(None, SENTENCES), "blank_out")
    plot.save(plot.correlation(table, published=paper.TABLE_1), folder / "correlation.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
