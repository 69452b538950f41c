"""`attnflow reproduce`: the tables of the paper with the paper's numbers, and its figures."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow import paper
from attnflow._internal.display import format_number
from attnflow.cli._data import Data, read_splits
from attnflow.cli._exit_codes import Command
from attnflow.cli._figures import Model, figure_1, figure_2, figure_3, figure_4
from attnflow.cli._loading import SHIPPED, loaded_model, loading
from attnflow.cli._model_options import Json
from attnflow.cli._options import wrong
from attnflow.errors import InputError
from attnflow.evaluate import LayerTable
from attnflow.types import check_table_path, nan_to_none

app = typer.Typer(
    name="reproduce",
    help="Compute the tables of the paper, printed with the paper's numbers, and draw its figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# Chosen: an hour of computation. Sentences from files have no limit.
_MAX_GENERATED = 100_000

Samples: TypeAlias = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of sentences; all if there are fewer.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random seed of the sample of sentences.")
]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write the table to this .md, .csv or .parquet file, and the values of every "
        "sentence to FILE.sentences.csv or .parquet.",
    ),
]


AsPublished: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="Compute what the paper's code did instead of what the paper says: padding as the "
        "blank, the float32 sum of the gradient, the formula without ties on dense ranks.",
    ),
]
Models: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER…",
        help="Folders of models, or one folder with a folder for each: the table is the mean ± "
        "standard deviation over models.",
    ),
]
# The folders after the first one of --models.
More: TypeAlias = Annotated[list[Path] | None, typer.Argument(hidden=True)]


def _model_paths(models: Path | None, more: list[Path] | None) -> tuple[Path, ...]:
    """Return the folders of models; one that contains folders of models stands for those."""
    if models is None:
        if more:
            raise wrong(str(more[0]), "unexpected argument; several folders go after --models")
        return ()
    paths: list[Path] = []
    for path in (models, *(more or [])):
        inside = [each for each in sorted(path.glob("*")) if paper.is_verb_number(each)]
        paths += inside if inside and not paper.is_verb_number(path) else [path]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise wrong("--models", f"expected different folders, got {twice} twice")
    return tuple(paths)


@app.command("table-1", cls=Command)
def table_1(
    more: More = None,
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    models: Models = None,
    seed: Seed = 0,
    replace: Annotated[
        Literal["unk", "mask", "pad"] | None,
        typer.Option(
            help="The token that replaces a blanked-out word.  [default: the model's own blank, "
            "else unk]"
        ),
    ] = None,
    as_published: AsPublished = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Table 1: rank correlation of the token attention of CLS with blank-out, by layer.

    Spearman's rank correlation over the tokens of a sentence; mean ± standard deviation over
    sentences.
    """
    if as_published and replace is not None:
        raise wrong("--replace", "has no meaning with --as-published, which replaces by pad")
    command = _Command(samples, data, model, _model_paths(models, more), seed, out, as_json)
    command.table(
        "Table 1: rank correlation with blank-out",
        partial(
            paper.agreement_table, measure="blank_out", replace=replace, as_published=as_published
        ),
        paper.TABLE_1,
    )


