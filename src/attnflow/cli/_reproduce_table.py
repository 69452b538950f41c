"""A table of the paper: its sentences, its models, and how it is printed and written."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer

from attnflow import paper
from attnflow._internal.columns import check_table_path, nan_to_none
from attnflow.cli._data import read_splits
from attnflow.cli._loading import SHIPPED, loading
from attnflow.cli._notes import print_note
from attnflow.cli._options import wrong
from attnflow.errors import InputError
from attnflow.evaluate import LayerTable

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write the table to this .md, .csv or .parquet file, and the values behind "
        "its means, of every sentence or model, to FILE.sentences.csv or .parquet.",
    ),
]

# Chosen: an hour of computation. Sentences from files have no limit.
_MAX_GENERATED = 100_000

_TITLES = {
    "blank_out": "Table 1: rank correlation with blank-out",
    "input_gradient": "Table 2: rank correlation with input gradients",
}
_PUBLISHED = {"blank_out": paper.TABLE_1, "input_gradient": paper.TABLE_2}
REDUCTIONS = {
    "norm": "the norm over dimensions",
    "input": "gradient times embedding",
    "raw_sum": "|sum over dimensions| in float32 as in the paper's code, which is rounding alone "
    "in a model that applies LayerNorm to its embeddings",
}
CORRELATIONS = {
    "spearman": "Spearman's rank correlation with average ranks",
    "dense_spearman": "the formula without ties on dense ranks, as in the paper's code",
}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of a table command."""

    samples: int
    data: Path | None
    model: Path | None
    models: tuple[Path, ...]
    seed: int
    out: Path | None
    as_json: bool

    def agreement(self, measures: dict[Any, dict[str, Any]], *, as_published: bool) -> None:
        """Compute Table 1, Table 2 or both, write and print them."""
        given = {
            measure: {name: value for name, value in settings.items() if value is not None}
            for measure, settings in measures.items()
        }
        titles = {_TITLES[measure]: _PUBLISHED[measure] for measure in given}

        def compute(
            model: Any, tokenizer: Any, sentences: list[paper.Prefix], *, progress: Any
        ) -> list[LayerTable]:
            passes: Any = {"as_published": as_published, "progress": progress}
            return [*paper.agreement_tables(model, tokenizer, sentences, given, **passes).values()]

        self.tables(titles, compute)

    def tables(
        self,
        titles: dict[str, Any],
        compute: Callable[..., list[LayerTable]],
        *,
        subject: bool = False,
    ) -> None:
        """Compute tables, write and print them. `titles` have the paper's numbers of each."""
        if self.models and self.model is not None:
            raise wrong("--model", "has no meaning with --models")
        check_out(self.out)
        check_samples(self.samples, self.data)
        if self.data is None:
            print_note(f"without --data, {self.samples} generated sentences are used")
        start = time.perf_counter()
        with loading("sentences") as progress:
            # All are loaded first: a folder without a model is an error before any work.
            folders = self.models or (self.model,)
            loaded = [paper.load(folder) for folder in folders]
            sentences, description = sentences_of(
                self.data, self.samples, self.seed, subject=subject
            )
            by_model = [
                compute(each.model, each.tokenizer, sentences, progress=progress) for each in loaded
            ]
        names = [SHIPPED if folder is None else str(folder) for folder in folders]
        if len(names) > 1:
            description += f", mean ± standard deviation over {len(names)} models"
        elif self.models:  # no deviation over models
            description += ", one model: mean ± standard deviation over sentences"
        total = time.perf_counter() - start
        documents: list[dict[str, Any]] = []
        texts: list[str] = []
        for (title, published), tables in zip(
            titles.items(), zip(*by_model, strict=True), strict=True
        ):
            table = tables[0]
            if len(names) > 1:
                table = paper.over_models(dict(zip(names, tables, strict=True)))
            table = table.with_settings(
                model=", ".join(names),
                data="generated" if self.data is None else str(self.data),
                seed=self.seed,
            )
            if self.out is not None:  # before printing, which may fail
                heading = _heading(title, table, description)
                values = table.save(self.out, published, heading=heading)
                typer.echo(f"wrote {self.out} and {values}", err=True)
            documents.append(table_document(title, table, published, description, total))
            texts.append(_text(title, table, published, description))
        if self.as_json:
            typer.echo(json.dumps(documents[0] if len(documents) == 1 else documents))
        else:
            typer.echo("\n\n".join([*texts, _time_line(by_model, total)]))


