"""A model that learns from a teacher: its losses, visible padding, and resuming."""

import math
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from attnflow import InputError
from attnflow.paper import (
    EpochLog,
    Mix,
    Recipe,
    StepLog,
    TrainingResult,
    generated_splits,
    load,
    train,
)
from attnflow.paper.model import VerbNumberModel
from attnflow.paper.training._dataset import TrainingData, batches
from attnflow.paper.training._loop import (
    TrainingModel,
    _Dropout,
    _regularization,
    new_state,
    run_epoch,
)
from model_state import unchanged

Run = Callable[..., TrainingResult]
STUDENT = Recipe(epochs=2, batch_size=32, warmup_steps=5, mix=Mix(generated=20))
SENTENCES = 120


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return TrainingData.from_splits(generated_splits(SENTENCES))


def _model(data: TrainingData, **changes: Any) -> TrainingModel:
    """A student without dropout, so that its losses can be computed again."""
    dropout = dict.fromkeys(("attn_dropout", "resid_dropout", "embd_dropout"), 0.0)
    return new_state(data, replace(STUDENT, **dropout, **changes)).model


def test_the_loss_is_nine_tenths_the_teachers_and_one_tenth_the_labels(data: TrainingData) -> None:
    model = _model(data)
    ids, labels = torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]]), torch.tensor([0, 1])
    teacher = torch.tensor([[0.8, 0.2], [0.4, 0.6]])
    logits = model.model(ids).logits.detach().tolist()
    expected = 0.0
    for row, label, known in zip(logits, labels.tolist(), teacher.tolist(), strict=True):
        total = math.log(sum(math.exp(value) for value in row))
        logs = [value - total for value in row]
        of_teacher = -sum(p * value for p, value in zip(known, logs, strict=True))
        expected += (0.9 * of_teacher - 0.1 * logs[label]) / 2
    loss, mlm_loss, _ = model.losses(ids, None, labels, STUDENT, teacher)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert mlm_loss.item() == 0.0


def test_the_penalty_is_the_sum_of_squares_of_all_matrices(data: TrainingData) -> None:
    model = _model(data)
    matrices = {name: p for name, p in model.model.named_parameters() if p.ndim > 1}
    assert {"words.weight", "positions.weight", "classifier.weight"} <= matrices.keys()
    expected = sum(float((p.detach().double() ** 2).sum()) for p in matrices.values())
    assert model.squares().item() == pytest.approx(expected, rel=1e-5)


