"""The counts of `attnflow reproduce figure-4 --data`: read, printed and written."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from attnflow import paper, plot
from attnflow._internal.version import __version__
from attnflow.cli._data import note_malformed

PronounFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Also count over the sentences of a folder: that of Winogender (all_sentences.tsv), "
        "that of WinoBias (pro_stereotyped_type1.txt.dev, …), or one with the folders winogender "
        "and winobias.",
    ),
]

_RULES = (
    "Rules without attention. The first two know only the places of the candidates; the others "
    'replace each candidate by "the person": how much the log-odds of the preferred pronoun fall '
    "(support) or change (effect)."
)


def read_pronoun_data(folder: Path | None) -> tuple[paper.PronounData, ...]:
    """Return the data sets of a folder; rows that could not be read are noted on stderr."""
    found = () if folder is None else paper.load_pronoun_data(folder)
    for data in found:
        note_malformed(data.malformed)
    return found


def write_counts(
    counts: paper.PronounCounts, data: paper.PronounData, figure: Path, *, model: str, folder: str
) -> None:
    """Print the shares of a data set, and write figure, shares and sentences next to `figure`.

    `model` and `folder`, that of the data, are as they were given.
    """
    counts = counts.with_settings(
        model=model,
        data=data.name,
        folder=folder,
        rows=data.rows,
        sentences=len(data.schemas),
        attnflow=__version__,
    )
    name = f"{figure.stem}-{data.name.lower()}"
    drawing, table = figure.with_stem(name), figure.with_name(f"{name}.csv")
    plot.save(
        paper.pronoun_counts_figure(counts, title=f"{data.name}, {Path(model).name}"), drawing
    )
    sentences = counts.save(table)
    parts = (_summary(counts, data), counts.markdown(), _RULES, counts.rules_markdown())
    typer.echo("\n" + "\n\n".join(parts) + "\n")
    typer.echo(f"wrote {drawing}, {table} and {sentences}")


def _summary(counts: paper.PronounCounts, data: paper.PronounData) -> str:
    """Return how many sentences are counted and why others are not, and the shares to compare."""
    counted = len(counts.table.texts)
    lines = [
        f"{data.name}: {data.rows} rows, {len(data.schemas)} distinct sentences, {counted} counted"
    ]
    lines += [f"{number:6} left out: {reason}" for reason, number in counts.left_out.items()]
    if data.malformed:
        lines.append(f"{len(data.malformed):6} rows could not be read")
    receptive_field = (
        " Rollout and flow are corrected for the receptive field." if counts.uncorrected else ""
    )
    about = (
        "Share of sentences where the candidate that decides the pronoun has more weight than the "
        "other [95 % Wilson interval]; chance is 0.50. Balanced: the mean over sentences whose "
        f"first candidate decides and those whose second does.{receptive_field}"
    )
    return "\n".join([*lines, "", about])
