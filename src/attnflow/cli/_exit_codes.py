"""How the program ends: with one line and a code, never with a traceback for what users meet."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from attnflow.errors import AttnflowError

_FAILED = 1
_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_READER_GONE = 141  # 128 + SIGPIPE


@contextmanager
def exit_codes() -> Generator[None]:
    """Turn what may end the program early into its exit code; usage errors are typer's (2)."""
    try:
        yield
    except AttnflowError as error:
        _print_error(str(error))
        raise SystemExit(_FAILED) from error
    except KeyboardInterrupt as interrupt:
        raise SystemExit(_INTERRUPTED) from interrupt
    except BrokenPipeError as error:
        _drop_output()
        raise SystemExit(_READER_GONE) from error
    except OSError as error:
        # Errors about files are the library's and name them; what is left came from a stream.
        if error.filename is not None:
            raise
        _drop_output()
        _print_error(f"the output cannot be written: {error.strerror}")
        raise SystemExit(_FAILED) from error


def _print_error(reason: str) -> None:
    typer.echo(f"error: {' '.join(reason.split())}", err=True)


def _drop_output() -> None:
    """Python flushes stdout once more when it ends; let it flush into nothing."""
    _ = os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
