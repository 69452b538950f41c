"""Options that several commands have, mostly those that run a model."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from attnflow._internal.checks import MAX_THREADS
from attnflow._internal.optional import install_command

Text: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="The text, or - to read it from standard input."),
]
TextFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Read the text from this file.")
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON document.")
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Folder of a Hugging Face model, a GGUF file, or the id of a model on the hub.  "
        "[default: the paper's verb-number model, which comes with attnflow]",
    ),
]
AllowPickle: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", help="Load weights from a pickle, which can run code; off by default."
    ),
]
RemoteCode: TypeAlias = Annotated[
    bool,
    typer.Option("--remote-code", help="Run the code that comes with the model; off by default."),
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="As in torch: cuda, mps, ….  [default: cpu]")
]
Layout: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="JSON file that says where the blocks of the model keep their parts, if its family is "
        "unknown: the fields of attnflow.edges.BlockLayout.",
    ),
]
Truncate: TypeAlias = Annotated[
    bool, typer.Option("--truncate", help="Cut off a text that is too long for the model.")
]
Target: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Target of importance: a class or token, by name or number.  [default: the "
        "model's own]",
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Another answer, for importance of the target against this one."
    ),
]
Position: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="I",
        help="Position of the output to explain, if the model has one at every position.  "
        "[default: that of the mask, or the last]",
    ),
]
Replace: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|ID",
        help="What replaces tokens in blank-out: unk, mask, pad or the id of a token; "
        "attention_mask, so that no position attends to the token; or mean, the mean embedding.  "
        "[default: the model's own blank, else attention_mask for a decoder, else unk]",
    ),
]
Sinks: TypeAlias = Annotated[
    Literal["remove", "keep"],
    typer.Option(help="Take attention sinks out of the scores, or keep them as in the paper."),
]
BatchSize: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Texts with a replaced token to run at a time.  [default: as many as have 4,096 "
        "tokens, fewer for a large model]",
    ),
]
Bf16: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--bf16",
        help="Compute matrix products in bfloat16: faster where the processor supports it.",
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, max=MAX_THREADS, metavar="N", help="Threads for flow.  [default: all cores]"
    ),
]


def needs(*extras: str) -> str:
    """Return the end of the help of a command that needs the packages of some extras."""
    # \b keeps the line breaks, so that the command can be copied.
    return f"\b\nNeeds packages that may have to be installed:\n{install_command(*extras)}"


def query_option(what: str) -> Any:
    """Return the option for a position; `what` describes it in the help."""
    return typer.Option(
        min=0,
        metavar="I",
        help=f"Position that {what}.  [default: the one whose output is read: CLS, the mask, or "
        "the last]",
    )
