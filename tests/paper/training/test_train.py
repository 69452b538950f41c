"""Training: what a run writes, and that a stopped and resumed run equals an uninterrupted one."""

import math
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from attnflow import InputError, paper
from attnflow.paper import (
    ACCURATE_RECIPE,
    Augmentation,
    EpochLog,
    Mix,
    Recipe,
    Splits,
    StepLog,
    generated_splits,
    train,
)
from attnflow.paper.runs import read_checkpoint
from attnflow.paper.runs._process import deferred_interrupt

Run = Callable[..., paper.TrainingResult]
CHECKPOINT = "checkpoint.safetensors"
FILES = ["README.md", CHECKPOINT, "config.json", "model.safetensors", "vocabulary.json"]


def _in_a_process(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _assert_same_run(one: Path, other: Path) -> None:
    assert sorted(_contents(one)) == sorted(_contents(other)) == FILES
    for name in ("model.safetensors", "config.json", "vocabulary.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    tensors, others = (load_file(folder / CHECKPOINT) for folder in (one, other))
    assert tensors.keys() == others.keys() != set()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)


# ---- results --------------------------------------------------------------------------------


def test_training_on_200_generated_sentences_overfits(
    small_splits: Callable[[int], Splits], tmp_path: Path
) -> None:
    off = (
        "weight_decay",
        "label_smoothing",
        "resid_dropout",
        "embd_dropout",
        "mask_prob",
        "mlm_weight",
    )
    regularization: dict[str, Any] = dict.fromkeys(off, 0.0)
    recipe = replace(
        ACCURATE_RECIPE, epochs=15, batch_size=20, warmup_steps=20, ema_decay=0.9,
        mix=Mix(generated=0), augmentation=Augmentation(0, 0, 0, 0, 0), **regularization,
    )  # fmt: skip
    splits = small_splits(200)
    result = train(splits, tmp_path / "run", recipe=recipe, threads=1)
    found = paper.accuracy(result.loaded.model, result.loaded.tokenizer, splits.train)
    assert found.count == 200
    assert found.distinct >= 0.99
    assert result.epochs[0].loss > 5 * result.epochs[-1].loss


def test_a_run_writes_its_model_its_card_and_its_checkpoint(complete: Path) -> None:
    assert sorted(_contents(complete)) == FILES
    tensors = load_file(complete / "model.safetensors")
    assert {str(tensor.dtype) for tensor in tensors.values()} == {"torch.float16"}


def test_the_logs_are_those_of_the_checkpoint(run: Run, tmp_path: Path) -> None:
    steps: list[StepLog] = []
    epochs: list[EpochLog] = []
    result = run(tmp_path / "run", on_step=steps.append, on_epoch=epochs.append)
    assert [log.epoch for log in epochs] == [1, 2, 3]
    assert result.epochs == tuple(epochs)
    assert read_checkpoint(tmp_path / "run" / CHECKPOINT).history == epochs
    assert [log.step for log in steps if log.epoch == 2] == list(range(1, steps[-1].steps + 1))
    last = [log for log in steps if log.step == log.steps]
    assert [log.loss for log in last] == pytest.approx([log.loss for log in epochs])
    assert all(0 <= log.accuracy <= 1 for log in steps)


def test_another_seed_gives_other_weights(
    run: Run, small_recipe: Recipe, complete: Path, tmp_path: Path
) -> None:
    _ = run(tmp_path / "run", recipe=replace(small_recipe, seed=1))
    weights = "model.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() != (complete / weights).read_bytes()


# ---- stopped and resumed --------------------------------------------------------------------


def test_killed_and_resumed_equals_uninterrupted(
    run: Run, train_process: Callable[[str], str], complete: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    result = _in_a_process(train_process("os.kill(os.getpid(), signal.SIGKILL)"), folder)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert set(_contents(folder)) - {".lock"} == {CHECKPOINT}
    # The remains of a kill while a file is written; the next run removes them.
    _ = (folder / f".{CHECKPOINT}.{'0' * 32}.part").write_bytes(b"half")
    epochs: list[int] = []
    _ = run(folder, on_epoch=lambda log: epochs.append(log.epoch))
    assert epochs == [2, 3]
    _assert_same_run(folder, complete)


def test_interrupted_within_an_epoch_and_resumed_equals_uninterrupted(
    run: Run, complete: Path, tmp_path: Path
) -> None:
    def stop(log: StepLog) -> None:
        if (log.epoch, log.step) == (3, 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _ = run(tmp_path / "run", on_step=stop)
    _ = run(tmp_path / "run")
    _assert_same_run(tmp_path / "run", complete)


def test_a_full_disk_leaves_the_last_good_checkpoint(
    run: Run, train_process: Callable[[str], str], complete: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    # From then on no file may exceed 100 kB: for the program the disk is full.
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    result = _in_a_process(train_process(limit), folder)
    assert result.returncode == 1
    assert "InputError" in result.stderr
    message = f"{CHECKPOINT} cannot be written: File too large. The earlier file is unchanged"
    assert message in result.stderr
    assert sorted(_contents(folder)) == [CHECKPOINT]
    assert len(read_checkpoint(folder / CHECKPOINT).history) == 1
    _ = run(folder)
    _assert_same_run(folder, complete)


def test_a_finished_run_writes_its_model_again_and_trains_no_more(
    run: Run, complete: Path, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    _ = (tmp_path / "run" / CHECKPOINT).write_bytes((complete / CHECKPOINT).read_bytes())
    steps: list[StepLog] = []
    _ = run(tmp_path / "run", on_step=steps.append)
    assert steps == []
    assert _contents(tmp_path / "run") == _contents(complete)


def test_ctrl_c_saves_within_an_epoch(run: Run, complete: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    steps: list[StepLog] = []

    def press(log: StepLog) -> None:
        steps.append(log)
        if (log.epoch, log.step) == (2, 2):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _ = run(folder, on_step=press)
    assert (steps[-1].epoch, steps[-1].step) == (2, 2)
    checkpoint = read_checkpoint(folder / CHECKPOINT)
    assert (len(checkpoint.history), checkpoint.progress.steps) == (1, 2)
    more: list[StepLog] = []
    _ = run(folder, on_step=more.append)
    assert (more[0].epoch, more[0].step) == (2, 3)
    _assert_same_run(folder, complete)


def test_a_second_ctrl_c_stops_at_once() -> None:
    with deferred_interrupt() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_program_that_ignores_ctrl_c_still_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupt() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
    finally:
        _ = signal.signal(signal.SIGINT, before)


# ---- wrong arguments ------------------------------------------------------------------------


def test_no_sentences_are_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="training and validation, got 0 and 0"):
        _ = train(Splits(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs must be 1 or more, got 0"),
        ({"epochs": 1.5}, "epochs must be an integer, got 1.5"),
        ({"batch_size": "8"}, "batch_size must be an integer, got '8'"),
        ({"seed": -1}, "seed must be 0 to 4294967295, got -1"),
        ({"seed": 2**32}, "seed must be 0 to 4294967295, got 4294967296"),
        ({"visible_padding": -1}, "visible_padding must be 0 or more, got -1"),
        ({"warmup_steps": 0.5}, "warmup_steps must be an integer, got 0.5"),
        ({"learning_rate": 0.0}, "learning_rate must be a number in (0, inf), got 0.0"),
        ({"learning_rate": math.inf}, "learning_rate must be a number in (0, inf), got inf"),
        ({"learning_rate": "1e-3"}, "learning_rate must be a number in (0, inf), got '1e-3'"),
        ({"embedding_std": -1}, "embedding_std must be a number in (0, inf), got -1"),
        ({"init_std": 0}, "init_std must be a number in (0, inf), got 0"),
        ({"embedding_std": None}, "embedding_std must be a number in (0, inf), got None"),
        ({"weight_decay": -0.1}, "weight_decay must be a number in [0, inf), got -0.1"),
        ({"l2_penalty": math.nan}, "l2_penalty must be a number in [0, inf), got nan"),
        ({"mlm_weight": True}, "mlm_weight must be a number in [0, inf), got True"),
        ({"attn_dropout": 1.0}, "attn_dropout must be a number in [0, 1), got 1.0"),
        ({"cooldown_ratio": 1.01}, "cooldown_ratio must be a number in [0, 1], got 1.01"),
        ({"label_smoothing": -1}, "label_smoothing must be a number in [0, 1], got -1"),
        ({"teacher_weight": 1.5}, "teacher_weight must be a number in [0, 1], got 1.5"),
        ({"mask_prob": 2}, "mask_prob must be a number in [0, 1], got 2"),
        ({"ema_decay": 1.1}, "ema_decay must be a number in [0, 1], got 1.1"),
        ({"bf16": "yes"}, "bf16 must be a bool, got 'yes'"),
        ({"mix": 0.5}, "mix must be of type Mix, got 0.5"),
        ({"augmentation": {}}, "augmentation must be of type Augmentation, got {}"),
    ],
)
def test_an_impossible_recipe_is_an_input_error(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _ = Recipe(**setting)


def test_every_number_and_flag_of_a_recipe_is_checked() -> None:
    names = [item.name for item in fields(Recipe)]
    assert len(names) == 23
    for name in names:
        setting: dict[str, Any] = {name: "x"}
        with pytest.raises(InputError, match=f"{name} must be "):
            _ = Recipe(**setting)


@pytest.mark.parametrize("kind", [Mix, Augmentation])
def test_impossible_shares_and_probabilities_are_input_errors(kind: type[Any]) -> None:
    names = [item.name for item in fields(kind)]
    assert len(names) in (4, 5)
    for name in names:
        for value in (-1, "x", math.nan):
            with pytest.raises(InputError, match=f"{name} must be "):
                _ = kind(**{name: value})


def test_the_ends_of_a_range_and_numbers_of_numpy_are_settings() -> None:
    ends = ("weight_decay", "attn_dropout", "cooldown_ratio", "warmup_steps")
    settings: dict[str, Any] = {**dict.fromkeys(ends, 0), "learning_rate": np.float32(0.5)}
    recipe = Recipe(**settings, ema_decay=1, init_std=None)
    assert recipe.to_dict()["learning_rate"] == 0.5


@pytest.mark.parametrize("threads", [0, 10**6, "x"])
def test_an_impossible_number_of_threads_is_an_input_error(tmp_path: Path, threads: Any) -> None:
    with pytest.raises(InputError, match="threads must be"):
        _ = train(generated_splits(120), tmp_path / "run", threads=threads)
    assert not (tmp_path / "run").exists()


def test_a_folder_whose_name_is_too_long_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written to"):
        _ = train(generated_splits(200), tmp_path / ("x" * 300))
