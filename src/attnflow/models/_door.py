"""The door of this package: torch and transformers, or an error that says what to install."""

from attnflow._internal import optional


def require(*packages: str) -> None:
    """Say what to install where one of `packages` is missing; nothing is loaded."""
    optional.require(*packages, need="models need", extra="models")
