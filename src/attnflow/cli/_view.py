"""`attnflow view`: a text or a file in, one interactive page out."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow import models, storage
from attnflow.attention import Attention
from attnflow.cli._exit_codes import exit_codes
from attnflow.cli._loading import loaded_model, loading, naming_options
from attnflow.cli._model_options import AllowPickle, Device, RemoteCode, Truncate
from attnflow.cli._notes import unknown_note
from attnflow.cli._options import check_file, number_or_name, wrong
from attnflow.cli._progress import progress_bar
from attnflow.cli._texts import one_text
from attnflow.encoder_decoder import EncoderDecoderAttention
from attnflow.errors import UnsupportedModelError
from attnflow.explain import Explanation, explain
from attnflow.explanation_document import unknown_words
from attnflow.graph import AttentionGraph
from attnflow.token_attention import TokenAttention
from attnflow.view import to_html

_Attended: TypeAlias = Attention | EncoderDecoderAttention
_Seen: TypeAlias = _Attended | AttentionGraph | TokenAttention | Explanation

_ARRAYS = (".npz", ".safetensors")
_PAGES = (".html", ".htm")
# What gives away what a file holds; one with none of them is read as attention, or refused so.
_KINDS: dict[str, type[EncoderDecoderAttention | AttentionGraph | TokenAttention]] = {
    "cross": EncoderDecoderAttention,
    "layer_1": AttentionGraph,
    "saturated": TokenAttention,
}
# In characters of the page.
_KILO, _MEGA = 1_000, 1_000_000


@exit_codes()
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
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the text from this file.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Folder of a Hugging Face model, or the id of one on the hub.  [default: the "
            "paper's verb-number model, which comes with attnflow]",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Heading of the page.")] = None,
    layer: Annotated[
        int | None,
        typer.Option(min=1, metavar="L", help="Layer that is seen first.  [default: last]"),
    ] = None,
    query: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="I",
            help="Position that is seen first.  [default: the one whose output is read: CLS, the "
            "mask, or the last]",
        ),
    ] = None,
    heads: Annotated[
        Literal["all", "mean"] | None,
        typer.Option(
            help="Put every head into the page, or their mean only.  [default: every head where "
            "they take less than 8 MB]"
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Answer that importance is about: a class or token, by name or number.  "
            "[default: the model's own]",
        ),
    ] = None,
    position: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="I",
            help="Position whose answer is read of a model that answers at every one.  [default: "
            "that of the mask, or the last]",
        ),
    ] = None,
    replace: Annotated[
        str | None,
        typer.Option(
            metavar="unk|mask|pad|ID",
            help="What stands for a token that is blanked out.  [default: unk]",
        ),
    ] = None,
    truncate: Truncate = False,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads for flow.  [default: all cores]")
    ] = None,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
) -> None:
    """Write one interactive page: raw attention, rollout and flow, layer by layer.

    Of a text the page also shows what the model answers and what the answer depends on, where the
    model has a head that answers. The page needs no other file and no network.
    """
    if (shown is None) == (file is None):
        raise wrong("TEXT|FILE", "give one: TEXT, a FILE, - for the standard input, or --file")
    _check_page(out, source=file)
    arrays = _arrays_file(shown)
    about_model = {
        "--model": model,
        "--target": target,
        "--position": position,
        "--replace": replace,
        "--truncate": truncate or None,
        "--allow-pickle": allow_pickle or None,
        "--remote-code": remote_code or None,
        "--device": device,
    }
    if arrays is not None:
        for option, value in about_model.items():
            if value is not None:
                raise wrong(option, f"it has no meaning with a file: {shown} was computed already")
        seen: _Seen = _read(arrays)
    else:
        asking = _Asking(
            one_text(shown, file),
            model,
            {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device},
            importance={
                "target": number_or_name(target),
                "position": position,
                "replace": number_or_name(replace),
            },
            truncate=truncate,
            threads=threads,
        )
        seen = asking.seen(layer, query)
    with progress_bar("attention flow") as progress:
        page = to_html(
            seen,
            layer=layer,
            query=query,
            heads=None if heads is None else heads == "all",
            title=title,
            threads=threads,
            progress=progress,
        )
    with storage.whole_file(out) as draft:
        _ = draft.write_text(page, encoding="utf-8")
    typer.echo(f"wrote {out}: {_size(page)}, {_summary(seen)}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        typer.echo("note: no browser was found; open the page by hand", err=True)


@dataclass(frozen=True, slots=True)
class _Asking:
    """A text and a model, and what is asked about them."""

    text: str
    model: str | None
    load_settings: dict[str, Any]
    importance: dict[str, Any]
    truncate: bool
    threads: int | None

    def seen(self, layer: int | None, query: int | None) -> Explanation | _Attended:
        """All of it where the model answers, else what it attended to, and a note that says so."""
        with loading("explaining", self.model) as progress, naming_options("a shorter text"):
            loaded = loaded_model(self.model, self.load_settings)
            given = {name: value for name, value in self.importance.items() if value is not None}
            try:
                explanation = explain(
                    loaded.model,
                    loaded.tokenizer,
                    self.text,
                    layer=layer,
                    query=query,
                    truncate=self.truncate,
                    threads=self.threads,
                    progress=progress,
                    **given,
                )
            except UnsupportedModelError as reason:
                if given:  # they are about an answer that there is none of
                    raise
                attended = models.attend(
                    loaded.model, loaded.tokenizer, self.text, truncate=self.truncate
                )
                note = f"note: attention alone is shown, without an answer: {reason}"
                typer.echo(note, err=True)
                return attended
        unknown = unknown_words(explanation, loaded.tokenizer).values()
        if note := unknown_note(unknown, replace=given.get("replace", "unk")):
            typer.echo(note, err=True)
        return explanation


def _check_page(out: Path, *, source: Path | None) -> None:
    if out.suffix.lower() not in _PAGES:
        raise wrong("--out", f"got {str(out)!r}; the name must end in .html")
    check_file(out, option="--out", source=source)


def _arrays_file(shown: str | None) -> Path | None:
    """The file of arrays that is meant, and None for a text; a file of text is refused."""
    if shown is None or shown == "-":
        return None
    path = Path(shown)
    if path.suffix.lower() in _ARRAYS:
        return path
    try:
        there = path.is_file()
    except OSError:  # longer than any name of a file
        there = False
    if there:
        raise wrong(
            "TEXT|FILE",
            f"{shown!r} is a file; read its text with --file, or give a text of that name as -",
        )
    return None


def _read(path: Path) -> Attention | EncoderDecoderAttention | AttentionGraph | TokenAttention:
    found = storage.read(path, required=(), optional=tuple(_KINDS))
    kinds = [kind for name, kind in _KINDS.items() if name in found]
    return kinds[0].load(path) if kinds else Attention.load(path)


def _size(page: str) -> str:
    size = len(page.encode())
    return f"{size / _MEGA:.1f} MB" if size >= _MEGA else f"{size / _KILO:.0f} kB"


def _summary(seen: _Seen) -> str:
    if isinstance(seen, Explanation):
        return f"{seen.prediction.label}, {_summary(seen.attention)}"
    if isinstance(seen, TokenAttention):
        layers, _, tokens = seen.scores.shape
        return f"{seen.method}, {layers} layers, {tokens} tokens"
    return f"{seen.n_layers} layers, {len(seen.tokens)} tokens"
