"""`attnflow compute`: a file of attention in, token attention out."""

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from attnflow._internal import storage
from attnflow.cli._model_options import Json, Threads
from attnflow.cli._notes import print_sinks_note
from attnflow.cli._options import below_one, file_path, output_path, positions, wrong
from attnflow.cli._progress import progress_bar
from attnflow.cli._table import flow_note, table
from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Fusion,
    Method,
    TokenAttention,
)

# As in Python: raw attention is the fused heads alone; the others mix in the residual at the
# paper's weight (section 3).
_RESIDUAL = {"raw": 0.0, "rollout": 0.5, "flow": 0.5}


def compute(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="File with `weights` (layer, head, query, key), and `tokens` if there are names; "
            "or with `encoder`, `decoder` and `cross`, and `source` and `target`. .npz or "
            ".safetensors.",
        ),
    ],
    *,
    method: Annotated[Method, typer.Option(help="How layers compose.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="File for scores, layers, queries, tokens, method, settings, saturated, origin "
            "where it is known, and flat where a query is; .npz or .safetensors; an existing one "
            "is replaced.",
        ),
    ] = None,
    as_json: Json = False,
    layers: Annotated[
        str | None, typer.Option(metavar="1,4-6", help="Layers, from 1.  [default: all]")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(metavar="0,3-5", help="Positions, from 0.  [default: all]")
    ] = None,
    onto: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="J",
            help="Attention to the nodes of this layer instead of the input; not for raw.  "
            "[default: 0]",
        ),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="K", help="This head alone at the layer of interest (the paper's A.1)."
        ),
    ] = None,
    heads: Annotated[Fusion, typer.Option(help="How the heads of a layer are fused.")] = "mean",
    residual: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Share of the residual connection, from 0 to below 1.  [default: 0.5; 0 for raw]",
        ),
    ] = None,
    discard_ratio: Annotated[
        float,
        typer.Option(
            metavar="R", help="Share of each layer's smallest weights to drop, from 0 to below 1."
        ),
    ] = 0.0,
    without: Annotated[
        str | None,
        typer.Option(
            metavar="0,3-5",
            help="Positions to exclude, such as attention sinks.  [default: none]",
        ),
    ] = None,
    receptive_field: Annotated[
        bool,
        typer.Option(
            "--receptive-field",
            help="Divide by the scores of uniform causal attention; not for raw.",
        ),
    ] = False,
    normalized: Annotated[
        bool, typer.Option("--normalized", help="Scale the scores of each query to sum to one.")
    ] = False,
    threads: Threads = None,
) -> None:
    """Compute token attention from a file of attention.

    With neither --out nor --json a table of the layers given with --layers is printed, or of the
    top layer.
    """
    _check_method(method, onto=onto, threads=threads, receptive_field=receptive_field or None)
    source = file_path(source, option="IN")
    rows: dict[str, Any] = {
        "layers": positions(layers, option="--layers", lowest=1),
        "queries": positions(queries, option="--queries", lowest=0),
    }
    excluded = positions(without, option="--without", lowest=0) or ()
    residual = _RESIDUAL[method] if residual is None else residual
    if out is not None:
        out = output_path(out, option="--out", source=source)

    attention = _read(source)
    edges: dict[str, Any] = {
        "heads": heads,
        "residual": below_one(residual, option="--residual"),
        "discard_ratio": below_one(discard_ratio, option="--discard-ratio"),
        "without": excluded,
    }
    graph = _graph(attention, head, edges)
    composed: dict[str, Any] = {"onto": onto or 0, "receptive_field": receptive_field}
    if method == "flow":
        with progress_bar("attention flow") as progress:
            result = flow(graph, **rows, **composed, threads=threads, progress=progress)
    else:
        result = raw(graph, **rows) if method == "raw" else rollout(graph, **rows, **composed)
    if normalized:
        result = result.normalized()

    if out is not None:
        result.save(out)
    if as_json:
        typer.echo(_json(result))
    elif out is not None:
        typer.echo(_summary(result, out))
    else:
        typer.echo(_tables(result, every_layer=layers is not None))
    if without is None:
        print_sinks_note(attention, remedy="--without")


def _check_method(method: Method, **given: object) -> None:
    """Reject options that have no meaning with the method."""
    for name, value in given.items():
        if value is not None and (method == "raw" or (name == "threads" and method != "flow")):
            option = f"--{name.replace('_', '-')}"
            raise wrong(option, f"has no meaning with --method {method}")


def _read(path: Path) -> Attention | EncoderDecoderAttention:
    # Only an encoder-decoder has cross-attention.
    found = storage.read(path, required=(), optional=("cross",))
    return EncoderDecoderAttention.load(path) if found else Attention.load(path)


def _graph(
    attention: Attention | EncoderDecoderAttention, head: int | None, settings: dict[str, Any]
) -> AttentionGraph:
    if isinstance(attention, Attention):
        return attention.graph(head=head, **settings)
    if head is not None:
        raise InputError(
            f"--head {head} is not supported for an encoder-decoder, which has three kinds of "
            "layers with different heads. Leave it out"
        )
    return attention.graph(**settings)


def _json(result: TokenAttention) -> str:
    if not (finite := np.isfinite(result.scores)).all():
        layer, query, _ = np.unravel_index(np.argmin(finite), finite.shape)
        raise InputError(
            f"layer {result.layers[layer]}, query {result.queries[query]} has an infinite score, "
            "since it does not attend in this layer, and JSON has no infinity. Choose other "
            "--layers and --queries, or use --out"
        )
    return json.dumps(
        {
            "method": result.method,
            "settings": dict(result.settings),
            "layers": result.layers,
            "queries": result.queries,
            "tokens": result.tokens,
            "saturated": result.saturated,
            "flat": result.flat.tolist(),
            "scores": result.scores.tolist(),
        },
        allow_nan=False,
    )


def _summary(result: TokenAttention, out: Path) -> str:
    n_layers, n_queries, n_tokens = result.scores.shape
    wrote = (
        f"wrote {out}: {result.method}, {n_layers} layers, {n_queries} queries, {n_tokens} tokens"
    )
    return "\n".join(filter(None, [wrote, flow_note(result)]))


def _tables(result: TokenAttention, *, every_layer: bool) -> str:
    # Only a terminal has an edge: a file or another program gets everything.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    layers = result.layers if every_layer else result.layers[-1:]
    blocks = [table(result, layer, width=width) for layer in layers]
    return "\n\n".join(filter(None, [*blocks, flow_note(result)])) + "\n"
