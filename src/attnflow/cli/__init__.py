"""The command `attnflow`: parse, call the library, print."""

from attnflow.cli._main import main

__all__ = ["main"]
