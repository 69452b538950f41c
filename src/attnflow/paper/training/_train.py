"""Training the verb-number model: seeded, a checkpoint after every epoch, resumable.

A recipe with a teacher is knowledge distillation (Hinton et al., 2015,
https://arxiv.org/abs/1503.02531): the teacher is another verb-number model with the same
vocabulary.

Every epoch seeds its sampling, augmentation and dropout with the seed of the run and the number of
the epoch. Between epochs the state of a run is therefore its weights, their average and the
moments of the optimizer, and a run that was killed and resumed ends with the same weights as an
uninterrupted one (on the same machine, with the same number of threads).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from attnflow._internal.files import PathLike, as_path
from attnflow._internal.run_folder import replace_file
from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.paper.data import Splits
from attnflow.paper.model import (
    CONFIG,
    WEIGHTS,
    WORDS,
    Accuracies,
    accuracies,
    accuracy_of_ids,
    load,
    model_files,
    require_packages,
)
from attnflow.paper.runs import (
    CARD,
    CHECKPOINT,
    EpochLog,
    StepLog,
    check_folder,
    digest,
    locked_folder,
    read_checkpoint,
    restore,
    run_epochs,
    torch_threads,
    write_checkpoint,
)
from attnflow.paper.training._card import model_card
from attnflow.paper.training._dataset import TrainingData
from attnflow.paper.training._recipe import ACCURATE_RECIPE, Recipe
from attnflow.paper.training._state import TrainingState

if TYPE_CHECKING:
    from torch import nn

TEACHER = "teacher"  # the folder of a teacher that was trained for this run


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The model as it is stored, its accuracies, and the log of every epoch."""

    loaded: Loaded
    accuracies: Accuracies
    epochs: tuple[EpochLog, ...]


def train(
    splits: Splits,
    folder: PathLike,
    *,
    recipe: Recipe | None = None,
    teacher: PathLike | Loaded | None = None,
    threads: int | None = None,
    on_step: Callable[[StepLog], None] = lambda _: None,
    on_epoch: Callable[[EpochLog], None] = lambda _: None,
) -> TrainingResult:
    """Train on `splits`, or resume the run with the same recipe in `folder`.

    At the end the folder contains the model (model.safetensors in float16, config.json,
    vocabulary.json), its card (README.md), and checkpoint.safetensors, which is only for resuming.

    Parameters
    ----------
    splits
        The data: trained on the training splits, evaluated on the others.
    folder
        New, empty, or of a run with the same recipe and data. Another folder, a damaged checkpoint
        or a folder that another run is using is an InputError, and its files are unchanged.
    recipe
        The settings; None is `Recipe()`.
    teacher
        The folder of the teacher's model, if the recipe has a teacher, or any loaded model with the
        same vocabulary that returns logits for both numbers; a copy of it teaches, in evaluation
        mode. None trains it first, with `ACCURATE_RECIPE` and the same seed, in the folder
        `teacher` of `folder`.
    threads
        For torch; None keeps the current number. Another number may change the last bits.
    on_step
        Called after each optimizer step.
    on_epoch
        Called after each epoch, when its checkpoint is on the disk.

    Notes
    -----
    An epoch of 48,000 sentences takes about two minutes on one core in bfloat16. Ctrl-C writes a
    checkpoint between two steps and stops; after any other stop there is the checkpoint of the last
    complete epoch. The same call resumes the run and ends with the same weights.
    """
    require_packages()
    recipe, folder = recipe or Recipe(), as_path(folder)
    if not splits.train or not splits.validation:
        raise InputError(
            f"expected sentences for training and validation, got {len(splits.train)} and "
            f"{len(splits.validation)}. Pass more data"
        )
    if teacher is not None and not recipe.teacher_weight:
        raise InputError("teacher must be left out: this recipe has no teacher (teacher_weight 0)")
    check_folder(folder, {WEIGHTS, CONFIG, WORDS}, inner=TEACHER)
    # Before anything is written.
    loaded = teacher if teacher is None or isinstance(teacher, Loaded) else load(teacher)
    with torch_threads(threads) as count, locked_folder(folder):
        if recipe.teacher_weight and loaded is None:
            loaded = train(
                splits,
                folder / TEACHER,
                recipe=replace(ACCURATE_RECIPE, seed=recipe.seed),
                on_step=lambda log: on_step(replace(log, teacher=True)),
                on_epoch=on_epoch,
            ).loaded
        state = _start(folder / CHECKPOINT, splits, recipe, loaded, count)
        _run_epochs(state, folder / CHECKPOINT, splits, count, on_step, on_epoch)
        return _finish(folder, state, splits, count, given_teacher=teacher is not None)


