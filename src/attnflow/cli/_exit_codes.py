"""Exit codes: expected errors end the program with one line and a code, without a traceback."""

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
    """Exit with the code of an exception; typer has code 2 for usage errors."""
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
        # Without a file name the error is about a stream.
        if error.filename is not None:
            raise
        _drop_output()
        _print_error(f"the output cannot be written: {error.strerror}")
        raise SystemExit(_FAILED) from error


def _print_error(reason: str) -> None:
    typer.echo(f"error: {' '.join(reason.split())}", err=True)


def _drop_output() -> None:
    """Redirect stdout to the null device, since Python flushes it once more at exit."""
    _ = os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
