import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnflow import InputError, paper
from attnflow.paper import Augmentation, Epoch, Mix, Recipe, Splits, Step, generated_splits, train
from attnflow.paper._checkpoint import read_facts
from attnflow.paper._interrupts import held_interrupts

# Small and quick; what it reaches is nobody's concern but that of one test.
RECIPE = Recipe(epochs=3, batch=32, warmup=5, mix=Mix(generated=20))
PLAIN = Augmentation(flip_subject=0, flip_others=0, swap_noun=0, lead=0, cut=0)
SENTENCES = 120
FILES = [
    "README.md", "checkpoint.safetensors", "config.json", "model.safetensors", "vocabulary.json"
]  # fmt: skip
# A process of its own that trains as the tests here do, and meets with something after epoch 1.
PROCESS = """
import os, resource, signal, sys
from pathlib import Path
from attnflow.paper import *

def tell(epoch):
    if epoch.number == 1:
        {event}

train(generated_splits({sentences}), sys.argv[1], recipe={recipe!r}, threads=1, tell=tell)
"""


def _in_a_process(folder: Path, event: str) -> subprocess.CompletedProcess[str]:
    code = PROCESS.format(event=event, sentences=SENTENCES, recipe=RECIPE)
    return subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, check=False
    )


def _train(folder: Path, **settings: Any) -> paper.Trained:
    given: dict[str, Any] = {"recipe": RECIPE, "threads": 1, **settings}
    return train(generated_splits(SENTENCES), folder, **given)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    _ = _train(folder)
    return folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was stopped after its first epoch; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    with pytest.raises(KeyboardInterrupt):
        _ = _train(folder, tell=_interrupt)
    return folder


def _interrupt(_: Epoch) -> None:
    raise KeyboardInterrupt


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _assert_same_run(one: Path, other: Path) -> None:
    assert _contents(one).keys() == _contents(other).keys()
    for name in ("model.safetensors", "config.json", "vocabulary.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    tensors, others = (load_file(each / "checkpoint.safetensors") for each in (one, other))
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)


# ---- what training gives --------------------------------------------------------------------


def test_training_on_200_generated_sentences_overfits(
    small_splits: Callable[[int], Splits], tmp_path: Path
) -> None:
    off = ("decay", "smoothing", "dropout", "hide", "guess")
    plain: dict[str, Any] = dict.fromkeys(off, 0.0)
    recipe = Recipe(
        epochs=15, batch=20, warmup=20, average=0.9, mix=Mix(generated=0), augmentation=PLAIN,
        **plain,
    )  # fmt: skip
    splits = small_splits(200)
    trained = train(splits, tmp_path / "run", recipe=recipe, threads=1)
    loaded = trained.loaded
    found = paper.accuracy(loaded.model, loaded.tokenizer, splits.natural)
    assert found.count == 200
    assert found.distinct >= 0.99
    assert trained.epochs[0].loss > 5 * trained.epochs[-1].loss


def test_a_run_leaves_its_model_its_card_and_its_checkpoint(whole: Path) -> None:
    assert sorted(_contents(whole)) == FILES
    assert {str(t.dtype) for t in load_file(whole / "model.safetensors").values()} == {
        "torch.float16"
    }


def test_what_is_told_is_what_the_checkpoint_keeps(tmp_path: Path) -> None:
    steps: list[Step] = []
    epochs: list[Epoch] = []
    trained = _train(tmp_path / "run", progress=steps.append, tell=epochs.append)
    assert [epoch.number for epoch in epochs] == [1, 2, 3]
    assert trained.epochs == tuple(epochs)
    assert read_facts(tmp_path / "run" / "checkpoint.safetensors")["history"] == [
        asdict(epoch) for epoch in epochs
    ]
    assert [step.done for step in steps if step.epoch == 2] == list(range(1, steps[-1].total + 1))
    last = [step for step in steps if step.done == step.total]
    assert [step.loss for step in last] == pytest.approx([epoch.loss for epoch in epochs])
    assert all(0 <= step.accuracy <= 1 for step in steps)


def test_another_seed_gives_other_weights(whole: Path, tmp_path: Path) -> None:
    _ = _train(tmp_path / "run", recipe=replace(RECIPE, seed=1))
    weights = "model.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() != (whole / weights).read_bytes()


# ---- stopped and resumed --------------------------------------------------------------------


