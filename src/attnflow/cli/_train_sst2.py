"""`attnflow train sst2`: fine-tune a sentiment classifier for Table 3 of the paper."""

import json
from pathlib import Path
from typing import Annotated

import typer

from attnflow._internal.checks import MAX_THREADS
from attnflow._internal.display import format_number
from attnflow.cli._model_options import Bf16, Json
from attnflow.cli._train_bar import resume_hint, train_bar
from attnflow.paper import SentimentRecipe, read_sst2, train_sentiment
from attnflow.paper.training import MAX_SEED


def sst2(
    *,
    base: Annotated[
        str,
        typer.Option(
            metavar="FOLDER|ID",
            help="The encoder to fine-tune, with its tokenizer: BERT, RoBERTa, DistilBERT, ….",
        ),
    ],
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder with train.tsv and dev.tsv of SST-2.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="New or empty folder for the model, or the folder of the same run to resume it.",
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Random seed of training.")] = 0,
    epochs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of epochs.")
    ] = SentimentRecipe().epochs,
    bf16: Bf16 = False,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_THREADS,
            metavar="N",
            help="Threads of torch. Another number may change the last bits of the weights.  "
            "[default: all cores]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fine-tune an encoder on SST-2: is a sentence of a film review negative or positive?

    The result is an ordinary Hugging Face folder, for attnflow reproduce table-3 and every command
    with --model. A checkpoint is written every 300 steps, and Ctrl-C writes one before it stops.
    The same command resumes the run and ends with the same model.
    """
    recipe = SentimentRecipe(seed=seed, epochs=epochs, bf16=bf16)
    try:
        with train_bar() as bar:
            train, dev = read_sst2(data, "train"), read_sst2(data, "dev")
            result = train_sentiment(
                train,
                dev,
                base,
                out,
                recipe=recipe,
                threads=threads,
                on_step=bar.step,
                on_epoch=bar.epoch,
            )
    except KeyboardInterrupt as interrupt:
        options = {"--base": base, "--data": data, "--out": out, "--seed": seed or None}
        options |= {"--epochs": epochs, "--bf16": bf16, "--threads": threads, "--json": as_json}
        raise KeyboardInterrupt(resume_hint("sst2", options, out)) from interrupt
    if as_json:
        document = {
            "out": str(out),
            "base": base,
            "data": str(data),
            "files": sorted(path.name for path in out.iterdir()),
            "recipe": recipe.to_dict(),
            "seconds": sum(epoch.seconds for epoch in result.epochs),
            "train_sentences": len(train),
            "dev_sentences": len(dev),
            "dev_accuracy": result.accuracy,
        }
        typer.echo(json.dumps(document))
        return
    typer.echo(
        f"wrote {out}: the model as transformers loads it, its card README.md, and "
        "checkpoint.safetensors, which is only for resuming"
    )
    correct = round(result.accuracy * len(dev))
    typer.echo(
        f"accuracy: {format_number(result.accuracy, 4)} on the dev split ({correct} of {len(dev)})"
    )
