"""`attnflow train`: train the models of the paper and write their cards."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from attnflow._internal.checks import MAX_THREADS
from attnflow._internal.display import format_number
from attnflow.cli._data import Data, read_splits
from attnflow.cli._exit_codes import Command
from attnflow.cli._model_options import Bf16, Json, needs
from attnflow.cli._notes import print_note
from attnflow.cli._options import wrong
from attnflow.cli._train_bar import resume_hint, train_bar
from attnflow.cli._train_sst2 import sst2
from attnflow.paper import (
    ACCURATE_RECIPE,
    SMALL_RECIPE,
    Recipe,
    Splits,
    TrainingResult,
    generated_splits,
    train,
)
from attnflow.paper.training import MAX_SEED, TEACHER

_SENTENCES = 4000  # generated without --data; chosen: two minutes, and a high accuracy

app = typer.Typer(
    name="train", help="Train a model of the paper.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def models() -> None:
    """Train a model of the paper."""


@app.command("verb-number", cls=Command, epilog=needs("models"))
def verb_number(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="New or empty folder for the model, or the folder of the same run to resume it.",
        ),
    ],
    data: Data = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_SEED, help="Random seed of training; the splits do not depend on it."
        ),
    ] = 0,
    recipe: Annotated[
        Literal["paper", "accurate"] | None,
        typer.Option(
            help="paper: strong dropout and a teacher, as the paper's model was trained. accurate: "
            "little dropout, no teacher.  [default: paper; without --data a small one]"
        ),
    ] = None,
    teacher: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The model that --recipe paper learns from.  [default: trained first, with "
            "--recipe accurate and the same seed, in the folder teacher of --out]",
        ),
    ] = None,
    attention_dropout: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=0.99, metavar="P", help="Dropout of attention weights, for comparisons."
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of epochs.  [default: {Recipe().epochs}; accurate: "
            f"{ACCURATE_RECIPE.epochs}; without --data: {SMALL_RECIPE.epochs}]",
        ),
    ] = None,
    bf16: Bf16 = False,
    threads: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_THREADS,
            metavar="N",
            help="Threads of torch. More threads help little, since the model is small, and may "
            "change the last bits of the weights.",
        ),
    ] = 1,
    as_json: Json = False,
) -> None:
    """Train the verb-number model of the paper: is the next verb singular or plural?

    Every epoch writes a checkpoint, and Ctrl-C writes one before it stops. The same command resumes
    the run and ends with the same model.
    """
    given = {"seed": seed, "epochs": epochs, "attn_dropout": attention_dropout, "bf16": bf16}
    settings = replace(
        _recipe(recipe, data, teacher),
        **{name: value for name, value in given.items() if value is not None},
    )
    try:
        with train_bar() as bar:
            splits = _splits(data)
            result = train(
                splits,
                out,
                recipe=settings,
                teacher=teacher,
                threads=threads,
                on_step=bar.step,
                on_epoch=bar.epoch,
            )
    except KeyboardInterrupt as interrupt:
        options: dict[str, object] = {"--data": data, "--out": out, "--recipe": recipe}
        options |= {"--teacher": teacher, "--attention-dropout": attention_dropout}
        options |= {"--seed": seed or None, "--epochs": epochs}
        options["--threads"] = None if threads == 1 else threads
        options |= {"--bf16": bf16, "--json": as_json}
        hint = resume_hint("verb-number", options, out, out / TEACHER)
        raise KeyboardInterrupt(hint) from interrupt
    _report(out, data, settings, result, as_json=as_json)


_ = app.command("sst2", cls=Command, epilog=needs("models"))(sst2)


def _recipe(name: str | None, data: Path | None, teacher: Path | None) -> Recipe:
    if data is None:
        for option, value in (("--recipe", name), ("--teacher", teacher)):
            if value is not None:
                raise wrong(option, "needs --data")
        return SMALL_RECIPE
    return ACCURATE_RECIPE if name == "accurate" else Recipe()


def _splits(data: Path | None) -> Splits:
    """Return the splits, with notes about them on stderr."""
    if data is None:
        splits = generated_splits(_SENTENCES)
        print_note(
            f"training on {len(splits.train)} generated sentences, since there is no --data; the "
            "model will be inaccurate on natural sentences"
        )
        return splits
    return read_splits(data)


def _report(
    out: Path, data: Path | None, recipe: Recipe, result: TrainingResult, *, as_json: bool
) -> None:
    accuracies = result.accuracies
    if as_json:
        document = {
            "out": str(out),
            "data": None if data is None else str(data),
            "files": sorted(path.name for path in out.iterdir()),
            "recipe": recipe.to_dict(),
            "seconds": sum(epoch.seconds for epoch in result.epochs),
            "accuracies": accuracies.to_dict(),
        }
        typer.echo(json.dumps(document))
        return
    typer.echo(
        f"wrote {out}: the model (model.safetensors, config.json, vocabulary.json), its card "
        "README.md with all accuracies, and checkpoint.safetensors, which is only for resuming"
    )
    parts = [
        f"{format_number(accuracy.distinct, 4)} on {accuracy.count} {name} prefixes"
        for name, accuracy in (
            ("validation", accuracies.validation),
            ("test", accuracies.test),
            ("wiki-test", accuracies.wiki_test),
        )
        if accuracy is not None
    ]
    typer.echo(f"accuracy: {', '.join(parts)}")
