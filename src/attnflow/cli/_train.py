"""`attnflow train`: sentences in, a trained model and its card out."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from attnflow.cli._data import Data, read_splits
from attnflow.cli._exit_codes import exit_codes
from attnflow.cli._train_bar import train_bar
from attnflow.paper import (
    SMALL,
    Recipe,
    Splits,
    Trained,
    generated_splits,
    train,
)

_SENTENCES = 4000  # of our own, where there is no data; chosen: two minutes, and nearly all learnt

app = typer.Typer(
    name="train",
    help="Train a model of the paper.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def models() -> None:
    """Train a model of the paper."""


@app.command("verb-number")
@exit_codes()
def verb_number(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="New or empty folder for the model; one of the same run, to go on with it.",
        ),
    ],
    data: Data = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of all that is left to chance; the splits stay the same.")
    ] = 0,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How long.  [default: {Recipe().epochs}; {SMALL.epochs} without --data]",
        ),
    ] = None,
    threads: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Threads to compute with. More help little, the model is small, and the last bits "
            "of its weights may differ.",
        ),
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was reached as one JSON document.")
    ] = False,
) -> None:
    """Train the verb-number model of the paper: is the next verb singular or plural?

    Every epoch leaves a checkpoint, and Ctrl-C saves the run before it stops. The same command goes
    on from there and ends with the same model. Needs the packages of `pip install
    "attnflow[models]"`.
    """
    recipe = SMALL if data is None else Recipe()
    recipe = replace(recipe, seed=seed, epochs=epochs or recipe.epochs)
    try:
        with train_bar(recipe.epochs) as bar:
            splits = _splits(data)
            trained = train(
                splits, out, recipe=recipe, threads=threads, progress=bar.step, tell=bar.epoch
            )
    except KeyboardInterrupt:
        options = {"--data": data, "--out": out, "--seed": seed or None, "--epochs": epochs}
        options["--threads"] = None if threads == 1 else threads
        typer.echo(_how_to_go_on(out, options, as_json=as_json), err=True)
        raise
    _say(out, data, recipe, trained, as_json=as_json)


def _splits(data: Path | None) -> Splits:
    """The sentences, and what there is to say about them."""
    if data is None:
        splits = generated_splits(_SENTENCES)
        typer.echo(
            f"note: without --data it is trained on {len(splits.natural)} generated sentences; "
            "such a model is for trying things out, and knows little of natural ones",
            err=True,
        )
        return splits
    return read_splits(data)


def _how_to_go_on(out: Path, options: dict[str, Any], *, as_json: bool) -> str:
    begun = (out / "checkpoint.safetensors").exists()
    words = ["attnflow", "train", "verb-number"]
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    state = "the run is saved" if begun else "nothing was done yet"
    again = shlex.join([*words, *(["--json"] if as_json else [])])
    return f"interrupted; {state}. To {'go on' if begun else 'begin again'}: {again}"


def _say(out: Path, data: Path | None, recipe: Recipe, trained: Trained, *, as_json: bool) -> None:
    found = trained.figures
    if as_json:
        document = {
            "out": str(out),
            "data": None if data is None else str(data),
            "files": sorted(path.name for path in out.iterdir()),
            "recipe": recipe.plain(),
            "seconds": sum(epoch.seconds for epoch in trained.epochs),
            "figures": found.plain(),
        }
        typer.echo(json.dumps(document))
        return
    typer.echo(
        f"wrote {out}: the model (model.safetensors, config.json, vocabulary.json), its card "
        "README.md with all figures, and checkpoint.safetensors, which is only for resuming"
    )
    reached = {"validation": found.validation, "held-out": found.test, "wiki-test": found.cross}
    told = [
        f"{each.distinct:.4f} on {each.count} {name} prefixes"
        for name, each in reached.items()
        if each is not None
    ]
    typer.echo(f"accuracy: {', '.join(told)}")