def test_killed_and_resumed_equals_uninterrupted(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = _in_a_process(folder, "os.kill(os.getpid(), signal.SIGKILL)")
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert sorted(_contents(folder)) == ["checkpoint.safetensors"]
    # What a kill in the middle of writing leaves behind; it is cleaned up.
    _ = (folder / f".checkpoint.safetensors.{'0' * 32}.part").write_bytes(b"half")
    epochs: list[int] = []
    _ = _train(folder, tell=lambda epoch: epochs.append(epoch.number))
    assert epochs == [2, 3]
    _assert_same_run(folder, whole)


def test_interrupted_in_the_middle_of_an_epoch_and_resumed_equals_uninterrupted(
    whole: Path, tmp_path: Path
) -> None:
    def stop(step: Step) -> None:
        if (step.epoch, step.done) == (3, 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _ = _train(tmp_path / "run", progress=stop)
    _ = _train(tmp_path / "run")
    _assert_same_run(tmp_path / "run", whole)


def test_a_full_disk_leaves_the_last_good_checkpoint(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    # No file may grow over 100 kB from then on: to the program it is as if the disk were full.
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    result = _in_a_process(folder, limit)
    assert result.returncode == 1
    assert "InputError" in result.stderr
    assert "checkpoint.safetensors cannot be written: File too large. The earlier one is still" in (
        result.stderr
    )
    assert sorted(_contents(folder)) == ["checkpoint.safetensors"]
    assert read_facts(folder / "checkpoint.safetensors")["epoch"] == 1
    _ = _train(folder)
    _assert_same_run(folder, whole)


def test_a_finished_run_writes_its_model_again_and_trains_no_more(
    whole: Path, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    name = "checkpoint.safetensors"
    _ = (tmp_path / "run" / name).write_bytes((whole / name).read_bytes())
    steps: list[Step] = []
    _ = _train(tmp_path / "run", progress=steps.append)
    assert steps == []
    assert _contents(tmp_path / "run") == _contents(whole)


def test_ctrl_c_saves_in_the_middle_of_an_epoch(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    steps: list[Step] = []

    def press(step: Step) -> None:
        steps.append(step)
        if (step.epoch, step.done) == (2, 2):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _ = _train(folder, progress=press)
    assert (steps[-1].epoch, steps[-1].done) == (2, 2)
    facts = read_facts(folder / "checkpoint.safetensors")
    assert (facts["epoch"], facts["begun"]["done"]) == (1, 2)
    more: list[Step] = []
    _ = _train(folder, progress=more.append)
    assert (more[0].epoch, more[0].done) == (2, 3)
    _assert_same_run(folder, whole)


def test_a_second_ctrl_c_stops_at_once() -> None:
    with held_interrupts() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_program_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_interrupts() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
    finally:
        _ = signal.signal(signal.SIGINT, before)


def test_another_number_of_threads_is_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.parent.mkdir()
    _ = path.write_bytes((whole / path.name).read_bytes())
    with pytest.raises(InputError, match="a run with 1 threads, and 2 came"):
        _ = _train(path.parent, threads=2)


# ---- folders that are refused ----------------------------------------------------------------


def _refused(folder: Path, match: str, **settings: Any) -> None:
    before = _contents(folder) if folder.is_dir() else None
    with pytest.raises(InputError, match=match):
        _ = _train(folder, **settings)
    assert (_contents(folder) if folder.is_dir() else None) == before


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"seed": 4}, "seed is 0 there and 4 here"),
        ({"epochs": 5}, "epochs is 3 there and 5 here"),
        ({"batch": 16, "rate": 0.1}, "batch is 32 there and 16 here, rate is 0.001 there"),
    ],
)
def test_a_run_with_other_settings_is_refused(
    stopped: Path, setting: dict[str, Any], told: str
) -> None:
    _refused(stopped, f"other settings: {told}", recipe=replace(RECIPE, **setting))


def test_a_run_with_other_data_is_refused(stopped: Path) -> None:
    before = _contents(stopped)
    with pytest.raises(InputError, match="other data"):
        _ = train(generated_splits(SENTENCES, seed=1), stopped, recipe=RECIPE)
    assert _contents(stopped) == before


def test_a_checkpoint_of_another_architecture_is_refused(stopped: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    metadata = {"facts": json.dumps(read_facts(stopped / path.name))}
    tensors = load_file(stopped / path.name)
    wide = "model.model.blocks.0.mlp.c_fc.weight"
    for changed, told in (
        (tensors | {wide: torch.zeros(128, 256)}, rf"{wide} is of shape \(128, 256\) there"),
        ({k: v for k, v in tensors.items() if k != f"exp_avg.{wide[6:]}"}, "is missing there"),
        (tensors | {wide.replace("blocks.0", "blocks.6"): torch.zeros(2)}, "has no such weights"),
    ):
        save_file(changed, path, metadata=metadata)
        _refused(tmp_path, f"another architecture: .*{told}")


@pytest.mark.parametrize("content", [b"", b"not a checkpoint"])
def test_a_broken_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    _ = (tmp_path / "checkpoint.safetensors").write_bytes(content)
    _refused(tmp_path, "cannot be read as a checkpoint")


def test_tensors_of_something_else_are_refused(tmp_path: Path) -> None:
    save_file({"weights": torch.zeros(2)}, tmp_path / "checkpoint.safetensors")
    _refused(tmp_path, "is not a checkpoint of this training")


def test_a_folder_with_something_else_in_it_is_refused(stopped: Path, tmp_path: Path) -> None:
    _ = (tmp_path / "thesis.tex").write_text("precious")
    _refused(tmp_path, r"holds what is not of a training run .*: thesis\.tex")
    _ = (tmp_path / "checkpoint.safetensors").write_bytes(
        (stopped / "checkpoint.safetensors").read_bytes()
    )
    _refused(tmp_path, r"holds what is not of a training run .*: thesis\.tex")


def test_a_model_without_a_checkpoint_is_not_written_over(whole: Path, tmp_path: Path) -> None:
    for name in FILES:
        if name != "checkpoint.safetensors":
            _ = (tmp_path / name).write_bytes((whole / name).read_bytes())
    _refused(tmp_path, "README.md, config.json, model.safetensors")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    _ = (tmp_path / "run").write_text("")
    _refused(tmp_path / "run", "is a file; a folder is wanted")
    _refused(tmp_path / "run" / "deeper", "run is a file")


def test_no_sentences_are_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are 0 sentences to train on"):
        _ = train(Splits((), (), (), (), (), (), ()), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("setting", [{"epochs": 0}, {"batch": 0}, {"seed": -1}])
def test_a_recipe_of_nothing_is_an_input_error(setting: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give a whole number"):
        _ = Recipe(**setting)


def test_a_folder_whose_name_is_too_long_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written to"):
        _ = train(generated_splits(200), tmp_path / ("x" * 300))
