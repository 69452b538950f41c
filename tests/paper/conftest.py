"""Fixtures for the tests of the paper's experiment: the data folder and small splits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attnflow.paper import DataFile, Splits, generate, load_splits


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the data files; tests that need it are skipped where there is none."""
    given = os.environ.get("ATTNFLOW_DATA")
    folder = Path(given) if given else Path(__file__).parents[2].parent / "shared" / "data"
    if not (folder / "linzen").is_dir():
        pytest.skip(f"no data: {folder} has no linzen/; ATTNFLOW_DATA may name another folder")
    return folder


@pytest.fixture(scope="session")
def data_splits(data: Path) -> Splits:
    return load_splits(data)


def _small(count: int) -> Splits:
    distinct = list({p.words: p for p in generate(4 * count + 400, seed=5)}.values())
    return Splits(
        train=tuple(distinct[:count]),
        validation=tuple(distinct[count : count + 50]),
        test=tuple(distinct[count + 50 : count + 100]),
        files=(DataFile("generated sentences", count),),
    )


@pytest.fixture(scope="session")
def small_splits() -> Callable[[int], Splits]:
    """A function that generates training sentences, and 50 each for validation and test."""
    return _small
