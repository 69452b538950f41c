"""Fine-tuning a sentiment classifier on SST-2: seeded, with checkpoints, resumable."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attnflow._internal.files import PathLike, as_path
from attnflow._internal.optional import require
from attnflow._internal.run_folder import replace_file
from attnflow.errors import InputError
from attnflow.models import load
from attnflow.models.inputs import token_limit
from attnflow.paper.data import Review
from attnflow.paper.runs import (
    CARD,
    CHECKPOINT,
    EpochLog,
    RunState,
    StepLog,
    check_folder,
    digest,
    locked_folder,
    new_optimizer,
    read_checkpoint,
    restore,
    run_epochs,
    run_steps,
    torch_threads,
    write_checkpoint,
)
from attnflow.paper.sentiment._accuracy import sentiment_accuracy
from attnflow.paper.sentiment._card import model_card
from attnflow.paper.sentiment._classifier import load_base, new_classifier, saved_files
from attnflow.paper.sentiment._recipe import SentimentRecipe

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from attnflow.models import Loaded

_State: TypeAlias = "RunState[SentimentRecipe, PreTrainedModel]"
_Encoded: TypeAlias = tuple[list[int], int]  # token ids and label

_BETAS = (0.9, 0.999)  # the defaults of AdamW
_MAX_GRAD_NORM = 1.0  # chosen: a common value for transformers
_MAX_TOKENS = 128  # chosen: the longest sentence of SST-2 has 66 tokens of BERT
_SORTED_BATCHES = 100  # sorted by length together; a batch then has nearly one length
_SAVE_STEPS = 300  # chosen: some minutes


@dataclass(frozen=True, slots=True)
class SentimentResult:
    """The classifier as it is stored, its accuracy on the dev split, and the log of every epoch."""

    loaded: Loaded
    accuracy: float
    epochs: tuple[EpochLog, ...]


def train_sentiment(
    train: Sequence[Review],
    dev: Sequence[Review],
    base: PathLike,
    folder: PathLike,
    *,
    recipe: SentimentRecipe | None = None,
    threads: int | None = None,
    on_step: Callable[[StepLog], None] = lambda _: None,
    on_epoch: Callable[[EpochLog], None] = lambda _: None,
) -> SentimentResult:
    """Fine-tune an encoder as a classifier of sentiment, or resume the same run in `folder`.

    At the end the folder contains the model as Hugging Face stores it (model.safetensors,
    config.json and the files of the tokenizer), its card (README.md), and checkpoint.safetensors,
    which is only for resuming.

    Parameters
    ----------
    train, dev
        The splits of `read_sst2`. The dev split is evaluated after each epoch, and decides nothing.
    base
        Folder or id of an encoder such as BERT, RoBERTa or DistilBERT, with its tokenizer.
    folder
        New, empty, or of a run with the same recipe, data and base model. Another folder, a damaged
        checkpoint or a folder that another run is using is an InputError, and its files are
        unchanged.
    recipe
        The settings; None is `SentimentRecipe()`.
    threads
        For torch; None keeps the current number. Another number may change the last bits.
    on_step
        Called after each optimizer step.
    on_epoch
        Called after each epoch, when its checkpoint is on the disk.

    Notes
    -----
    Every 300 steps, and on Ctrl-C between two steps, a checkpoint is written. The same call resumes
    the run and ends with the same weights (on the same machine, with the same number of threads).
    """
    require("torch", "transformers", "safetensors", need="training needs", extra="models")
    recipe, folder = recipe or SentimentRecipe(), as_path(folder)
    for name, reviews in (("train", train), ("dev", dev)):
        if not reviews or any(review.label is None for review in reviews):
            raise InputError(
                f"{name} must be sentences with labels, got "
                f"{'one without' if reviews else 'none'}. Pass a split of read_sst2"
            )
    loaded = load_base(base)
    tokenizer_files = saved_files(loaded.tokenizer)
    check_folder(folder, {*tokenizer_files, "config.json", "model.safetensors"})
    with torch_threads(threads) as count, locked_folder(folder):
        path = folder / CHECKPOINT
        checkpoint = read_checkpoint(path) if path.exists() else None
        data = digest(_text_digest(train, dev), cast("Any", loaded.model).state_dict())
        if checkpoint is not None:
            checkpoint.check(recipe.to_dict(), data, count, other="base model")
        state = _new_state(loaded, recipe, len(train))
        if checkpoint is not None:
            restore(state, checkpoint)
        encoded = _encode(loaded, train)
        pad_id = loaded.tokenizer.pad_token_id
        run_epochs(
            state,
            lambda interrupted, save: _run_epoch(
                state, recipe, encoded, pad_id, on_step, interrupted, save
            ),
            lambda: (*sentiment_accuracy(state.model, loaded.tokenizer, dev), None),
            lambda: write_checkpoint(path, state, data, count),
            on_epoch,
        )
        for name, content in {**saved_files(state.model), **tokenizer_files}.items():
            replace_file(folder / name, content)
        card = model_card(
            state.model,
            base,
            recipe,
            state.history,
            train=len(train),
            dev=len(dev),
            threads=count,
        )
        replace_file(folder / CARD, card.encode())
        accuracy = state.history[-1].validation_accuracy
        return SentimentResult(load(folder), accuracy, tuple(state.history))


def _text_digest(*splits: Sequence[Review]) -> str:
    return hashlib.sha256(json.dumps(splits).encode()).hexdigest()


def _new_state(loaded: Loaded, recipe: SentimentRecipe, count: int) -> _State:
    model = new_classifier(loaded.model, seed=recipe.seed)
    return RunState(
        recipe=recipe,
        model=model,
        optimizer=new_optimizer(
            model,
            learning_rate=recipe.learning_rate,
            betas=_BETAS,
            weight_decay=recipe.weight_decay,
        ),
        total_steps=recipe.epochs * math.ceil(count / recipe.batch_size),
    )


def _encode(loaded: Loaded, reviews: Sequence[Review]) -> list[_Encoded]:
    texts, labels = zip(*reviews, strict=True)
    most = min(_MAX_TOKENS, token_limit(loaded.model) or _MAX_TOKENS)
    rows = loaded.tokenizer(list(texts), truncation=True, max_length=most)["input_ids"]
    return list(zip(rows, labels, strict=True))


def _run_epoch(
    state: _State,
    recipe: SentimentRecipe,
    encoded: Sequence[_Encoded],
    pad_id: int,
    on_step: Callable[[StepLog], None],
    interrupted: Callable[[], bool],
    save: Callable[[], None],
) -> float:
    """Run the next epoch, or the rest of an interrupted one, and return its mean loss."""
    import torch

    model = cast("Any", state.model).train()
    weights = list(model.parameters())

    def train_step(batch: Sequence[_Encoded]) -> tuple[float, int, int]:
        ids, mask, labels = _tensors(batch, pad_id)
        for group in state.optimizer.param_groups:
            group["lr"] = _learning_rate(state.step, state.total_steps, recipe)
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bf16):
            logits = model(input_ids=ids, attention_mask=mask).logits.float()
        loss = torch.nn.functional.cross_entropy(logits, labels)
        state.optimizer.zero_grad()
        _ = loss.backward()
        _ = torch.nn.utils.clip_grad_norm_(weights, _MAX_GRAD_NORM)
        _ = state.optimizer.step()
        correct = int((logits.detach().argmax(-1) == labels).sum())
        return loss.item(), correct, len(labels)

    rng = random.Random(f"{recipe.seed} {len(state.history)}")  # noqa: S311 (sentences, not secrets)
    batches = _batches(encoded, recipe.batch_size, rng)
    return run_steps(
        state,
        batches,
        len(batches),
        train_step,
        on_step,
        interrupted,
        save=save,
        save_steps=_SAVE_STEPS,
    )


def _batches(
    encoded: Sequence[_Encoded], size: int, rng: random.Random
) -> list[Sequence[_Encoded]]:
    """Return batches of similar length in random order."""
    rows = rng.sample(encoded, len(encoded))
    groups: list[Sequence[_Encoded]] = []
    for start in range(0, len(rows), size * _SORTED_BATCHES):
        groups += _by_length(rows[start : start + size * _SORTED_BATCHES], size)
    rng.shuffle(groups)
    return groups


def _by_length(rows: Sequence[_Encoded], size: int) -> Iterator[Sequence[_Encoded]]:
    ordered = sorted(rows, key=lambda row: len(row[0]))
    return (ordered[start : start + size] for start in range(0, len(ordered), size))


def _tensors(batch: Sequence[_Encoded], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids (row, token), their attention mask, and labels."""
    import torch

    width = max(len(row) for row, _ in batch)
    ids = torch.tensor([row + [pad_id] * (width - len(row)) for row, _ in batch])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row, _ in batch])
    return ids, mask, torch.tensor([label for _, label in batch])


def _learning_rate(step: int, total_steps: int, recipe: SentimentRecipe) -> float:
    """Return the learning rate, which rises and falls linearly."""
    warmup = max(recipe.warmup_ratio * total_steps, 1.0)
    rising, falling = (step + 1) / warmup, (total_steps - step) / max(total_steps - warmup, 1.0)
    return recipe.learning_rate * min(rising, falling, 1.0)
