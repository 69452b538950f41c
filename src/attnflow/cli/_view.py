"""`attnflow view`: a text or a file in, one interactive page out."""

import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import typer

from attnflow import models
from attnflow._internal import storage
from attnflow._internal.display import label_names
from attnflow._internal.sinks import describe_sinks, sinks_to_remove
from attnflow.cli import _model_options as options
from attnflow.cli._loading import (
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
    print_unknown_note,
)
from attnflow.cli._options import check_file, names, number_or_name, wrong
from attnflow.cli._progress import progress_bar
from attnflow.cli._texts import one_text
from attnflow.edges import EDGES, BlockLayout, Edges, edge_graph
from attnflow.errors import UnsupportedModelError
from attnflow.evaluate import Explanation, explain, unknown_words
from attnflow.models.inputs import checked_model, prepare
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention
from attnflow.view import to_html

_Edges: TypeAlias = Attention | EncoderDecoderAttention | AttentionGraph
_Seen: TypeAlias = Explanation | Mapping[str, _Edges] | _Edges | TokenAttention

_ARRAYS = (".npz", ".safetensors")
_PAGES = (".html", ".htm")
# Arrays that identify the type in a file; a file without them is read as attention.
_KINDS: dict[str, type[EncoderDecoderAttention | AttentionGraph | TokenAttention]] = {
    "cross": EncoderDecoderAttention,
    "layer_1": AttentionGraph,
    "saturated": TokenAttention,
}


def view(
    shown: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|FILE",
            help="The text, or - to read it from standard input; or a file of attention, a graph "
            "or scores, whose name ends in .npz or .safetensors.",
        ),
    ] = None,
    *,
    out: Annotated[
        Path,
        typer.Option(metavar="PAGE", help="File to write, .html; an existing one is replaced."),
    ],
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    file: options.TextFile = None,
    model: options.Model = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Heading of the page.")] = None,
    layer: Annotated[
        int | None,
        typer.Option(min=1, metavar="L", help="Layer that is seen first.  [default: last]"),
    ] = None,
    query: Annotated[int | None, options.query_option("is seen first")] = None,
    heads: Annotated[
        Literal["all", "mean"] | None,
        typer.Option(
            help="Put every head into the page, or only their mean.  [default: every head if they "
            "take less than 8 MB]"
        ),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help=f"What the edges of the graph weigh: {', '.join(EDGES)}; of several, separated by "
            "commas, the page shows the first and switches between them.  [default: attention]",
        ),
    ] = None,
    layout: options.Layout = None,
    sinks: options.Sinks = "remove",
    receptive_field: Annotated[
        bool | None,
        typer.Option(
            "--receptive-field/--no-receptive-field",
            help="Open with rollout and flow of a decoder divided by those of uniform causal "
            "attention; the page has a switch.  [default: yes for the attention of a decoder]",
        ),
    ] = None,
    target: options.Target = None,
    against: options.Against = None,
    position: options.Position = None,
    replace: options.Replace = None,
    truncate: options.Truncate = False,
    batch_size: options.BatchSize = None,
    threads: options.Threads = None,
    allow_pickle: options.AllowPickle = False,
    remote_code: options.RemoteCode = False,
    device: options.Device = None,
) -> None:
    """Write one interactive page: raw attention, rollout and flow, layer by layer.

    For a text and a model with a prediction head, the page also shows the prediction and the
    importance of each token. The page needs no other file and no network.
    """
    if (shown is None) == (file is None):
        raise wrong("TEXT|FILE", "expected one of TEXT, FILE, - for standard input, and --file")
    if out.suffix.lower() not in _PAGES:
        raise wrong("--out", f"expected a name that ends in .html, got {str(out)!r}")
    check_file(out, option="--out", source=file)
    weights = _edges(edges)
    load_settings = {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device}
    predicted: dict[str, Any] = {
        "target": number_or_name(target),
        "against": number_or_name(against),
        "position": position,
        "replace": number_or_name(replace),
    }
    passes: dict[str, Any] = {"truncate": truncate, "batch_size": batch_size}
    arrays = _arrays_file(shown)
    if arrays is not None:
        unused = {"model": model, "edges": edges, "layout": layout}
        _check_unused(arrays, {**unused, **predicted, **passes, **load_settings})
        seen: _Seen = _read(arrays)
    else:
        passes["layout"] = read_layout(layout, weights)
        passes |= {"layer": layer, "query": query, "threads": threads}
        seen = _explained(one_text(shown, file), model, weights, load_settings, predicted, passes)
    settings: Any = {"layer": layer, "query": query, "title": title, "threads": threads}
    settings |= {"sinks": sinks, "receptive_field": receptive_field}
    with progress_bar("attention flow") as progress:
        page = to_html(seen, heads=heads, progress=progress, **settings)
    with storage.atomic_file(out) as draft:
        _ = draft.write_text(page, encoding="utf-8")
    size = len(page.encode())
    shown_size = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    typer.echo(f"wrote {out}: {shown_size}, {_summary(seen)}")
    if sinks == "remove":
        _print_sinks(seen)
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        print_note("no browser was found; open the page by hand")


