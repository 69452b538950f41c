"""Real models, loaded once a session; a test whose package is not installed is skipped."""

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Test folders are not packages: what these tests share is imported by its own name.
HERE = Path(__file__).parent
OTHERS = (HERE.parents[1] / "benchmarks", HERE.parent / "edges", HERE.parent / "models")
sys.path[:0] = [str(HERE), *map(str, OTHERS)]


@pytest.fixture(scope="session")
def real() -> Iterator[Callable[[str], tuple[Any, Any]]]:
    """Model and tokenizer by name: `real("minilm")`; see real_models.py."""
    from packages import NotInstalledError
    from real_models import REAL_MODELS

    @functools.cache
    def loaded(name: str) -> tuple[Any, Any]:
        return REAL_MODELS[name].load()

    def load_or_skip(name: str) -> tuple[Any, Any]:
        try:
            return loaded(name)
        except NotInstalledError as error:
            pytest.skip(f"{error}; `make test-real` installs it")

    yield load_or_skip
    loaded.cache_clear()
