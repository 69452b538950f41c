"""A small fine-tuning run, complete, that the tests of the sentiment classifier share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnflow.paper import SentimentRecipe, SentimentResult, read_sst2, train_sentiment

RECIPE = SentimentRecipe(epochs=3, batch_size=4, learning_rate=1e-2)


@pytest.fixture(scope="session")
def small_recipe() -> SentimentRecipe:
    """Three epochs of 24 steps: enough for random weights to learn."""
    return RECIPE


@pytest.fixture(scope="session")
def run(small_sst2: Path, small_base: Path) -> Callable[..., SentimentResult]:
    """A function that fine-tunes the small encoder on the small reviews in a folder."""
    train, dev = read_sst2(small_sst2, "train"), read_sst2(small_sst2, "dev")

    def fine_tune(folder: Path, **changes: Any) -> SentimentResult:
        given = {"train": train, "dev": dev, "base": small_base, "recipe": RECIPE, "threads": 1}
        settings: dict[str, Any] = {**given, **changes}
        return train_sentiment(folder=folder, **settings)

    return fine_tune


@pytest.fixture(scope="session")
def complete(
    run: Callable[..., SentimentResult], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, SentimentResult]:
    """The folder of an uninterrupted run, which is not to be changed, and its result."""
    folder = tmp_path_factory.mktemp("runs") / "complete"
    return folder, run(folder)