def _print_sinks(seen: _Seen) -> None:
    """Print one line about the attention sinks that the page opens without, if there are any."""
    graphs = seen.graphs if isinstance(seen, Explanation) else seen
    several = graphs if isinstance(graphs, Mapping) else {"attention": graphs}
    name, shown = next(iter(several.items()))
    if not isinstance(shown, Attention | EncoderDecoderAttention):
        return
    if without := sinks_to_remove(shown.sinks, shown.n_tokens):
        edges = f"edges {name}: " if len(several) > 1 else ""
        them = "it" if len(without) == 1 else "them"
        print_note(
            f"{edges}{describe_sinks(shown.sinks, shown.tokens)}; the page opens without {them}, "
            f"and has a switch that puts {them} back; with --sinks keep it opens with {them}"
        )


def _edges(text: str | None) -> tuple[Edges, ...]:
    given = names("attention" if text is None else text, option="--edges")
    if unknown := [name for name in given if name not in EDGES]:
        raise wrong("--edges", f"expected names of {', '.join(EDGES)}, got {unknown[0]!r}")
    return cast("tuple[Edges, ...]", given)


def _check_unused(arrays: Path, options: dict[str, Any]) -> None:
    """Reject options about a model if a file of arrays was passed."""
    for name, value in options.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            raise wrong(
                option,
                f"has no meaning with the computed arrays of {arrays}. Pass a text to run a model",
            )


def _explained(
    text: str,
    model: str | None,
    edges: tuple[Edges, ...],
    load_settings: dict[str, Any],
    predicted: dict[str, Any],
    passes: dict[str, Any],
) -> Explanation | Mapping[str, _Edges]:
    """Return an explanation; if the model has no prediction, its edge weights, with a note."""
    with (
        loading("explaining", model) as progress,
        explain_memory_errors("a shorter text"),
        explain_missing_head(),
    ):
        loaded = loaded_model(model, load_settings)
        try:
            explanation = explain(
                loaded.model,
                loaded.tokenizer,
                text,
                edges=edges,
                progress=progress,
                **predicted,
                **passes,
            )
        except UnsupportedModelError as reason:
            if any(value is not None for value in predicted.values()):
                given = ", ".join(f"--{name}" for name, at in predicted.items() if at is not None)
                raise UnsupportedModelError(
                    f"this model makes no prediction; leave out {given} to view its attention. "
                    f"{reason}"
                ) from reason
            graphs = _graphs(loaded, text, edges, passes["layout"], truncate=passes["truncate"])
            print_note(f"the page shows only {', '.join(graphs)}, without a prediction: {reason}")
            print_edges_note(graphs)
            return graphs
    print_edges_note(explanation.graphs)
    print_gradient_note(explanation)
    print_unknown_note(explanation, unknown_words(explanation, loaded.tokenizer))
    return explanation


def _graphs(
    loaded: models.Loaded,
    text: str,
    edges: tuple[Edges, ...],
    layout: BlockLayout | None,
    *,
    truncate: bool,
) -> dict[str, _Edges]:
    """Return the attention or graph of each of the edge weights, without a prediction."""
    model, tokenizer = loaded.model, loaded.tokenizer
    inputs: Any = prepare(checked_model(model), tokenizer, text, truncate=truncate)
    return {
        name: models.attend(model, tokenizer, inputs)
        if name == "attention"
        else edge_graph(model, tokenizer, inputs, name, layout=layout)
        for name in edges
    }


def _arrays_file(shown: str | None) -> Path | None:
    """Return the file of arrays, or None for a text; the name of another file is an error."""
    if shown is None or shown == "-":
        return None
    path = Path(shown)
    if path.suffix.lower() in _ARRAYS:
        return path
    try:
        exists = path.is_file()
    except OSError:  # longer than any file name
        exists = False
    if exists:
        raise wrong(
            "TEXT|FILE",
            f"expected a text, or a file whose name ends in {' or '.join(_ARRAYS)}, got the file "
            f"{shown!r}. Pass --file to read its text; if this is the text, pass it on standard "
            "input, as -",
        )
    return None


def _read(path: Path) -> Attention | EncoderDecoderAttention | AttentionGraph | TokenAttention:
    found = storage.read(path, required=(), optional=tuple(_KINDS))
    kinds = [kind for name, kind in _KINDS.items() if name in found]
    return kinds[0].load(path) if kinds else Attention.load(path)


def _summary(seen: _Seen) -> str:
    if isinstance(seen, Explanation):
        names = label_names(seen.prediction.probabilities)
        return f"{names[seen.prediction.label]}, {_summary(seen.attention)}"
    if isinstance(seen, TokenAttention):
        layers, _, tokens = seen.scores.shape
        return f"{seen.method}, {layers} layers, {tokens} tokens"
    if isinstance(seen, Mapping):
        return _summary(next(iter(seen.values())))
    return f"{seen.n_layers} layers, {len(seen.tokens)} tokens"
