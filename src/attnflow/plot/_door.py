"""The door of this package: matplotlib, or an error that says what to install."""

from __future__ import annotations

import importlib.util

from attnflow.errors import MissingDependencyError


def require_matplotlib() -> None:
    """Say what to install where matplotlib is missing; nothing is loaded."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError(
            'pictures need matplotlib, which is not installed; run pip install "attnflow[plot]"'
        )
