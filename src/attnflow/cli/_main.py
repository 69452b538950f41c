"""The entry point of the installed command."""

import io
import sys

from attnflow.cli._app import app


def main() -> None:
    """Run the command line on the arguments of this process, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        # A token that the terminal's encoding lacks is spelled out instead of ending the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="attnflow")
