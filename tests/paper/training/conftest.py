"""A small training run, complete and stopped, that the tests of training share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnflow.paper import (
    ACCURATE_RECIPE,
    EpochLog,
    Mix,
    Recipe,
    TrainingResult,
    generated_splits,
    train,
)

RECIPE = replace(ACCURATE_RECIPE, epochs=3, batch_size=32, warmup_steps=5, mix=Mix(generated=20))
SENTENCES = 120


def _train(folder: Path, **settings: Any) -> TrainingResult:
    given: dict[str, Any] = {"recipe": RECIPE, "threads": 1, **settings}
    return train(generated_splits(SENTENCES), folder, **given)


def _interrupt(_: EpochLog) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def small_recipe() -> Recipe:
    return RECIPE


@pytest.fixture(scope="session")
def run() -> Callable[..., TrainingResult]:
    """A function that trains with `small_recipe` in a folder."""
    return _train


@pytest.fixture(scope="session")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "complete"
    _ = _train(folder)
    return folder


@pytest.fixture(scope="session")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was stopped after its first epoch; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    with pytest.raises(KeyboardInterrupt):
        _ = _train(folder, on_epoch=_interrupt)
    return folder


@pytest.fixture(scope="session")
def train_process() -> Callable[[str], str]:
    """A function that returns a program that trains as `run` does, with code after epoch 1."""

    def program(event: str) -> str:
        return f"""
import os, resource, signal, sys
from pathlib import Path
from attnflow.paper import *

def on_epoch(log):
    if log.epoch == 1:
        {event}

splits = generated_splits({SENTENCES})
train(splits, sys.argv[1], recipe={RECIPE!r}, threads=1, on_epoch=on_epoch)
"""

    return program
