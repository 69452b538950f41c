"""`attnflow reproduce table-3`: a sentiment classifier on SST-2."""

import json
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from attnflow import models, paper
from attnflow._internal.columns import nan_to_none
from attnflow._internal.display import format_number, markdown_table
from attnflow.cli._loading import cached_folder, explain_missing_head, loading
from attnflow.cli._model_options import Json
from attnflow.cli._options import wrong
from attnflow.cli._reproduce_table import CORRELATIONS, REDUCTIONS, Out, check_out, table_document
from attnflow.errors import InputError
from attnflow.evaluate import LayerTable

_MODEL = "distilbert-base-uncased-finetuned-sst-2-english"  # the paper's
_TITLE = "Table 3: rank correlation with input gradients"
_SETTINGS = {
    "none": "none of them; all of them",
    "texts": "the texts",
    "max_over_queries": "maximum over positions",
    "positive_logit": "logit of positive",
    "embedded_twice": "embedded twice",
    "gradient_sum": "sum of the gradient",
    "dense_ranks": "dense ranks",
}


def table_3(
    *,
    model: Annotated[
        str,
        typer.Option(
            metavar="FOLDER|ID",
            help="A classifier of two classes, negative and positive; attnflow train sst2 makes "
            "one. The default is loaded from a folder of that name or from the cache of the hub.",
        ),
    ] = _MODEL,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of SST-2 as GLUE has it: dev.tsv, and for --as-published and --ablation "
            "test.tsv or test_unlabelled.tsv. Required.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The first N sentences of the split.  [default: all of the dev split; with "
            f"--as-published {paper.AS_PUBLISHED_TEXTS} of the test split]",
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Compute what the paper's code did: the maximum over all positions, the logit of "
            "positive, embeddings embedded twice, the float32 sum of the gradient, the formula "
            f"without ties on dense ranks, {paper.AS_PUBLISHED_TEXTS} texts of the test split.",
        ),
    ] = False,
    ablation: Annotated[
        bool,
        typer.Option(
            "--ablation",
            help="Print the means of layer 6 with each of these settings alone, and with all but "
            "each. --samples is then that of the dev split.",
        ),
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Table 3: rank correlation of token attention with input gradients, a sentiment classifier.

    Spearman's rank correlation over the tokens of a sentence; mean ± standard deviation over
    sentences. By default the scores of CLS, and the norm of the gradient for the predicted class.
    """
    check_out(out)
    if ablation and (as_published or out is not None):
        raise wrong("--ablation", "prints one table of both; leave out --as-published and --out")
    if data is None:
        raise wrong(
            "--data",
            "expected the folder of SST-2 with dev.tsv and test.tsv (or test_unlabelled.tsv), part "
            "of GLUE (https://gluebenchmark.com/tasks)",
        )
    if ablation:
        texts = _texts(data, "dev", samples), _texts(data, "test", paper.AS_PUBLISHED_TEXTS)
        with loading("sentences", model) as progress, explain_missing_head():
            loaded = _load(model)
            tables = paper.table_3_ablation(
                loaded.model, loaded.tokenizer, *texts, progress=progress
            )
        _print_ablation(tables, model, [len(part) for part in texts], as_json=as_json)
        return
    start = time.perf_counter()
    split = "test" if as_published else "dev"
    reviews = paper.read_sst2(data, split)
    reviews = reviews[: samples or (paper.AS_PUBLISHED_TEXTS if as_published else None)]
    settings = paper.TABLE_3_AS_PUBLISHED if as_published else paper.Table3Settings()
    with loading("sentences", model) as progress, explain_missing_head():
        loaded = _load(model)
        texts = [review.text for review in reviews]
        table = paper.table_3(loaded.model, loaded.tokenizer, texts, settings, progress=progress)
        accuracy = None  # the test split has no labels
        if not as_published:
            accuracy, _ = paper.sentiment_accuracy(loaded.model, loaded.tokenizer, reviews)
    table = table.with_settings(model=model, data=str(data), accuracy=accuracy)
    description = f"{len(texts)} sentences of the {split} split of SST-2"
    heading = f"{_TITLE}, {description}\n\n{_describe(settings, model, accuracy)}"
    if out is not None:  # before printing, which may fail
        values = table.save(out, paper.TABLE_3, heading=heading)
        typer.echo(f"wrote {out} and {values}", err=True)
    if as_json:
        seconds = time.perf_counter() - start
        document = table_document(_TITLE, table, paper.TABLE_3, description, seconds)
        typer.echo(json.dumps(document))
        return
    typer.echo(f"{heading}\n\n{table.markdown(paper.TABLE_3)}")


def _texts(data: Path, split: Literal["dev", "test"], count: int | None) -> list[str]:
    return [review.text for review in paper.read_sst2(data, split)[:count]]


def _load(name: str) -> models.Loaded:
    folder = name
    if name == _MODEL:
        otherwise = (
            "fine-tune another one: attnflow train sst2 --base FOLDER --data DIR --out OUT, then "
            "attnflow reproduce table-3 --model OUT --data DIR"
        )
        folder = cached_folder(name, "distilbert", otherwise=otherwise)
    loaded = models.load(folder)
    if loaded.tokenizer is None:
        raise InputError(f"expected a model with a tokenizer, got {name}")
    return loaded


def _describe(settings: paper.Table3Settings, model: str, accuracy: float | None) -> str:
    """Return the settings of a table in words."""
    scores = "the maximum over positions, of rows that sum to one,"
    parts = [
        f"{scores if settings.max_over_queries else 'scores of [CLS],'} heads mean, residual 0.5",
        f"gradients of {'the logit of positive' if settings.positive_logit else 'the prediction'}: "
        + REDUCTIONS["raw_sum" if settings.gradient_sum else "norm"],
        *(["the output of the embedding layer is embedded again"] * settings.embedded_twice),
        CORRELATIONS[settings.correlation],
        f"model {model}",
    ]
    if accuracy is not None:
        parts.append(f"accuracy {format_number(accuracy)} on these sentences")
    return "; ".join(parts)


def _print_ablation(
    tables: dict[str, tuple[LayerTable, LayerTable]],
    model: str,
    counts: list[int],
    *,
    as_json: bool,
) -> None:
    first = tables["none"][0]
    kinds = ("alone", "all but it")
    if as_json:
        rows = {
            name: {
                kind.replace(" ", "_"): dict(
                    zip(first.rows, map(nan_to_none, table.mean), strict=True)
                )
                for kind, table in zip(kinds, pair, strict=True)
            }
            for name, pair in tables.items()
        }
        document = {"model": model, "sentences": counts, "layers": first.layers, "settings": rows}
        typer.echo(json.dumps(document))
        return
    titles = [f"{kind}: {row}" for kind in kinds for row in first.rows]
    cells = [["as the paper's code has it", *titles]]
    cells += [
        [_SETTINGS[name], *(format_number(v, 2) for t in pair for v in t.mean[:, -1].tolist())]
        for name, pair in tables.items()
    ]
    typer.echo(
        f"Table 3, layer {first.layers[-1]}: means of the rank correlation, with one setting of "
        f"the paper's code alone, and with all but it; model {model}\n\n"
        f"The texts are the dev split ({counts[0]} sentences), as the code has it the test split "
        f"({counts[1]} sentences).\n\n{markdown_table(cells)}"
    )
