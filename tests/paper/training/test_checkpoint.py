"""Folders and checkpoints that training refuses: of other runs, damaged, or in use."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from attnflow import InputError
from attnflow.paper import Recipe, TrainingResult, generated_splits, train
from attnflow.paper.runs import digest, locked_folder

Refuse = Callable[..., None]
CHECKPOINT = "checkpoint.safetensors"


@pytest.fixture
def refuse(run: Callable[..., TrainingResult]) -> Refuse:
    """A function that checks that training in a folder is an error and changes nothing there."""

    def check(folder: Path, match: str, **settings: Any) -> None:
        before = _contents(folder)
        with pytest.raises(InputError, match=match):
            _ = run(folder, **settings)
        assert _contents(folder) == before

    return check


@pytest.fixture
def copy(stopped: Path, tmp_path: Path) -> Path:
    """The checkpoint of a copy of a stopped run."""
    path = tmp_path / "copy" / CHECKPOINT
    path.parent.mkdir()
    _ = path.write_bytes((stopped / CHECKPOINT).read_bytes())
    return path


def _contents(folder: Path) -> dict[str, bytes] | None:
    if not folder.is_dir():
        return None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _rewrite(path: Path, tensors: dict[str, torch.Tensor], **changes: Any) -> None:
    """Write a checkpoint with other content and a digest of this content."""
    with safe_open(path, framework="pt") as file:
        info = json.loads(file.metadata()["info"]) | changes
    text = json.dumps(info)
    save_file(tensors, path, metadata={"info": text, "sha256": digest(text, tensors)})


# ---- other runs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"seed": 4}, "seed was 0, got 4"),
        ({"epochs": 5}, "epochs was 3, got 5"),
        (
            {"batch_size": 16, "learning_rate": 0.1},
            "batch_size was 32, got 16, learning_rate was 0.001, got 0.1",
        ),
    ],
)
def test_other_settings_are_refused(
    stopped: Path, small_recipe: Recipe, refuse: Refuse, setting: dict[str, Any], message: str
) -> None:
    refuse(stopped, f"another run: {message}", recipe=replace(small_recipe, **setting))


def test_other_data_are_refused(stopped: Path, small_recipe: Recipe) -> None:
    before = _contents(stopped)
    with pytest.raises(InputError, match="the data or the teacher was another one"):
        _ = train(generated_splits(120, seed=1), stopped, recipe=small_recipe)
    assert _contents(stopped) == before


def test_another_number_of_threads_is_refused(stopped: Path, refuse: Refuse) -> None:
    refuse(stopped, "threads was 1, got 2", threads=2)


def test_other_tensors_are_refused(copy: Path, refuse: Refuse) -> None:
    tensors = load_file(copy)
    name = "model.model.blocks.0.mlp.c_fc.weight"
    moment = name.replace("model.", "exp_avg.", 1)
    more = name.replace("blocks.0", "blocks.6")
    for changed, message in (
        (tensors | {name: torch.zeros(128, 256)}, rf"{name} .*, got torch.float32 \(128, 256\)"),
        (tensors | {name: tensors[name].half()}, rf"{name} torch.float32 .*, got torch.float16"),
        ({k: v for k, v in tensors.items() if k != moment}, rf"{moment} .*, got missing"),
        (tensors | {more: torch.zeros(2)}, f"expected {more} missing"),
        (tensors | {"rng_state": torch.zeros(2)}, "expected rng_state torch.uint8"),
    ):
        _rewrite(copy, changed)
        refuse(copy.parent, f"another architecture: .*{message}")


# ---- damaged --------------------------------------------------------------------------------


def test_overwritten_bytes_are_refused(copy: Path, refuse: Refuse) -> None:
    content = bytearray(copy.read_bytes())
    for position in (len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[position] ^= 1
        _ = copy.write_bytes(damaged)
        refuse(copy.parent, "is damaged: its content does not match its SHA-256 digest")


def test_changed_progress_is_refused(copy: Path, refuse: Refuse) -> None:
    content = copy.read_bytes()
    changed = content.replace(b'\\"step\\": ', b'\\"step\\":9', 1)
    assert changed != content
    _ = copy.write_bytes(changed)
    refuse(copy.parent, "is damaged")


@pytest.mark.parametrize(
    "changes",
    [
        {"history": {}},
        {"history": [3]},
        {"history": [{"epoch": 1}]},
        {"progress": {"steps": "2"}},
        {"progress": None},
        {"step": "five"},
        {"recipe": []},
        {"threads": None},
    ],
)
def test_wrong_types_are_refused(copy: Path, refuse: Refuse, changes: dict[str, Any]) -> None:
    _rewrite(copy, load_file(copy), **changes)
    refuse(
        copy.parent,
        rf"not a checkpoint of this version of attnflow \(unexpected {next(iter(changes))}",
    )


@pytest.mark.parametrize("text", ["{}", "[]", "3", "[" * 10_000])
def test_other_json_is_refused(copy: Path, refuse: Refuse, text: str) -> None:
    tensors = load_file(copy)
    save_file(tensors, copy, metadata={"info": text, "sha256": digest(text, tensors)})
    refuse(copy.parent, "not a checkpoint of this version of attnflow")


@pytest.mark.parametrize("content", [b"", b"not a checkpoint"])
def test_a_broken_checkpoint_is_refused(tmp_path: Path, refuse: Refuse, content: bytes) -> None:
    _ = (tmp_path / CHECKPOINT).write_bytes(content)
    refuse(tmp_path, "cannot be read as a checkpoint")


def test_other_tensor_files_are_refused(tmp_path: Path, refuse: Refuse) -> None:
    save_file({"weights": torch.zeros(2)}, tmp_path / CHECKPOINT)
    refuse(tmp_path, "not a checkpoint of this version of attnflow")


def test_a_folder_as_checkpoint_is_refused(
    run: Callable[..., TrainingResult], tmp_path: Path
) -> None:
    (tmp_path / CHECKPOINT).mkdir()
    with pytest.raises(InputError, match="expected a regular file"):
        _ = run(tmp_path)


# ---- folders --------------------------------------------------------------------------------


def test_a_folder_with_other_files_is_refused(copy: Path, tmp_path: Path, refuse: Refuse) -> None:
    (tmp_path / "new").mkdir()
    for folder in (tmp_path / "new", copy.parent):
        _ = (folder / "thesis.tex").write_text("precious")
        refuse(folder, r"not a training run to resume: it contains thesis\.tex")


def test_a_model_without_a_checkpoint_is_not_overwritten(
    complete: Path, tmp_path: Path, refuse: Refuse
) -> None:
    for path in complete.iterdir():
        if path.name != CHECKPOINT:
            _ = (tmp_path / path.name).write_bytes(path.read_bytes())
    refuse(tmp_path, "README.md, config.json, model.safetensors")


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path, refuse: Refuse) -> None:
    _ = (tmp_path / "run").write_text("")
    refuse(tmp_path / "run", "expected a folder, got the file")
    refuse(tmp_path / "run" / "deeper", "run is a file")


def test_a_folder_in_use_is_refused(stopped: Path, refuse: Refuse) -> None:
    with locked_folder(stopped):
        refuse(stopped, "another training run is using the folder")
    assert [path.name for path in stopped.iterdir()] == [CHECKPOINT]


def test_a_folder_is_refused_as_long_as_a_process_trains_in_it(
    run: Callable[..., TrainingResult],
    refuse: Refuse,
    train_process: Callable[[str], str],
    complete: Path,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    program = train_process('print("ready", flush=True); sys.stdin.read()')
    with subprocess.Popen(
        [sys.executable, "-c", program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            refuse(folder, "another training run is using the folder")
        finally:
            process.kill()  # the operating system releases the lock
    _ = run(folder)
    weights = "model.safetensors"
    assert (folder / weights).read_bytes() == (complete / weights).read_bytes()
