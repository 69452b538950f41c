"""`attnflow reproduce`: the tables of the paper with the paper's numbers, and its figures."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow import paper
from attnflow._internal.display import format_number
from attnflow.cli._data import Data
from attnflow.cli._exit_codes import Command
from attnflow.cli._figures import Model, figure_1, figure_2, figure_3, figure_4
from attnflow.cli._loading import SHIPPED, loaded_model, loading
from attnflow.cli._model_options import Json
from attnflow.cli._options import wrong
from attnflow.cli._reproduce_table import Out, TableOptions, check_samples, sentences_of
from attnflow.cli._table_3 import table_3
from attnflow.evaluate import LayerTable

app = typer.Typer(
    name="reproduce",
    help="Compute the tables of the paper, printed with the paper's numbers, and draw its figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Samples: TypeAlias = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of sentences; all if there are fewer.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random seed of the sample of sentences.")
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
    list[Path] | None,
    typer.Option(
        metavar="FOLDER...",
        help="Folders of models, or one folder with a folder for each: the table is the mean ± "
        "standard deviation over models.",
    ),
]
More: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FOLDER", help="The folders after the first one of --models."),
]


def _model_paths(models: list[Path] | None, more: list[Path] | None) -> tuple[Path, ...]:
    """Return the folders of models; one that contains folders of models stands for those."""
    if models is None:
        if more:
            raise wrong(str(more[0]), "unexpected argument; several folders go after --models")
        return ()
    paths: list[Path] = []
    for path in (*models, *(more or [])):
        inside = [each for each in sorted(path.glob("*")) if paper.is_verb_number(each)]
        paths += inside if inside and not paper.is_verb_number(path) else [path]
    places = [path.resolve() for path in paths]  # links and relative paths may be one folder
    if twice := next(
        (p for p, place in zip(paths, places, strict=True) if places.count(place) > 1), None
    ):
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
    command = TableOptions(samples, data, model, _model_paths(models, more), seed, out, as_json)
    command.agreement({"blank_out": {"replace": replace}}, as_published=as_published)


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
    command = TableOptions(samples, data, model, _model_paths(models, more), seed, out, as_json)
    command.agreement({"input_gradient": {"reduce": reduce}}, as_published=as_published)


@app.command("tables", cls=Command)
def both_tables(
    more: More = None,
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    models: Models = None,
    seed: Seed = 0,
    as_published: AsPublished = False,
    as_json: Json = False,
) -> None:
    """Tables 1 and 2 together: attention, rollout and flow are computed once for both."""
    command = TableOptions(samples, data, model, _model_paths(models, more), seed, None, as_json)
    command.agreement({"blank_out": {}, "input_gradient": {}}, as_published=as_published)


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
    check_samples(samples, data)
    settings = {"allow_pickle": False, "remote_code": False, "device": None}
    with loading("gradients", model):
        loaded = loaded_model(model, settings)
        sentences, description = sentences_of(data, samples, seed)
        texts = [prefix.text for prefix in sentences]
        found = paper.gradient_sums(loaded.model, loaded.tokenizer, texts)
    if as_json:
        typer.echo(json.dumps({"model": model or SHIPPED, **asdict(found)}))
        return
    about = "it is rounding" if found.is_rounding else "it is not zero in this model"
    typer.echo(
        f"{model or SHIPPED}, {description}, {found.tokens} tokens\n"
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

    def compute(*args: Any, **kwargs: Any) -> list[LayerTable]:
        return [paper.subject_table(*args, **kwargs)]

    title = "Share of sentences whose subject has the highest score"
    command = TableOptions(samples, data, model, (), seed, out, as_json)
    command.tables({title: None}, compute, subject=True)


@app.command("entropy", cls=Command)
def entropy(
    more: More = None,
    *,
    samples: Samples = 2000,
    data: Data = None,
    model: Model = None,
    models: Models = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How evenly the scores of CLS are distributed over tokens; not in the paper.

    The entropy of the scores of a sentence divided by that of equal scores: 1 if all tokens have
    the same score. Mean over sentences, or over models of these means.
    """

    def compute(*args: Any, **kwargs: Any) -> list[LayerTable]:
        return [paper.entropy_table(*args, **kwargs)]

    title = "Entropy of the scores divided by that of equal scores"
    command = TableOptions(samples, data, model, _model_paths(models, more), seed, out, as_json)
    command.tables({title: None}, compute)


_ = app.command("table-3", cls=Command)(table_3)
_ = app.command("figure-1", cls=Command)(figure_1)
_ = app.command("figure-2", cls=Command)(figure_2)
_ = app.command("figure-3", cls=Command)(figure_3)
_ = app.command("figure-4", cls=Command)(figure_4)
