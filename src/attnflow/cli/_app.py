"""The program, its options and its commands."""

from typing import Annotated

import typer

from attnflow._internal.version import __version__
from attnflow.cli._attend import attend
from attnflow.cli._compute import compute
from attnflow.cli._evaluate import evaluate_command
from attnflow.cli._exit_codes import Command
from attnflow.cli._explain import explain_command
from attnflow.cli._generate import generate
from attnflow.cli._model_options import needs
from attnflow.cli._reproduce import app as reproduce_app
from attnflow.cli._serve import serve_command
from attnflow.cli._train import app as train_app
from attnflow.cli._view import view

_HELP = """How much each position of a transformer takes from each input token.

Attention rollout and attention flow (Abnar & Zuidema, 2020).

Exit codes: 0 done, 1 an error (one line on stderr), 2 wrong usage, 130 interrupted, 141 the reader
of the output went away.
"""

# Plain help and plain errors: they fit any terminal, and a token such as [CLS] is not markup.
app = typer.Typer(
    name="attnflow",
    help=_HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


_ = app.command(cls=Command)(compute)
_ = app.command(cls=Command, epilog=needs("models"))(attend)
_ = app.command(cls=Command)(generate)
_ = app.command("explain", cls=Command, epilog=needs("models"))(explain_command)
_ = app.command("evaluate", cls=Command, epilog=needs("models", "parquet"))(evaluate_command)
_ = app.command(cls=Command, epilog=needs("models"))(view)
_ = app.command("serve", cls=Command, epilog=needs("models", "serve"))(serve_command)
app.add_typer(reproduce_app)
app.add_typer(train_app)


def _print_version(requested: bool) -> None:  # noqa: FBT001 - typer calls it
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Take the options before the command."""
