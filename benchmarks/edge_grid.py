"""The grid: every edge weight, method and layer, against importance and by faithfulness.

Rank correlation with blank-out, input gradients and integrated gradients; comprehensiveness,
sufficiency and log-odds; random scores and blank-out itself beside them. For atom mapping, a task
with known answers, the share of right answers (atom_mapping.py).

    python benchmarks/edge_grid.py verb-number FOLDER atom-mapping --data DIR --out RUN

prints the tables of these three, one after the other; any of them may be left out. FOLDER is a
classifier of SST-2, which `attnflow train sst2` trains. DIR has linzen/ and linzen-sentences/, of
which 2,000 held-out sentences are taken at random for the model that comes with attnflow (without
DIR they are generated), and sst2/, of which the first 500 sentences of the dev split are taken.
RUN gets a folder for each model: NAME/run/summary.md has all tables in Markdown and summary.csv all
intervals, beside figures and results; atom-mapping/summary.md is what is printed. A run that was
stopped is resumed by the same command.
"""

import argparse
import functools
from pathlib import Path

import atom_mapping
import report

from attnflow import edges, models, paper
from attnflow.evaluate import EvaluationPlan, RunProgress, RunResult, Summary, run

PLAN = EvaluationPlan(
    edges=edges.EDGES,
    importance=("blank_out", "input_gradient", "integrated_gradients"),
    metrics=("spearman", "comprehensiveness", "sufficiency", "log_odds"),
    baselines=("random", "blank_out"),
    draws=3,  # of random scores for each text: enough for a mean over many
)
SHIPPED, ATOMS = "verb-number", "atom-mapping"
BASELINES = {"random": "random scores", "blank_out": "blank-out itself (leave one out)"}
COUNTS = {SHIPPED: 2000, "SST-2": 500}  # sentences


def texts(model: str, data: Path | None, count: int | None) -> list[str]:
    """The sentences for a model."""
    count = count or COUNTS.get(model, COUNTS["SST-2"])
    if model != SHIPPED:
        if data is None:
            raise SystemExit("--data: expected the folder of SST-2, got nothing")
        return [review.text for review in paper.read_sst2(data, "dev")[:count]]
    splits = None if data is None else paper.load_splits(data)
    return [" ".join(prefix.words) for prefix in paper.sample(splits, count)]


def grid(
    model: str, data: Path | None, out: Path, *, count: int | None, part_size: int
) -> RunResult:
    """Measure the grid, or resume it."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "texts.txt"
    _ = file.write_text("".join(f"{text}\n" for text in texts(model, data, count)), "utf-8")
    load = paper.load if model == SHIPPED else functools.partial(models.load, model)
    return run(
        load, file, out / "run", plan=PLAN, name=out.name, part_size=part_size,
        on_progress=_report,
    )  # fmt: skip


def last_layer(summary: Summary) -> str:
    """The means of the last layer and of the baselines, a column for each measure, as Markdown."""
    columns = {
        "blank-out": ("blank_out", "spearman"),
        "input gradient": ("input_gradient", "spearman"),
        "integrated gradients": ("integrated_gradients", "spearman"),
        "comprehensiveness ↑": (None, "comprehensiveness"),
        "sufficiency ↓": (None, "sufficiency"),
        "log-odds ↓": (None, "log_odds"),
    }
    top = max(one.cell.layer or 0 for one in summary.cells)
    rows: dict[str, dict[tuple[str | None, str], float]] = {}
    for one in summary.cells:
        if one.cell.layer in (None, top):
            weights = (one.cell.edges or "").replace("_", " ")
            name = f"{weights}, {one.cell.method}" if weights else BASELINES[one.cell.method]
            rows.setdefault(name, {})[one.cell.importance, one.cell.metric] = one.mean
    body = [[name, *(f"{found[c]:.2f}" for c in columns.values())] for name, found in rows.items()]
    return report.table(["edges, method", *columns], body)


def _report(progress: RunProgress) -> None:
    end = "\n" if progress.texts == progress.total else ""
    print(f"\r{progress.texts:,} of {progress.total:,} texts", end=end, flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="edge weights by method and layer")
    _ = parser.add_argument(
        "models", nargs="+", metavar="MODEL",
        help="verb-number, the folder of a classifier of SST-2, or atom-mapping",
    )  # fmt: skip
    _ = parser.add_argument("--data", type=Path, help="folder with the sentences")
    _ = parser.add_argument("--texts", type=int, help="how many sentences, for each model")
    _ = parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    _ = parser.add_argument("--part-size", type=int, default=64, help="texts of a part")
    options = parser.parse_args()
    for model in options.models:
        out = options.out / Path(model).resolve().name  # of "." and ".." too
        if model == ATOMS:
            tables = atom_mapping.report_atoms(edges=True)
            out.mkdir(parents=True, exist_ok=True)
            _ = (out / "summary.md").write_text(f"{tables}\n", "utf-8")
            print(tables)
            continue
        done = grid(model, options.data, out, count=options.texts, part_size=options.part_size)
        table = last_layer(done.summary)
        _ = (out / "last-layer.md").write_text(f"{table}\n", "utf-8")
        print(f"{done.summary.text()}\nThe last layer:\n\n{table}")


if __name__ == "__main__":
    main()
