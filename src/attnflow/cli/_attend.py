"""`attnflow attend`: a model and a text in, a file of attention out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow import models
from attnflow._internal.display import first_names
from attnflow.cli._loading import explain_memory_errors, loaded_model, loading
from attnflow.cli._model_options import (
    AllowPickle,
    Device,
    Json,
    RemoteCode,
    Text,
    TextFile,
    Truncate,
)
from attnflow.cli._notes import print_note, print_sinks_note
from attnflow.cli._options import output_folder, output_path, wrong
from attnflow.cli._texts import encodable, lines, one_text
from attnflow.errors import InputError
from attnflow.types import Attention, EncoderDecoderAttention

_AnyAttention: TypeAlias = Attention | EncoderDecoderAttention

# Advice if memory runs out.
_REMEDY = "--heads mean, a shorter text or a smaller --batch-size"
_BATCH_SIZE = 8  # chosen: the attention of 8 texts of 128 tokens takes 75 MB at BERT-base size


def attend(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Folder of a Hugging Face model, a GGUF file, or the id of a model on the hub.",
        ),
    ],
    text: Text = None,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="OUT",
            help="File to write, .npz or .safetensors; an existing one is replaced. With "
            "--batch-file a new or empty folder, for files numbered as the lines: 00001.npz, ….",
        ),
    ],
    file: TextFile = None,
    batch_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read many texts, one a line.")
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Lines to run at a time, padded to one length.  [default: {_BATCH_SIZE}]",
        ),
    ] = None,
    file_format: Annotated[
        Literal["npz", "safetensors"] | None,
        typer.Option("--format", help="Format of the numbered files.  [default: npz]"),
    ] = None,
    heads: Annotated[
        Literal["all", "mean"],
        typer.Option(help="Keep every head, or their mean only, in a fraction of the memory."),
    ] = "all",
    truncate: Truncate = False,
    generate: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Generate up to N tokens first, and include them."),
    ] = None,
    text_target: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the decoder of an encoder-decoder reads.  [default: its start token alone]",
        ),
    ] = None,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Write the attention of a model for a text, for `attnflow compute`.

    The text is TEXT, or the standard input (-), or --file; or many, one a line of --batch-file.
    Files are read as UTF-8.
    """
    if sum(given is not None for given in (text, file, batch_file)) != 1:
        raise wrong("TEXT", "expected one of TEXT, - for standard input, --file and --batch-file")
    for option, value, allowed, reason in (
        ("--batch-size", batch_size, batch_file is not None, "without --batch-file"),
        ("--format", file_format, batch_file is not None, "without --batch-file"),
        (
            "--text-target",
            text_target,
            batch_file is None,
            "with --batch-file: it belongs to one text",
        ),
        ("--text-target", text_target, generate is None, "with --generate, which writes it"),
    ):
        if value is not None and not allowed:
            raise wrong(option, f"has no meaning {reason}")
    attending = _Attending(
        model,
        {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device},
        {"heads": heads, "truncate": truncate, "generate": generate},
        as_json=as_json,
    )
    if batch_file is None:
        attending.one(text, file, out, text_target)
    else:
        attending.many(batch_file, out, batch_size or _BATCH_SIZE, file_format or "npz")


@dataclass(frozen=True, slots=True)
class _Attending:
    """A model, and the settings to load it and to attend."""

    model: str
    load_settings: dict[str, Any]
    settings: dict[str, Any]
    as_json: bool

    def one(self, text: str | None, file: Path | None, out: Path, text_target: str | None) -> None:
        """Write the attention for one text to a file."""
        out = output_path(out, option="--out", source=file)
        if text_target is not None:
            text_target = encodable(text_target, option="--text-target")
        given = one_text(text, file)
        with loading("attention", self.model) as progress, explain_memory_errors(_REMEDY):
            loaded = loaded_model(self.model, self.load_settings)
            progress(0, 1)
            attention = models.attend(
                loaded.model, loaded.tokenizer, given, text_target=text_target, **self.settings
            )
            attention.save(out)
        self._say({"out": str(out), **_described(attention)}, f"wrote {out}: {_summary(attention)}")
        self._note(loaded, attention)

    def many(self, file: Path, out: Path, batch_size: int, suffix: str) -> None:
        """Write the attention for each line of a file to numbered files in a folder."""
        texts = lines(file)
        out = output_folder(out, option="--out", suffix=suffix)
        width = max(5, len(str(len(texts))))
        files: list[dict[str, Any]] = []
        with loading("attention", self.model) as progress, explain_memory_errors(_REMEDY):
            loaded = loaded_model(self.model, self.load_settings)
            for start in range(0, len(texts), batch_size):
                progress(start, len(texts))
                batch = self._attended(loaded, texts[start : start + batch_size], start + 1)
                for number, attention in enumerate(batch, start=start + 1):
                    path = out / f"{number:0{width}}.{suffix}"
                    attention.save(path)
                    files.append({"out": str(path), **_described(attention)})
        first, last = (Path(each["out"]).name for each in (files[0], files[-1]))
        named = f"1 text, {first}" if len(files) == 1 else f"{len(files)} texts, {first} to {last}"
        self._say({"out": str(out), "files": files}, f"wrote {out}: attention for {named}")
        self._note(loaded)

    def _attended(
        self, loaded: models.Loaded, texts: list[str], first: int
    ) -> Iterator[_AnyAttention]:
        """Yield the attention for each text; an error names its line, counted from `first`."""
        try:
            yield from models.attend(loaded.model, loaded.tokenizer, texts, **self.settings)
        except InputError as reason:
            if len(texts) == 1:
                raise InputError(f"line {first}: {reason}") from reason
            # Run them one by one to find the line with the error.
            for number, text in enumerate(texts, start=first):
                yield from self._attended(loaded, [text], number)

    def _say(self, document: dict[str, Any], line: str) -> None:
        if self.as_json:
            line = json.dumps({"model": self.model, **document})
        typer.echo(line)

    def _note(self, loaded: models.Loaded, attention: _AnyAttention | None = None) -> None:
        """Print notes about missing weights and, for a single text, about attention sinks."""
        if loaded.missing:
            shown = first_names(loaded.missing, 1)
            print_note(f"{self.model} lacks weights that attention does not depend on: {shown}")
        print_sinks_note(attention)


def _described(attention: _AnyAttention) -> dict[str, Any]:
    """Return the content of a file without the weights, for JSON."""
    origin = attention.origin
    common = {
        "averaged": attention.averaged,
        "generated": 0 if origin is None else origin.generated,
    }
    if isinstance(attention, Attention):
        return {
            "kind": "attention",
            "layers": attention.n_layers,
            "heads": attention.n_heads,
            "tokens": attention.tokens,
            "causal": attention.causal,
            **common,
        }
    return {
        "kind": "encoder-decoder attention",
        "encoder_layers": len(attention.encoder),
        "decoder_layers": len(attention.decoder),
        "source": attention.source,
        "target": attention.target,
        **common,
    }


def _summary(attention: _AnyAttention) -> str:
    generated = 0 if attention.origin is None else attention.origin.generated
    written = f", {generated} of them generated" if generated else ""
    if isinstance(attention, Attention):
        heads = "the mean of all heads" if attention.averaged else f"{attention.n_heads} heads"
        causal = ", causal" if attention.causal else ""
        return (
            f"attention of {attention.n_layers} layers, {heads}, {attention.n_tokens} tokens"
            f"{written}{causal}"
        )
    return (
        f"attention of {len(attention.encoder)} encoder and {len(attention.decoder)} decoder "
        f"layers, {len(attention.source)} source and {len(attention.target)} target tokens{written}"
    )
