"""Exit codes: expected errors end the program with one line and a code, without a traceback."""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

from attnflow.cli._interrupt import exit_if_interrupted
from attnflow.errors import AttnflowError, InputError

_FAILED = 1
_READER_GONE = 141  # 128 + SIGPIPE


class Command(TyperCommand):
    """A command whose exceptions become exit codes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # Typer passes on pydantic's prefix of any ValueError.
            error.message = error.message.removeprefix("Value error, ")
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command, if its result has a place to go to."""
        with exit_codes():
            # Python has no stdout where the shell closed it.
            if sys.stdout is None and ctx.params.get("out") is None:
                out = ", or pass --out" if "out" in ctx.params else ""
                raise InputError(
                    f"standard output is closed; redirect it to a file or to {os.devnull}{out}"
                )
            try:
                return super().invoke(ctx)
            except AttnflowError as error:
                raise type(error)(self._name_options(str(error))) from error

    def _name_options(self, message: str) -> str:
        """Return a message of the library with options in place of its arguments.

        An argument is the first word, as in "layer must be 1 to 6", a flag: "truncate=True", or has
        a value: "engine='ray'". Arguments of a call, as in "attend(…, heads='all')", are Python.
        """
        for param in self.params:
            if param.param_type_name == "option":
                name, option = param.name, param.opts[0]
                argument = rf"^(line \d+: )?{name}(?= must |: | needs )|\b{name}=True\b"
                message = re.sub(argument, rf"\1{option}", message)
                value = rf"(?<!\()(?<!, )\b{name}=(['\"])([^'\"]*)\1"
                message = re.sub(value, rf"{option} \2", message)
        return message


@contextmanager
def exit_codes() -> Generator[None]:
    """Exit with the code of an exception; typer has code 2 for usage errors."""
    try:
        with exit_if_interrupted():
            yield
    except AttnflowError as error:
        _print_error(str(error))
        raise SystemExit(_FAILED) from error
    except (BrokenPipeError, SystemExit) as error:
        # While it parses, as for --help, typer turns a BrokenPipeError into an exit with code 1.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
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
