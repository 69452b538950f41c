"""The door of this package: matplotlib, or an error that says what to install."""

from attnflow._internal import optional


def require_matplotlib() -> None:
    """Say what to install where matplotlib is missing; nothing is loaded."""
    optional.require("matplotlib", need="pictures need", extra="plot")
