"""Training the verb-number model: seeded, a checkpoint every epoch, resumed as if never stopped.

Every epoch draws its sentences, its changes and its dropout from a seed of its own, made of the
run's seed and the epoch's number. So weights and the optimizer's moments are all there is to save
between epochs, and a run that was killed and resumed ends with the same weights as one that was not
(on the same machine, with as many threads).
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnflow._internal.optional import require
from attnflow.errors import InputError
from attnflow.paper._card import card
from attnflow.paper._checkpoint import read_checkpoint, read_facts, write_checkpoint
from attnflow.paper._figures import Figures, figures
from attnflow.paper._files import (
    CARD,
    CHECKPOINT,
    WEIGHTS,
    check_folder,
    remove_drafts,
    replace_file,
)
from attnflow.paper._interrupts import held_interrupts
from attnflow.paper._load import load, save_model
from attnflow.paper._material import Material
from attnflow.paper._measure import accuracy_of_rows
from attnflow.paper._recipe import Recipe, differences

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator

    from attnflow.models import Loaded
    from attnflow.paper._learner import Run
    from attnflow.paper._splits import Splits


@dataclass(frozen=True, slots=True)
class Step:
    """What is told after each step.

    Loss and accuracy are means of the epoch so far, on the sentences as they are trained on:
    changed, with words hidden and with dropout. They are below what the model reaches on sentences.
    """

    epoch: int
    epochs: int
    done: int
    total: int
    loss: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Epoch:
    """What is told about an epoch: its loss in training, then what was measured after it."""

    number: int
    loss: float
    validation: float
    validation_loss: float
    attractors: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run: the model as stored, its figures, and what was told of each epoch."""

    loaded: Loaded
    figures: Figures
    epochs: tuple[Epoch, ...]


def train(
    splits: Splits,
    folder: str | os.PathLike[str],
    *,
    recipe: Recipe | None = None,
    threads: int | None = None,
    progress: Callable[[Step], None] = lambda _: None,
    tell: Callable[[Epoch], None] = lambda _: None,
) -> Trained:
    """Train on `splits`, or go on where `folder` says a run with the same recipe stopped.

    At the end the folder holds the model (model.safetensors in float16, config.json,
    vocabulary.json), its card (README.md), and checkpoint.safetensors, which is only for resuming.

    Parameters
    ----------
    splits
        The data; only its training part is trained on, its validation part is measured.
    folder
        New, empty, or of a run with the same recipe and data. Any other is an InputError, and
        nothing in it is touched.
    recipe
        How; None is the one that the shipped model was trained with.
    threads
        For torch; None leaves its own choice. Another number may change the last bits.
    progress
        Called after each step.
    tell
        Called after each epoch, when its checkpoint is on the disk.

    Notes
    -----
    About 75 seconds of one core an epoch of 25,000 sentences. Ctrl-C saves the run between two
    steps and stops it; whatever else does, the checkpoint of its last whole epoch is there. The
    same call goes on from it, and ends with the same weights.
    """
    require("torch", "transformers", "safetensors", need="models need", extra="models")
    recipe, folder = recipe or Recipe(), Path(folder)
    if not splits.natural or not splits.validation:
        raise InputError(
            f"there are {len(splits.natural)} sentences to train on and {len(splits.validation)} "
            "for validation; more data is wanted"
        )
    path = folder / CHECKPOINT
    data = splits.digest
    facts = read_facts(path) if check_folder(folder) else None
    with _threads(threads) as count:
        if facts is not None:
            _check_facts(path, facts, recipe, data, count)
        material = Material.of(splits)
        run, history = _started(path, facts, material, recipe)
        _make(folder)
        _epochs(run, history, splits, data, path, progress, tell)
        return _finished(folder, run, history, splits)