def check_out(out: Path | None) -> None:
    """Raise a usage error for a file that a table cannot be written to."""
    if out is not None:
        try:
            _ = check_table_path(out)
        except InputError as reason:
            raise wrong("--out", str(reason)) from reason


def check_samples(samples: int, data: Path | None) -> None:
    """Raise a usage error for more generated sentences than anyone waits for."""
    if data is None and samples > _MAX_GENERATED:
        raise wrong(
            "--samples",
            f"expected at most {_MAX_GENERATED} generated sentences, got {samples}. Pass --data "
            "for more",
        )


def sentences_of(
    data: Path | None, samples: int, seed: int, *, subject: bool = False
) -> tuple[list[paper.Prefix], str]:
    """Return the sentences and a description of them."""
    splits = None if data is None else read_splits(data)
    found = paper.sample(splits, samples, seed=seed, subject=subject)
    if not found:
        kind = " with a known subject" if subject else ""
        raise InputError(f"expected test sentences{kind}, got none in {data}. Pass another --data")
    if splits is None:
        return found, f"{len(found)} generated sentences (no --data)"
    return found, f"{len(found)} test sentences of {data}"


def _text(title: str, table: LayerTable, published: Any, description: str) -> str:
    # The standard deviation of a share says nothing more than the share.
    text = table.markdown(published, std=published is not None)
    return f"{_heading(title, table, description)}\n\n{text}"


def _time_line(by_model: list[list[LayerTable]], total: float) -> str:
    seconds: Counter[str] = Counter()
    for tables in by_model:  # the tables of one model have one computation
        seconds.update(cast("Any", tables[0].settings["seconds"]))
    parts = ", ".join(f"{name.replace('_', ' ')} {part:.1f} s" for name, part in seconds.items())
    # A thread scores a batch while the next goes through the model: parts may sum to more.
    return f"{total:.1f} s with loading: {parts}; parts overlap in time"


def _heading(title: str, table: LayerTable, description: str) -> str:
    """Return title, sentences and settings of a table."""
    settings: Any = table.settings
    parts = [f"scores of [CLS], heads {settings['heads']}, residual {settings['residual']}"]
    if "replaced_by" in settings:
        parts.append(f"blanked-out words replaced by {settings['replaced_by']}")
    if "reduce" in settings:
        parts.append(f"gradients: {REDUCTIONS[settings['reduce']]}")
    if "correlation" in settings:
        parts.append(CORRELATIONS[settings["correlation"]])
    parts.append(f"model {settings['model']}, seed {settings['seed']}")
    return f"{title}, {description}\n\n{'; '.join(parts)}"


def table_document(
    title: str, table: LayerTable, published: Any, description: str, total: float
) -> dict[str, Any]:
    """Return a table with the paper's numbers as JSON values; `total` is the time in seconds."""
    rows = {
        name: {
            "mean": nan_to_none(table.mean[row]),
            "std": nan_to_none(table.std[row]),
            "undefined": table.undefined[row].tolist(),
        }
        for row, name in enumerate(table.rows)
    }
    document: dict[str, Any] = {
        "title": title,
        "sentences": table.settings.get("sentences", len(table.texts)),
        "models": table.texts if "sentences" in table.settings else None,
        "source": description,
        "layers": table.layers,
        "rows": rows,
        "per_text": {name: nan_to_none(pair)[0] for name, pair in table.per_text_means.items()},
        "settings": json.loads(json.dumps(dict(table.settings), default=dict)),
        "seconds": round(total, 2),
    }
    if published is not None:
        document["paper"] = {
            name: {"mean": [m for m, _ in row], "std": [s for _, s in row]}
            for name, row in published.items()
        }
    return document
