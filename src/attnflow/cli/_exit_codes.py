"""How a command ends: with one line and a code, never with a traceback for what users meet."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from attnflow.errors import AttnflowError

_FAILED = 1
_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_READER_GONE = 141  # 128 + SIGPIPE

_Parameters = ParamSpec("_Parameters")


def with_exit_codes(command: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Turn what may end a command early into its exit code; usage errors are typer's (2)."""

    @wraps(command)
    def run(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except AttnflowError as error:
            typer.echo(f"error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(_FAILED) from error
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(_INTERRUPTED) from interrupt
        except BrokenPipeError as error:
            # Python flushes stdout once more when it ends; let it flush into nothing.
            _ = os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(_READER_GONE) from error

    return run