def _check_facts(
    path: Path, facts: dict[str, Any], recipe: Recipe, data: str, threads: int
) -> None:
    wanted = recipe.plain()
    if facts["recipe"] != wanted:
        raise InputError(
            f"{path} is of a run with other settings: {differences(wanted, facts['recipe'])}. "
            "Choose another folder, or the same settings to go on"
        )
    if facts["data"] != data:
        raise InputError(
            f"{path} is of a run with other data. Choose another folder, or the same data to go on"
        )
    if facts["threads"] != threads:
        raise InputError(
            f"{path} is of a run with {facts['threads']} threads, and {threads} came, which may "
            f"change the last bits. Choose another folder, or threads={facts['threads']} to go on"
        )


def _started(
    path: Path, facts: dict[str, Any] | None, material: Material, recipe: Recipe
) -> tuple[Run, list[Epoch]]:
    """A run before its first step, or as a checkpoint left it."""
    from attnflow.paper._learner import Begun, fresh  # noqa: PLC0415 - it loads torch

    run = fresh(material, recipe)
    if facts is None:
        return run, []
    run.random = read_checkpoint(path, run.learner, run.mean, run.optimizer)
    run.step, run.begun = facts["step"], Begun(**facts["begun"])
    return run, [Epoch(**told) for told in facts["history"]]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_drafts(folder)
    except OSError as reason:
        raise InputError(f"{folder} cannot be written to: {reason.strerror}") from reason


def _epochs(
    run: Run,
    history: list[Epoch],
    splits: Splits,
    data: str,
    path: Path,
    progress: Callable[[Step], None],
    tell: Callable[[Epoch], None],
) -> None:
    """Run the epochs that are not in `history` yet, and add them to it."""
    import torch

    from attnflow.paper._learner import (  # noqa: PLC0415 - it loads torch
        InterruptedBetweenStepsError,
        run_epoch,
    )

    recipe, words = run.recipe, run.material.vocabulary
    natural, hard = splits.validation, splits.attractor_validation
    natural_rows, hard_rows = ([words.encode(p.words) for p in part] for part in (natural, hard))
    known = {"recipe": recipe.plain(), "data": data, "threads": torch.get_num_threads()}

    def save() -> None:
        far = {"epoch": len(history), "step": run.step, "begun": asdict(run.begun)}
        facts = known | far | {"history": [asdict(epoch) for epoch in history]}
        write_checkpoint(path, run.learner, run.mean, run.optimizer, run.random, facts)

    for number in range(len(history), recipe.epochs):
        began = time.monotonic() - run.begun.seconds
        told = _told(progress, number + 1, recipe.epochs)
        try:
            with held_interrupts() as interrupted:
                loss = run_epoch(run, number, told, interrupted)
        except InterruptedBetweenStepsError:
            run.begun = replace(run.begun, seconds=time.monotonic() - began)
            save()
            raise
        found = accuracy_of_rows(run.mean.model, natural_rows, natural)
        epoch = Epoch(
            number + 1,
            loss,
            found.distinct,
            found.loss,
            accuracy_of_rows(run.mean.model, hard_rows, hard).distinct if hard else None,
            time.monotonic() - began,
        )
        history.append(epoch)
        save()
        tell(epoch)


def _told(
    progress: Callable[[Step], None], number: int, epochs: int
) -> Callable[[int, int, float, float], None]:
    def told(done: int, total: int, loss: float, accuracy: float) -> None:
        progress(Step(number, epochs, done, total, loss, accuracy))

    return told


def _finished(folder: Path, run: Run, history: list[Epoch], splits: Splits) -> Trained:
    """Write the model, measure it as it is stored, and write its card."""
    import torch

    material = run.material
    save_model(folder, run.mean.model, material.vocabulary)
    loaded = load(folder)
    found = figures(loaded, splits, material.nouns)
    text = card(
        found,
        splits,
        run.recipe,
        history,
        words=len(material.vocabulary),
        size=(folder / WEIGHTS).stat().st_size,
        computed=f"threads: {torch.get_num_threads()}, torch {torch.__version__}",
    )
    replace_file(folder / CARD, text.encode())
    return Trained(loaded, found, tuple(history))


@contextmanager
def _threads(count: int | None) -> Generator[int]:
    """So many threads for torch, and afterwards as many as before; how many there are is given."""
    import torch

    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
