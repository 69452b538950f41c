"""Draw the last layer of the grids of edge_grid.py, a panel for each model.

    python benchmarks/edge_grid_figure.py RUN/verb-number RUN/SST2-MODEL --out IMAGE

A dot is the mean rank correlation with blank-out, a line its 95% interval.
"""

import argparse
import csv
from pathlib import Path

import matplotlib.pyplot as plt

from attnflow import edges
from attnflow.plot import COLOURS
from attnflow.types import METHODS

MARKERS = {"raw": "s", "rollout": "o", "flow": "D"}


def last_layer(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of the last layer, by edges and method: rank correlation with blank-out."""
    with (folder / "run" / "summary.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["importance"], row["metric"]) == ("blank_out", "spearman") and row["layer"]
        ]
    top = max(int(row["layer"]) for row in rows)
    return {(row["edges"], row["method"]): row for row in rows if int(row["layer"]) == top}


def main() -> None:
    """Write the figure."""
    parser = argparse.ArgumentParser(description="figure of the grid of edge weights")
    _ = parser.add_argument("folders", nargs="+", type=Path, help="folders of edge_grid.py")
    _ = parser.add_argument("--out", type=Path, required=True, help="image to write")
    options = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "edge-grid"
    count = len(options.folders)
    figure, panels = plt.subplots(
        1, count, figsize=(4.2 * count, 3.2), sharey=True, squeeze=False, layout="constrained"
    )
    for panel, folder in zip(panels[0], options.folders, strict=True):
        found = last_layer(folder)
        for place, name in enumerate(edges.EDGES):
            for shift, method in enumerate(METHODS):
                row = found[name, method]
                low, mean, high = (float(row[key]) for key in ("low", "mean", "high"))
                y = place + 0.22 * (shift - 1)
                panel.plot([low, high], [y, y], color=COLOURS[method], linewidth=1.5)
                panel.plot(
                    mean, y, MARKERS[method], color=COLOURS[method], markersize=5,
                    label=method if place == 0 else None,
                )  # fmt: skip
        panel.axvline(0, color="#BBBBBB", linewidth=0.8, zorder=0)
        panel.set_title(folder.name, fontsize=10)
        panel.set_xlabel("rank correlation with blank-out", fontsize=9)
        panel.set_yticks(range(len(edges.EDGES)), edges.EDGES)
        panel.tick_params(labelsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].invert_yaxis()
    panels[0, -1].legend(fontsize=8, frameon=False)
    figure.savefig(options.out, metadata={"Date": None}, dpi=110)


if __name__ == "__main__":
    main()
