"""The door of this package: torch and transformers, or an error that says what to install."""

from attnflow import dependencies


def require(*packages: str) -> None:
    """Say what to install where one of `packages` is missing; nothing is loaded."""
    dependencies.require(*packages, need="models need", extra="models")
