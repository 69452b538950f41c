"""Options of every command that runs a model."""

from typing import Annotated, TypeAlias

import typer

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
Truncate: TypeAlias = Annotated[
    bool, typer.Option("--truncate", help="Cut off a text that is too long for the model.")
]