def _start(
    path: Path, splits: Splits, recipe: Recipe, teacher: Loaded | None, threads: int
) -> TrainingState:
    """Return the state before the first step, or that of a checkpoint."""
    from attnflow.paper.training._loop import new_state  # noqa: PLC0415 - imports torch

    # A copy, since training sets its attention and its mode.
    model = None if teacher is None else copy.deepcopy(teacher.model).eval()
    checkpoint = read_checkpoint(path) if path.exists() else None
    if checkpoint is not None:
        checkpoint.check(recipe.to_dict(), _run_digest(splits, model), threads, other="teacher")
    data = TrainingData.from_splits(splits)
    if teacher is not None:
        _check_vocabulary(teacher, data)
    state = new_state(data, recipe, model)
    if checkpoint is not None:
        restore(state, checkpoint)
    return state


def _check_vocabulary(teacher: Loaded, data: TrainingData) -> None:
    words = data.vocabulary.words
    found = teacher.tokenizer.convert_ids_to_tokens(range(len(teacher.tokenizer)))
    for number, (word, other) in enumerate(zip_longest(words, found[: len(words)])):
        if word != other:
            raise InputError(
                f"the teacher has another vocabulary: expected {word!r} as word {number}, got "
                f"{other!r}. Pass a teacher that was trained on the same data"
            )


def _run_epochs(
    state: TrainingState,
    path: Path,
    splits: Splits,
    threads: int,
    on_step: Callable[[StepLog], None],
    on_epoch: Callable[[EpochLog], None],
) -> None:
    """Run the remaining epochs; write a checkpoint after each of them and on Ctrl-C."""
    from attnflow.paper.training._loop import run_epoch  # noqa: PLC0415 - imports torch

    encode, data_digest = state.data.vocabulary.encode, _run_digest(splits, state.teacher)
    natural, attractors = splits.validation, splits.attractor_validation
    natural_ids, attractor_ids = ([encode(p.words) for p in part] for part in (natural, attractors))

    def validate() -> tuple[float, float, float | None]:
        model = state.ema_model.model
        found = accuracy_of_ids(model, natural_ids, natural)
        others = accuracy_of_ids(model, attractor_ids, attractors).distinct if attractors else None
        return found.distinct, found.loss, others

    run_epochs(
        state,
        lambda interrupted, _: run_epoch(state, on_step, interrupted),
        validate,
        lambda: write_checkpoint(path, state, data_digest, threads),
        on_epoch,
    )


def _run_digest(splits: Splits, teacher: nn.Module | None) -> str:
    """Return a hash of what a run is trained on: the splits, and the weights of the teacher."""
    return splits.digest if teacher is None else digest(splits.digest, teacher.state_dict())


def _finish(
    folder: Path, state: TrainingState, splits: Splits, threads: int, *, given_teacher: bool
) -> TrainingResult:
    """Write the model, evaluate it as it is stored, and write its card."""
    import torch

    for name, content in model_files(state.ema_model.model, state.data.vocabulary).items():
        replace_file(folder / name, content)
    loaded = load(folder)
    found = accuracies(loaded, splits, state.data.nouns)
    card = model_card(
        found,
        splits,
        state.recipe,
        state.history,
        vocabulary_size=len(state.data.vocabulary),
        weights_size=(folder / WEIGHTS).stat().st_size,
        environment=f"threads: {threads}, torch {torch.__version__}",
        given_teacher=given_teacher,
    )
    replace_file(folder / CARD, card.encode())
    return TrainingResult(loaded, found, tuple(state.history))
