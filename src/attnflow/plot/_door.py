"""The door of this package: matplotlib, or an error that says what to install."""

from attnflow import dependencies


def require_matplotlib() -> None:
    """Say what to install where matplotlib is missing; nothing is loaded."""
    dependencies.require("matplotlib", need="pictures need", extra="plot")
