"""The entry point of the installed command."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO

from attnflow.cli import _interrupt as interrupt


def main() -> None:
    """Run the command line on the arguments of this process, and exit with its code."""
    interrupt.handle_ctrl_c()
    try:
        with interrupt.exit_if_interrupted():
            _run()
    except interrupt.InterruptedExit:
        interrupt.exit_now()
    finally:
        interrupt.ignore_ctrl_c()


def _run() -> None:
    # These import NumPy and typer, which takes long enough for a Ctrl-C.
    from attnflow.cli._app import app  # noqa: PLC0415
    from attnflow.cli._exit_codes import exit_codes  # noqa: PLC0415

    sys.stdout = _buffered(sys.stdout)
    if sys.stderr is None:
        # Python has no stderr where the shell closed it, and typer then prints errors on stdout.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are escaped and not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with exit_codes():
        app(prog_name="attnflow")


def _buffered(stream: TextIO) -> TextIO:
    """Return the stream with a buffer, also with PYTHONUNBUFFERED.

    The system may write only a part of a long text. Without a buffer the rest is lost silently.
    """
    if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return open(stream.fileno(), "w", encoding=stream.encoding, closefd=False)
    return stream
