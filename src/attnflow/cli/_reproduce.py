"""`attnflow reproduce`: the paper's tables, beside the paper's numbers, and its figures."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow import paper
from attnflow.cli._data import Data, read_splits
from attnflow.cli._exit_codes import exit_codes
from attnflow.cli._figures import figure_1, figure_2, figure_3, figure_4
from attnflow.cli._loading import SHIPPED, loading
from attnflow.cli._options import wrong
from attnflow.errors import InputError
from attnflow.evaluate import LayerTable
from attnflow.types import check_table_path, nan_to_none

app = typer.Typer(
    name="reproduce",
    help="The tables of the paper, computed anew and printed beside the paper's numbers, and its "
    "figures, drawn anew.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# Chosen: an hour of work. More can be asked of files, which have an end.
_GENERATED_AT_MOST = 100_000

Samples: TypeAlias = Annotated[
    int, typer.Option(min=1, metavar="N", help="Sentences to take; all where there are fewer.")
]
Model: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A model of attnflow train verb-number.  [default: the one that comes with attnflow]",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, metavar="N", help="Chooses the sentences.")]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the table to this .md, .csv or .parquet file as well, and the numbers of every "
        "sentence beside it (FILE.sentences.csv or .parquet).",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of a table.")
]


@app.command("table-1")
@exit_codes()
def table_1(
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    seed: Seed = 0,
    replace: Annotated[
        Literal["unk", "mask", "pad"],
        typer.Option(
            help="What stands for a word that is blanked out: unk, which training never showed, as "
            "in the paper; mask, which it showed in the place of hidden words; pad."
        ),
    ] = "unk",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Table 1: token attention of CLS against blank-out, by layer.

    Spearman's rank correlation over the tokens of a sentence; mean ± standard deviation over
    sentences.
    """
    made = _Making(samples, data, model, seed, out, as_json)
    made.table(
        "Table 1: rank correlation with blank-out",
        partial(paper.agreement_table, measure="blank_out", replace=replace),
        paper.TABLE_1,
    )


@app.command("table-2")
@exit_codes()
def table_2(
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    seed: Seed = 0,
    reduce: Annotated[
        Literal["norm", "input"],
        typer.Option(
            help="How the gradient of a word becomes one number: its norm, or its product with the "
            "embedding. The sum, which the paper's code takes, is zero in this model."
        ),
    ] = "norm",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Table 2: token attention of CLS against input gradients, by layer.

    Spearman's rank correlation over the tokens of a sentence; mean ± standard deviation over
    sentences.
    """
    made = _Making(samples, data, model, seed, out, as_json)
    made.table(
        "Table 2: rank correlation with input gradients",
        partial(paper.agreement_table, measure="input_gradient", reduce=reduce),
        paper.TABLE_2,
    )


@app.command("subject")
@exit_codes()
def subject(
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How often the highest-scoring word is the subject; not in the paper.

    For each method and layer, and for blank-out and input gradients, over sentences whose subject
    is known. The mean is a share from 0 to 1.
    """
    made = _Making(samples, data, model, seed, out, as_json)
    made.table(
        "Share of sentences whose highest-scoring word is the subject",
        paper.subject_table,
        None,
        subject=True,
    )


_ = app.command("figure-1")(figure_1)
_ = app.command("figure-2")(figure_2)
_ = app.command("figure-3")(figure_3)
_ = app.command("figure-4")(figure_4)


@dataclass(frozen=True, slots=True)
class _Making:
    """What a command was asked for."""

    samples: int
    data: Path | None
    model: Path | None
    seed: int
    out: Path | None
    as_json: bool

    def table(
        self,
        title: str,
        compute: Callable[..., LayerTable],
        published: Any,
        *,
        subject: bool = False,
    ) -> None:
        """Compute a table and give it out."""
        self._check_out()
        if self.data is None and self.samples > _GENERATED_AT_MOST:
            raise wrong(
                "--samples",
                f"without --data it is at most {_GENERATED_AT_MOST} generated sentences",
            )
        start = time.perf_counter()
        with loading("sentences") as progress:
            loaded = paper.load(self.model)
            sentences, source = self._sentences(subject=subject)
            table = compute(loaded.model, loaded.tokenizer, sentences, progress=progress)
        table = table.with_settings(
            model=SHIPPED if self.model is None else str(self.model),
            data="generated" if self.data is None else str(self.data),
            seed=self.seed,
        )
        total = time.perf_counter() - start
        if self.out is not None:  # before it is printed, perhaps to a reader that is gone
            beside = table.save(self.out, published, heading=_heading(title, table, source))
            typer.echo(f"wrote {self.out} and {beside}", err=True)
        if self.as_json:
            typer.echo(json.dumps(_document(title, table, published, source, total)))
        else:
            typer.echo(_printed(title, table, published, source, total))

    def _check_out(self) -> None:
        if self.out is not None:
            try:
                _ = check_table_path(self.out)
            except InputError as reason:
                raise wrong("--out", str(reason)) from reason

    def _sentences(self, *, subject: bool) -> tuple[list[paper.Prefix], str]:
        """Sentences, and in words what they are."""
        splits = None if self.data is None else read_splits(self.data)
        found = paper.sample(splits, self.samples, seed=self.seed, subject=subject)
        if not found:
            known = " whose subject is known" if subject else ""
            raise InputError(f"{self.data} has no sentence{known} that was not trained on")
        kind = "generated sentences (no --data came)"
        if splits is not None:
            kind = f"held-out sentences of {self.data}"
        return found, f"{len(found)} {kind}"


def _printed(title: str, table: LayerTable, published: Any, source: str, total: float) -> str:
    settings: Any = table.settings
    seconds = settings["seconds"]
    spent = ", ".join(f"{name.replace('_', ' ')} {each:.1f} s" for name, each in seconds.items())
    # A share of sentences has no spread of its own.
    text = table.markdown(published, std=published is not None)
    took = f"{total:.1f} s: {spent}; the rest is loading"
    return "\n\n".join([_heading(title, table, source), text, took])


def _heading(title: str, table: LayerTable, source: str) -> str:
    """What a table is, and how it was made."""
    settings: Any = table.settings
    how = [f"scores of [CLS], heads {settings['heads']}, residual {settings['residual']}"]
    if "replace" in settings:
        how.append(f"words blanked out by {settings['replace']}")
    if "reduce" in settings:
        how.append(f"gradients: {_REDUCED[settings['reduce']]}")
    how.append(f"model {settings['model']}, seed {settings['seed']}")
    return f"{title}, {source}\n\n{'; '.join(how)}"


_REDUCED = {
    "norm": "the norm over dimensions, since their sum, which the paper's code takes, is zero in a "
    "model that reads its embeddings through LayerNorm",
    "input": "gradient times embedding",
}


def _document(
    title: str, table: LayerTable, published: Any, source: str, total: float
) -> dict[str, Any]:
    rows = {
        name: {
            "mean": nan_to_none(table.mean[place]),
            "std": nan_to_none(table.std[place]),
            "undefined": table.undefined[place].tolist(),
        }
        for place, name in enumerate(table.rows)
    }
    document: dict[str, Any] = {
        "title": title,
        "sentences": len(table.texts),
        "source": source,
        "layers": table.layers,
        "rows": rows,
        "whole": {name: nan_to_none(pair)[0] for name, pair in table.per_text_means.items()},
        "settings": json.loads(json.dumps(dict(table.settings), default=dict)),
        "seconds": round(total, 2),
    }
    if published is not None:
        document["paper"] = {
            name: {"mean": [m for m, _ in row], "std": [s for _, s in row]}
            for name, row in published.items()
        }
    return document
