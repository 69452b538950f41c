"""`attnflow attend`: a model and a text in, a file of attention out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from attnflow.cli._attending import Attending
from attnflow.cli._exit_codes import exit_codes
from attnflow.cli._model_options import AllowPickle, Device, RemoteCode, Truncate
from attnflow.cli._options import wrong

_BATCH_SIZE = 8  # chosen: the attention of 8 texts of 128 tokens takes 75 MB at BERT-base size


@exit_codes()
def attend(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Folder of a Hugging Face model, or the id of one on the hub."
        ),
    ],
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The text, or - to read it from standard input."),
    ] = None,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="OUT",
            help="File to write, .npz or .safetensors; an existing one is replaced. With "
            "--batch-file a new or empty folder, for files numbered as the lines: 00001.npz, ….",
        ),
    ],
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the text from this file.")
    ] = None,
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
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the decoder of an encoder-decoder reads.  [default: its start token alone]",
        ),
    ] = None,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as one JSON document.")
    ] = False,
) -> None:
    """Write the attention of a model for a text, for `attnflow compute`.

    The text is TEXT, or the standard input (-), or --file; or many, one a line of --batch-file.
    Files are read as UTF-8. Needs the packages of `pip install "attnflow[models]"`.
    """
    if sum(given is not None for given in (text, file, batch_file)) != 1:
        raise wrong("TEXT", "expected one of TEXT, - for standard input, --file and --batch-file")
    for option, value, allowed, reason in (
        ("--batch-size", batch_size, batch_file is not None, "without --batch-file"),
        ("--format", file_format, batch_file is not None, "without --batch-file"),
        ("--target", target, batch_file is None, "with --batch-file: it belongs to one text"),
        ("--target", target, generate is None, "with --generate, which writes the target"),
    ):
        if value is not None and not allowed:
            raise wrong(option, f"has no meaning {reason}")
    attending = Attending(
        model,
        {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device},
        {"heads": heads, "truncate": truncate, "generate": generate},
        as_json=as_json,
    )
    if batch_file is None:
        attending.one(text, file, out, target=target)
    else:
        attending.many(batch_file, out, batch_size or _BATCH_SIZE, file_format or "npz")