@app.command("table-2", cls=Command)
def table_2(
    more: More = None,
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    models: Models = None,
    seed: Seed = 0,
    reduce: Annotated[
        Literal["norm", "input"] | None,
        typer.Option(
            help="How the gradient of a word becomes one number: its norm, or its product with the "
            "embedding.  [default: norm]"
        ),
    ] = None,
    as_published: AsPublished = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Table 2: rank correlation of the token attention of CLS with input gradients, by layer.

    Spearman's rank correlation over the tokens of a sentence; mean ± standard deviation over
    sentences.
    """
    if as_published and reduce is not None:
        raise wrong("--reduce", "has no meaning with --as-published, which takes the sum")
    command = _Command(samples, data, model, _model_paths(models, more), seed, out, as_json)
    command.table(
        "Table 2: rank correlation with input gradients",
        partial(
            paper.agreement_table,
            measure="input_gradient",
            reduce=reduce or "norm",
            as_published=as_published,
        ),
        paper.TABLE_2,
    )


@app.command("gradient-sum", cls=Command)
def gradient_sum(
    *,
    samples: Samples = 200,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|ID",
            help="Any classifier or language model of Hugging Face, or a folder that attnflow "
            "train wrote.  [default: the shipped model]",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """The sum of a gradient over dimensions, which the paper's code takes, is only rounding.

    Behind LayerNorm it is zero. This computes it in float64 and in float32, and the rank
    correlation of what float32 leaves of it with the norm of the gradient.
    """
    settings = {"allow_pickle": False, "remote_code": False, "device": None}
    with loading("gradients", model):
        loaded = loaded_model(model, settings)
        splits = None if data is None else read_splits(data)
        texts = [prefix.text for prefix in paper.sample(splits, samples, seed=seed)]
        found = paper.gradient_sums(loaded.model, loaded.tokenizer, texts)
    if as_json:
        typer.echo(json.dumps({"model": model or SHIPPED, **asdict(found)}))
        return
    about = "it is rounding" if found.is_rounding else "it is not zero in this model"
    typer.echo(
        f"{model or SHIPPED}, {found.texts} sentences, {found.tokens} tokens\n"
        f"largest |sum| / norm in float64  {found.float64:.1e}: {about}\n"
        f"largest |sum| / norm in float32  {found.float32:.1e}\n"
        f"rank correlation of |sum| in float32 with the norm, mean over sentences  "
        f"{format_number(found.correlation, 2)}"
    )


@app.command("subject", cls=Command)
def subject(
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How often the subject has the highest score; not in the paper.

    For each method and layer, and for blank-out and input gradients, over sentences with a known
    subject. The mean is a share from 0 to 1.
    """
    _Command(samples, data, model, (), seed, out, as_json).table(
        "Share of sentences whose subject has the highest score",
        paper.subject_table,
        None,
        subject=True,
    )


_ = app.command("figure-1", cls=Command)(figure_1)
_ = app.command("figure-2", cls=Command)(figure_2)
_ = app.command("figure-3", cls=Command)(figure_3)
_ = app.command("figure-4", cls=Command)(figure_4)


@dataclass(frozen=True, slots=True)
class _Command:
    """The options of a table command."""

    samples: int
    data: Path | None
    model: Path | None
    models: tuple[Path, ...]
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
        """Compute a table, write it and print it."""
        if self.models and self.model is not None:
            raise wrong("--model", "has no meaning with --models")
        if self.out is not None:
            try:
                _ = check_table_path(self.out)
            except InputError as reason:
                raise wrong("--out", str(reason)) from reason
        if self.data is None and self.samples > _MAX_GENERATED:
            raise wrong(
                "--samples",
                f"expected at most {_MAX_GENERATED} generated sentences, got {self.samples}. Pass "
                "--data for more",
            )
        start = time.perf_counter()
        with loading("sentences") as progress:
            # All are loaded first: a folder without a model is an error before any work.
            loaded = [paper.load(folder) for folder in self.models or (self.model,)]
            sentences, description = self._sentences(subject=subject)
            tables = [
                compute(each.model, each.tokenizer, sentences, progress=progress) for each in loaded
            ]
        model = SHIPPED if self.model is None else str(self.model)
        table = tables[0]
        if self.models:
            names = [str(folder) for folder in self.models]
            model = ", ".join(names)
            table = paper.over_models(dict(zip(names, tables, strict=True)))
            description += f", mean ± standard deviation over {len(names)} models"
        table = table.with_settings(
            model=model,
            data="generated" if self.data is None else str(self.data),
            seed=self.seed,
        )
        total = time.perf_counter() - start
        if self.out is not None:  # before printing, which may fail
            values = table.save(self.out, published, heading=_heading(title, table, description))
            typer.echo(f"wrote {self.out} and {values}", err=True)
        if self.as_json:
            typer.echo(json.dumps(_document(title, table, published, description, total)))
        else:
            typer.echo(_text(title, table, published, description, total))

    def _sentences(self, *, subject: bool) -> tuple[list[paper.Prefix], str]:
        """Return the sentences and a description of them."""
        splits = None if self.data is None else read_splits(self.data)
        found = paper.sample(splits, self.samples, seed=self.seed, subject=subject)
        if not found:
            kind = " with a known subject" if subject else ""
            raise InputError(
                f"expected test sentences{kind}, got none in {self.data}. Pass another --data"
            )
        if splits is None:
            return found, f"{len(found)} generated sentences (no --data)"
        return found, f"{len(found)} test sentences of {self.data}"


def _text(title: str, table: LayerTable, published: Any, description: str, total: float) -> str:
    settings: Any = table.settings
    seconds = settings["seconds"]
    parts = ", ".join(f"{name.replace('_', ' ')} {part:.1f} s" for name, part in seconds.items())
    # The standard deviation of a share says nothing more than the share.
    text = table.markdown(published, std=published is not None)
    time_line = f"{total:.1f} s: {parts}; the rest is loading"
    return "\n\n".join([_heading(title, table, description), text, time_line])


def _heading(title: str, table: LayerTable, description: str) -> str:
    """Return title, sentences and settings of a table."""
    settings: Any = table.settings
    parts = [f"scores of [CLS], heads {settings['heads']}, residual {settings['residual']}"]
    if "replaced_by" in settings:
        parts.append(f"blanked-out words replaced by {settings['replaced_by']}")
    if "reduce" in settings:
        parts.append(f"gradients: {_REDUCTIONS[settings['reduce']]}")
    if "correlation" in settings:
        parts.append(_CORRELATIONS[settings["correlation"]])
    parts.append(f"model {settings['model']}, seed {settings['seed']}")
    return f"{title}, {description}\n\n{'; '.join(parts)}"


_REDUCTIONS = {
    "norm": "the norm over dimensions",
    "input": "gradient times embedding",
    "raw_sum": "|sum over dimensions| in float32 as in the paper's code, which is rounding alone "
    "in a model that applies LayerNorm to its embeddings",
}
_CORRELATIONS = {
    "spearman": "Spearman's rank correlation with average ranks",
    "dense_spearman": "the formula without ties on dense ranks, as in the paper's code",
}


def _document(
    title: str, table: LayerTable, published: Any, description: str, total: float
) -> dict[str, Any]:
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
        "sentences": len(table.texts),
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
