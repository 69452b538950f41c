"""Packages that not everybody has: asked for before any work, and named where they are missing."""

import importlib.util

from attnflow.errors import MissingDependencyError


def require(*packages: str, need: str, extra: str) -> None:
    """Say what to install where one of `packages` is missing; nothing is loaded.

    `need` begins the sentence, and `extra` of attnflow brings them.

    >>> require("nowhere", need="dreams need", extra="sleep")
    Traceback (most recent call last):
    attnflow.errors.MissingDependencyError: dreams need nowhere, which is not installed; run pip
    install "attnflow[sleep]"
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f'{need} {package}, which is not installed; run pip install "attnflow[{extra}]"'
            )