def test_dropout_and_penalty_rise_over_the_given_share_of_steps(data: TrainingData) -> None:
    recipe = replace(STUDENT, regularization_ramp=(0.2, 0.6))
    strengths = [_regularization(step, 10, recipe) for step in range(10)]
    assert strengths == pytest.approx([0, 0, 0, 0.25, 0.5, 0.75, 1, 1, 1, 1])
    for share, expected in ((0.0, [1, 1, 1]), (0.5, [0, 1, 1]), (1.0, [0, 0, 1])):
        constant = replace(STUDENT, regularization_ramp=(share, share))
        assert [_regularization(step, 10, constant) for step in (0, 5, 10)] == expected
    model = new_state(data, recipe).model
    model.set_dropout(recipe, 0.5)
    found = [module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    assert sorted(set(found)) == pytest.approx([0.1, 0.2, 0.3])  # of 0.2, 0.4 and 0.6
    assert len(found) == 1 + 3 * model.model.config.n_layer


@pytest.mark.parametrize("p", [0.1, 0.4, 0.6])
def test_dropout_keeps_the_given_share_of_values_and_their_mean(p: float) -> None:
    _ = torch.manual_seed(0)
    ones = torch.ones(4001, 51, requires_grad=True)  # an odd number of values
    dropped = _Dropout(p)(ones)
    kept = (dropped != 0).double()
    assert dropped[kept.bool()].tolist() == pytest.approx([1 / (1 - p)] * int(kept.sum()))
    # Five standard errors of the share of 204,051 values, and of one column of 4,001.
    assert kept.mean().item() == pytest.approx(1 - p, abs=5 * (p * (1 - p) / kept.numel()) ** 0.5)
    columns = kept.mean(0).tolist()
    assert columns == pytest.approx([1 - p] * 51, abs=5 * (p * (1 - p) / 4001) ** 0.5)
    neighbours = torch.corrcoef(kept[:, :2].T)[0, 1].item()
    assert neighbours == pytest.approx(0.0, abs=5 / 4001**0.5)
    dropped.sum().backward()
    assert ones.grad is not None
    assert torch.equal(ones.grad, dropped.detach())
    assert torch.equal(_Dropout(p).eval()(ones), ones)


def test_a_run_follows_the_ramp_of_its_recipe(data: TrainingData) -> None:
    def weight_and_dropout(strength_from: float) -> tuple[float, list[float]]:
        recipe = replace(STUDENT, epochs=1, regularization_ramp=(strength_from, strength_from))
        state, found = new_state(data, recipe), []
        _ = run_epoch(state, lambda _: found.append(state.model.model.drop.p))
        weight = cast("Any", state.model.model.blocks[0]).mlp.c_fc.weight
        return float(weight.detach().square().sum()), found

    with_penalty, dropout = weight_and_dropout(0.0)
    without, no_dropout = weight_and_dropout(1.0)
    assert len(dropout) == len(no_dropout) > 2
    assert set(dropout) == {STUDENT.embd_dropout}
    assert set(no_dropout) == {0.0}
    assert with_penalty < without


@pytest.mark.parametrize(
    "ramp", [(-0.1, 0.5), (0.5, 0.4), (0.5, 1.1), (0.1,), 0.3, None, ("a", "b")]
)
def test_a_ramp_outside_the_run_is_an_error(ramp: Any) -> None:
    with pytest.raises(InputError, match="two numbers, 0 <= start <= end <= 1"):
        _ = replace(STUDENT, regularization_ramp=ramp)


def test_initial_matrices_are_truncated_at_two_standard_deviations(data: TrainingData) -> None:
    weight = dict(_model(data).model.named_parameters())["blocks.0.mlp.c_fc.weight"].detach()
    assert 0.08 < float(weight.abs().max()) <= 0.1
    # The standard deviation of a normal distribution truncated there is 0.88 of the original.
    assert float(weight.std()) == pytest.approx(0.88 * 0.05, rel=0.03)


def test_tokens_attend_to_padding_in_training_and_its_embedding_is_trained(
    data: TrainingData,
) -> None:
    model, masked = _model(data), _model(data, visible_padding=0)
    ids, mask = torch.tensor([[2, 5, 6, 3, 0, 0]]), torch.tensor([[1, 1, 1, 1, 0, 0]])
    label = torch.tensor([0])
    for each, trained in ((model, True), (masked, False)):
        recipe = STUDENT if trained else replace(STUDENT, visible_padding=0)
        loss, _, _ = each.losses(ids, mask, label, recipe)
        alone, _, _ = each.losses(ids[:, :4], None, label, recipe)
        _ = loss.backward()
        gradient = each.model.words.weight.grad
        assert gradient is not None
        assert bool(gradient[0].any()) is trained
        assert (loss.item() != pytest.approx(alone.item(), rel=1e-6)) is trained


def test_batches_have_more_padding_than_they_need() -> None:
    prefixes = [([2, 5, 6, 3], 0)] * 64
    order = random.Random(0)  # noqa: S311 (sentences, not secrets)
    widths = {ids.shape[1] for ids, _, _ in batches(prefixes, 4, order, padding=3)}
    assert widths == {4, 5, 6, 7}
    # No batch has more tokens than the model has positions.
    longest = [([2] + [5] * 62 + [3], 0), ([2, 5, 3], 0)]
    [(ids, mask, _)] = batches(longest, 2, order, padding=8)
    assert ids.shape == (2, 64)
    assert mask is not None
    assert mask.sum(1).tolist() == [3, 64]


@pytest.fixture(scope="module")
def student(complete: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run with a teacher; not to be changed."""
    folder = tmp_path_factory.mktemp("students") / "run"
    _ = train(generated_splits(SENTENCES), folder, recipe=STUDENT, teacher=complete, threads=1)
    return folder


def test_a_single_sentence_has_no_padding_and_the_blank_is_padding(student: Path) -> None:
    loaded = load(student)
    assert loaded.model.config.blank_token_id == loaded.tokenizer.pad_token_id == 0
    assert loaded.model.config.attn_pdrop == 0.6
    inputs: Any = loaded.tokenizer(["the key", "the key to the cabinets"], padding=True)
    assert 0 not in loaded.tokenizer("the key").input_ids
    alone = loaded.model(torch.tensor([loaded.tokenizer("the key").input_ids])).logits
    both = loaded.model(
        torch.tensor(inputs["input_ids"]), attention_mask=torch.tensor(inputs["attention_mask"])
    ).logits
    torch.testing.assert_close(both[:1], alone, rtol=1e-4, atol=1e-5)


def test_a_killed_student_resumes_and_ends_with_the_same_weights(
    student: Path, complete: Path, tmp_path: Path
) -> None:
    program = f"""
import os, signal, sys
from attnflow.paper import *

def on_epoch(log):
    os.kill(os.getpid(), signal.SIGKILL)

train(generated_splits({SENTENCES}), sys.argv[1], recipe={STUDENT!r}, teacher=sys.argv[2],
      threads=1, on_epoch=on_epoch)
"""
    folder = tmp_path / "run"
    killed = subprocess.run(
        [sys.executable, "-c", program, folder, complete], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    epochs: list[int] = []
    _ = train(
        generated_splits(SENTENCES),
        folder,
        recipe=STUDENT,
        teacher=complete,
        threads=1,
        on_epoch=lambda log: epochs.append(log.epoch),
    )
    assert epochs == [2]
    weights = "model.safetensors"
    assert (folder / weights).read_bytes() == (student / weights).read_bytes()


def test_without_a_teacher_one_is_trained_first(
    monkeypatch: pytest.MonkeyPatch, small_recipe: Recipe, complete: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr("attnflow.paper.training._train.ACCURATE_RECIPE", small_recipe)
    stages: list[bool] = []
    folder = tmp_path / "run"
    for _ in range(2):  # the second call has nothing left to do
        _ = train(
            generated_splits(SENTENCES),
            folder,
            recipe=replace(STUDENT, epochs=1),
            threads=1,
            on_step=lambda log: stages.append(log.teacher),
        )
    assert stages == sorted(stages, reverse=True)
    assert set(stages) == {True, False}
    weights = "model.safetensors"
    assert (folder / "teacher" / weights).read_bytes() == (complete / weights).read_bytes()


def test_the_teacher_may_be_a_loaded_model(student: Path, complete: Path, tmp_path: Path) -> None:
    splits, loaded = generated_splits(SENTENCES), load(complete)
    teacher: Any = loaded.model.train()  # a mode that must not matter
    before = [block.attn.attention_function for block in teacher.blocks]
    with unchanged(teacher):
        _ = train(splits, tmp_path / "run", recipe=STUDENT, teacher=loaded, threads=1)
    assert [block.attn.attention_function for block in teacher.blocks] == before
    weights = "model.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() == (student / weights).read_bytes()


def test_another_teacher_does_not_resume_a_run(student: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    _ = run(other, recipe=replace(STUDENT, seed=5, teacher_weight=0.0, epochs=1))
    before = {path.name: path.read_bytes() for path in student.iterdir()}
    with pytest.raises(InputError, match="the data or the teacher was another one"):
        _ = train(generated_splits(SENTENCES), student, recipe=STUDENT, teacher=other, threads=1)
    assert {path.name: path.read_bytes() for path in student.iterdir()} == before


def test_a_teacher_with_another_vocabulary_is_an_error(complete: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"the teacher has another vocabulary: expected '\w+' as word \d+, got"
    ):
        _ = train(generated_splits(40, seed=3), tmp_path / "run", recipe=STUDENT, teacher=complete)
    assert not list((tmp_path / "run").iterdir())


def test_a_folder_without_a_model_is_no_teacher(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is not a verb-number model"):
        _ = train(
            generated_splits(SENTENCES),
            tmp_path / "run",
            recipe=STUDENT,
            teacher=tmp_path / "empty",
        )
    assert not (tmp_path / "run").exists()


def test_a_recipe_without_a_teacher_takes_none(complete: Path, tmp_path: Path) -> None:
    recipe = replace(STUDENT, teacher_weight=0.0)
    with pytest.raises(InputError, match="has no teacher"):
        _ = train(generated_splits(SENTENCES), tmp_path / "run", recipe=recipe, teacher=complete)


# ---- bfloat16 -------------------------------------------------------------------------------


def test_in_bfloat16_products_are_coarse_and_losses_weights_and_gradients_are_float32(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[torch.Tensor] = []
    cross_entropy, hidden = torch.nn.functional.cross_entropy, VerbNumberModel.hidden

    def kept(logits: torch.Tensor, *arguments: Any, **settings: Any) -> torch.Tensor:
        loss = cross_entropy(logits, *arguments, **settings)
        found.extend((logits, loss))
        return loss

    products: set[torch.dtype] = set()

    def watched(self: VerbNumberModel, *arguments: Any) -> torch.Tensor:
        projection = cast("Any", self.blocks[0]).mlp.c_fc
        hook = projection.register_forward_hook(lambda *call: products.add(call[2].dtype))
        result = hidden(self, *arguments)
        hook.remove()
        return result

    monkeypatch.setattr(torch.nn.functional, "cross_entropy", kept)
    monkeypatch.setattr(VerbNumberModel, "hidden", watched)
    recipe = replace(STUDENT, epochs=1, bf16=True, mask_prob=0.3, mlm_weight=0.1)
    state = new_state(data, recipe)
    _ = run_epoch(state, lambda _: None)
    assert products == {torch.bfloat16}
    assert len(found) > 2
    assert {tensor.dtype for tensor in found} == {torch.float32}
    parameters = list(state.model.parameters())
    assert {p.dtype for p in parameters} == {torch.float32}
    assert {p.grad.dtype for p in parameters if p.grad is not None} == {torch.float32}


@pytest.mark.parametrize("stop", ["after an epoch", "within an epoch"])
def test_a_student_in_bfloat16_trains_and_resumes_to_the_same_weights(
    student: Path, complete: Path, tmp_path: Path, stop: str
) -> None:
    splits, recipe = generated_splits(SENTENCES), replace(STUDENT, bf16=True)

    def interrupt(log: EpochLog | StepLog) -> None:
        if isinstance(log, EpochLog) or log.step == 2:
            signal.raise_signal(signal.SIGINT)

    settings: dict[str, Any] = {"recipe": recipe, "teacher": complete, "threads": 1}
    result = train(splits, tmp_path / "whole", **settings)
    losses = [epoch.loss for epoch in result.epochs]
    assert losses[1] < losses[0]
    on: Any = {("on_epoch" if stop == "after an epoch" else "on_step"): interrupt}
    with pytest.raises(KeyboardInterrupt):
        _ = train(splits, tmp_path / "parts", **settings, **on)
    _ = train(splits, tmp_path / "parts", **settings)
    files = [folder / "model.safetensors" for folder in (tmp_path / "parts", tmp_path / "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes() != (student / "model.safetensors").read_bytes()


def test_a_run_in_float32_is_not_resumed_in_bfloat16(student: Path, complete: Path) -> None:
    recipe = replace(STUDENT, bf16=True)
    with pytest.raises(InputError, match="bf16 was False, got True"):
        _ = train(generated_splits(SENTENCES), student, recipe=recipe, teacher=complete, threads=1)
