"""`attnflow explain`: a text in; prediction, token attention and importance out."""

import json
from typing import Annotated, cast

import typer

from attnflow.cli import _model_options as options
from attnflow.cli._explanation_table import explanation_table
from attnflow.cli._loading import (
    SHIPPED,
    explain_memory_errors,
    explain_missing_head,
    loaded_model,
    loading,
    read_layout,
)
from attnflow.cli._notes import (
    print_edges_note,
    print_gradient_note,
    print_note,
    print_removed_sinks_note,
    print_uncompared_note,
    print_unknown_note,
)
from attnflow.cli._options import names, number_or_name, wrong
from attnflow.cli._texts import one_text
from attnflow.edges import EDGES, Edges
from attnflow.evaluate import explain, explanation_document, unknown_words
from attnflow.types import METHODS, Method


def explain_command(
    text: options.Text = None,
    *,
    file: options.TextFile = None,
    model: options.Model = None,
    layer: Annotated[
        int | None, typer.Option(min=1, metavar="L", help="Layer that attends.  [default: last]")
    ] = None,
    query: Annotated[int | None, options.query_option("attends")] = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Methods to compute, separated by commas.")
    ] = ",".join(METHODS),
    edges: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"What the edges of the graph weigh: {', '.join(EDGES)}."
        ),
    ] = "attention",
    layout: options.Layout = None,
    target: options.Target = None,
    against: options.Against = None,
    position: options.Position = None,
    replace: options.Replace = None,
    sinks: options.Sinks = "remove",
    receptive_field: Annotated[
        bool | None,
        typer.Option(
            "--receptive-field/--no-receptive-field",
            help="Divide rollout and flow of a decoder by those of uniform causal attention.  "
            "[default: yes for the attention of a decoder]",
        ),
    ] = None,
    as_json: options.Json = False,
    truncate: options.Truncate = False,
    batch_size: options.BatchSize = None,
    threads: options.Threads = None,
    allow_pickle: options.AllowPickle = False,
    remote_code: options.RemoteCode = False,
    device: options.Device = None,
) -> None:
    """Explain what a model answers to a text.

    Prints the prediction, and for each token raw attention, rollout and flow beside blank-out and
    input gradients, which say what the answer depends on. The verb-number model reads the words
    before a verb and predicts whether the verb is singular or plural.
    """
    if (text is None) == (file is None):
        raise wrong("TEXT", "expected one of TEXT, - for standard input, and --file")
    chosen, weights = _methods(methods), _edges(edges)
    given, described = one_text(text, file), read_layout(layout, [weights])
    load_settings = {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device}
    with (
        loading("explaining", model) as progress,
        explain_memory_errors("a shorter text"),
        explain_missing_head(),
    ):
        loaded = loaded_model(model, load_settings)
        explanation = explain(
            loaded.model,
            loaded.tokenizer,
            given,
            layer=layer,
            query=query,
            methods=chosen,
            edges=weights,
            layout=described,
            target=number_or_name(target),
            against=number_or_name(against),
            position=position,
            replace=number_or_name(replace),
            sinks=sinks,
            receptive_field=receptive_field,
            truncate=truncate,
            batch_size=batch_size,
            threads=threads,
            progress=progress,
        )
    unknown = unknown_words(explanation, loaded.tokenizer)
    if as_json:
        document = explanation_document(explanation, model or SHIPPED, loaded.tokenizer)
        typer.echo(json.dumps(document))
    else:
        explanation_table(explanation, unknown)
    print_unknown_note(explanation, unknown)
    print_removed_sinks_note(explanation)
    print_uncompared_note(explanation)
    print_edges_note(explanation.graphs)
    print_gradient_note(explanation)
    if explanation.saturated:
        print_note(
            f"flow is saturated at layer {explanation.layer}: every score is at its ceiling, "
            "which does not depend on the layers in between; a lower --layer shows more"
        )
    elif explanation.flat:
        print_note(
            f"flow is flat at layer {explanation.layer}: all tokens but the query's own have "
            "nearly the same score, because what leaves its position limits the flow to each of "
            "them alike; rollout shows more, and so does another --query"
        )


def _methods(text: str) -> tuple[Method, ...]:
    given = names(text, option="--methods")
    if unknown := [name for name in given if name not in METHODS]:
        raise wrong("--methods", f"expected names of {', '.join(METHODS)}, got {unknown[0]!r}")
    return cast("tuple[Method, ...]", given)


def _edges(name: str) -> Edges:
    if "," in name:
        raise wrong(
            "--edges",
            f"expected one name, got {name!r}; attnflow view and attnflow evaluate take several",
        )
    if name not in EDGES:
        raise wrong("--edges", f"expected one of {', '.join(EDGES)}, got {name!r}")
    return name
