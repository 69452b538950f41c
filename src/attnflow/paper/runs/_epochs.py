"""The epochs and steps of a run: seeding, progress, checkpoints and Ctrl-C."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from attnflow.paper.runs._process import TrainingInterruptedError, deferred_interrupt
from attnflow.paper.runs._progress import EpochLog, EpochProgress, StepLog

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import AdamW

    from attnflow.paper.runs._state import RunState

_Batch = TypeVar("_Batch")


def run_epochs(
    state: RunState[Any, Any],
    run_epoch: Callable[[Callable[[], bool], Callable[[], None]], float],
    validate: Callable[[], tuple[float, float, float | None]],
    save: Callable[[], None],
    on_epoch: Callable[[EpochLog], None],
) -> None:
    """Run the remaining epochs; write a checkpoint after each of them and on Ctrl-C.

    Parameters
    ----------
    state
        The state of the run.
    run_epoch
        Runs the rest of an epoch and returns its mean loss. Called with a function that returns
        whether Ctrl-C was pressed, and one that writes a checkpoint.
    validate
        Returns the accuracy and loss on the validation split, and the accuracy on sentences with
        attractors.
    save
        Writes a checkpoint.
    on_epoch
        Called after each epoch, when its checkpoint is on the disk.
    """
    while len(state.history) < state.recipe.epochs:
        start = time.monotonic() - state.progress.seconds

        def save_within(start: float = start) -> None:
            state.progress = replace(state.progress, seconds=time.monotonic() - start)
            save()

        with deferred_interrupt() as interrupted:
            try:
                loss = run_epoch(interrupted, save_within)
            except TrainingInterruptedError:
                save_within()
                raise
            seconds = time.monotonic() - start
            epoch = EpochLog(len(state.history) + 1, loss, *validate(), seconds)
            state.history.append(epoch)
            save()
            on_epoch(epoch)
            if interrupted():
                raise TrainingInterruptedError


def run_steps(
    state: RunState[Any, Any],
    batches: Iterable[_Batch],
    steps: int,
    train_step: Callable[[_Batch], tuple[float, int, int]],
    on_step: Callable[[StepLog], None],
    interrupted: Callable[[], bool],
    *,
    save: Callable[[], None] | None = None,
    save_steps: int = 1,
) -> float:
    """Run the rest of an epoch of `steps` batches and return its mean loss.

    `train_step` trains on a batch and returns its mean loss, its correct answers and its size. If
    `interrupted` returns True after a step, the state is complete and the epoch ends with a
    TrainingInterruptedError. `save` is called after every `save_steps` steps.
    """
    import torch

    number = len(state.history)
    _ = torch.manual_seed(state.recipe.seed * 1_000_003 + number)  # of dropout and masking
    if state.rng_state is not None:
        torch.set_rng_state(state.rng_state)
    for batch in itertools.islice(batches, state.progress.steps, None):
        state.progress = state.progress.after(*train_step(batch))
        state.step += 1
        on_step(state.progress.log(number + 1, state.recipe.epochs, steps))
        if state.progress.steps == steps:
            break  # the checkpoint of the epoch follows
        state.rng_state = torch.get_rng_state()
        if interrupted():
            raise TrainingInterruptedError
        if save is not None and state.progress.steps % save_steps == 0:
            save()
    loss = state.progress.loss_sum / state.progress.sentences
    state.progress, state.rng_state = EpochProgress(), None
    return loss


def new_optimizer(
    model: nn.Module, *, learning_rate: float, betas: tuple[float, float], weight_decay: float
) -> AdamW:
    """Return AdamW with weight decay of matrices alone, as is usual for transformers."""
    from torch.optim import AdamW

    groups = [
        {"params": [p for p in model.parameters() if (p.ndim > 1) is matrix], "weight_decay": decay}
        for matrix, decay in ((True, weight_decay), (False, 0.0))
    ]
    return AdamW(groups, lr=learning_rate, betas=betas, fused=True)
