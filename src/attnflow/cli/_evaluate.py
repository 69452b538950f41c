"""`attnflow evaluate`: metrics of a model over the texts of a data file, in a run that resumes."""

import functools
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from attnflow._internal.checks import MAX_STEPS, MAX_THREADS
from attnflow._internal.display import count_texts
from attnflow.cli._evaluate_bar import evaluate_bar
from attnflow.cli._evaluate_report import print_run
from attnflow.cli._loading import SHIPPED, explain_missing_head, loaded_model, read_layout
from attnflow.cli._model_options import AllowPickle, Device, Json, Layout, RemoteCode, Truncate
from attnflow.cli._options import names, number_or_name, positions, wrong
from attnflow.edges import EDGES
from attnflow.evaluate import EvaluationPlan, RunProgress, run
from attnflow.evaluate.corpus import PART_SIZE
from attnflow.types import METHODS

_DEFAULT = EvaluationPlan()


def evaluate_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="verb-number for the model that comes with attnflow; else the folder of a Hugging "
            "Face model, a GGUF file, or the id of a model on the hub.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A .tsv, .csv, .jsonl or .parquet file, the folder of a Hugging Face dataset, or "
            "any other file with one text a line.",
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="RUN", help="New or empty folder, or that of the same run to resume it."
        ),
    ],
    edges: Annotated[
        str, typer.Option(metavar="NAMES", help=f"What edges weigh: some of {', '.join(EDGES)}.")
    ] = "attention",
    layout: Layout = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Some of {', '.join(METHODS)}.")
    ] = ",".join(METHODS),
    layers: Annotated[
        str | None, typer.Option(metavar="LIST", help="Layers, as in 1,4-6.  [default: all]")
    ] = None,
    row: Annotated[
        str,
        typer.Option(
            metavar="ROW",
            help="Whose scores count: read (the position whose output is read), cls, mask, last, "
            "a position (negative from the end), or max (the maximum over all positions).",
        ),
    ] = "read",
    importance: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What scores are compared with: some of blank_out, input_gradient, "
            "integrated_gradients.",
        ),
    ] = "input_gradient",
    metrics: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Some of spearman, kendall, top_k and dense_spearman, which compare with "
            "importance; pointing, which needs positions; entropy (1: all scores equal); "
            "comprehensiveness, sufficiency and log_odds.",
        ),
    ] = "spearman",
    target: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What importance is about: predicted, label (of each text), or a class or token "
            "by name or number.",
        ),
    ] = "predicted",
    replace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|ID",
            help="What replaces a token: unk, mask, pad or the id of a token; mean (of "
            "embeddings); attention_mask (set to 0).  [default: the model's own blank, else "
            "attention_mask for a decoder, else unk]",
        ),
    ] = None,
    reduce: Annotated[
        Literal["norm", "sum", "input", "raw_sum"],
        typer.Option(help="How the gradient of a token becomes one number."),
    ] = "norm",
    steps: Annotated[
        int, typer.Option(min=1, max=MAX_STEPS, metavar="N", help="Steps of integrated gradients.")
    ] = _DEFAULT.steps,
    k: Annotated[
        int, typer.Option("--k", min=1, metavar="N", help="Tokens that top_k compares.")
    ] = _DEFAULT.k,
    bins: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Percent of the tokens, for comprehensiveness, sufficiency and log_odds.",
        ),
    ] = ",".join(f"{share:g}" for share in _DEFAULT.bins),
    special: Annotated[
        bool | None,
        typer.Option(
            "--special/--no-special",
            help="Whether special tokens, such as CLS, count.  [default: only in comparisons with "
            "importance and in entropy]",
        ),
    ] = None,
    baselines: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Other scores to compare with: some of random, blank_out, input_gradient, "
            "integrated_gradients.",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of the baseline random.")
    ] = _DEFAULT.draws,
    truncate: Truncate = False,
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Seed of random scores and of the bootstrap."),
    ] = 0,
    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column with the texts.  [default: text or sentence, else the only one with "
            "strings]",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column for --target label.  [default: label]"),
    ] = None,
    position_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column for --metrics pointing: the position of a token, counted from 0 with "
            "special tokens.  [default: position]",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only the first N texts.  [default: all]"),
    ] = None,
    part_size: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Texts of a part, which is what a killed run loses at most, and a file of the "
            "result.",
        ),
    ] = PART_SIZE,
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast",
            help="Stop at the first text that fails.  [default: record its error and go on]",
        ),
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where to compute: in this process, or on a Ray cluster."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Of the Ray cluster.  [default: that of this machine, started if needed]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Ray workers, each with a model.  [default: one for each CPU]"
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_THREADS,
            metavar="N",
            help="Threads of torch and of flow, and the CPUs of a Ray worker. Another number may "
            "change the last bits.  [default: one of torch for a small model, else all cores; one "
            "CPU of a Ray worker]",
        ),
    ] = None,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Compare token attention with importance over all texts of a file, and summarize it.

    Names are separated by commas. RUN gets the folder results, Parquet files with one row for each
    text, method, layer, importance and metric, and the summary, which is also printed. A run that
    was killed or interrupted is resumed by the same command.
    """
    plan = EvaluationPlan(
        edges=names(edges, option="--edges"),
        methods=names(methods, option="--methods"),
        layers=positions(layers, option="--layers", lowest=1),
        row=_row(row),
        importance=names(importance, option="--importance"),
        metrics=names(metrics, option="--metrics"),
        target=cast("int | str", number_or_name(target)),
        replace=number_or_name(replace),
        reduce=reduce,
        steps=steps,
        k=k,
        bins=_numbers(bins, "--bins"),
        special=special,
        truncate=truncate,
        baselines=() if baselines is None else names(baselines, option="--baselines"),
        draws=draws,
        seed=seed,
    )
    described = read_layout(layout, plan.edges)
    loading = {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device}
    shipped = model == SHIPPED and not Path(model).exists()
    last: list[RunProgress] = []
    try:
        with evaluate_bar() as update, explain_missing_head():

            def report(progress: RunProgress) -> None:
                last[:] = [progress]
                update(progress)

            done = run(
                functools.partial(loaded_model, model, loading),
                data,
                out,
                plan=plan,
                name=SHIPPED if shipped else _model_name(model),
                text_column=text_column,
                label_column=label_column,
                position_column=position_column,
                limit=limit,
                part_size=part_size,
                layout=described,
                threads=threads,
                fail_fast=fail_fast,
                engine=engine,
                address=address,
                workers=workers,
                gpus=float(engine == "ray" and (device or "").startswith("cuda")),
                on_progress=report,
            )
    except KeyboardInterrupt as interrupt:
        state = "not begun"
        if last:
            are = "is" if last[0].total == 1 else "are"
            state = f"{last[0].written:,} of {count_texts(last[0].total)} {are} done"
        raise KeyboardInterrupt(
            f"interrupted; {state}. The same command resumes the run"
        ) from interrupt
    print_run(done, as_json=as_json)


def _row(text: str) -> Any:
    number = number_or_name(text.removeprefix("-"))
    if not isinstance(number, int):
        return text
    return -number if text.startswith("-") else number


def _numbers(text: str, option: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as error:
        raise wrong(option, f"expected numbers separated by commas, got {text!r}") from error


def _model_name(model: str) -> str:
    """Return the name of a folder without those above it, or an id as it is."""
    return Path(model).absolute().name if Path(model).is_dir() else model
