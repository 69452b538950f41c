"""The door of this package: torch and transformers, or an error that says what to install."""

from __future__ import annotations

import importlib.util

from attnflow.errors import MissingDependencyError


def require(*packages: str) -> None:
    """Say what to install where one of `packages` is missing; nothing is loaded."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f'models need {package}, which is not installed; run pip install "attnflow[models]"'
            )
