"""Fine-tuning on SST-2: what a run writes, and that a stopped and resumed run equals another."""

import math
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

import attnflow as af
from attnflow import InputError, UnsupportedModelError, models, paper
from attnflow.paper import Review, SentimentRecipe, SentimentResult, StepLog
from attnflow.paper.sentiment import _train as module
from sentiment_models import tokenizer

Run = Callable[..., SentimentResult]
Complete = tuple[Path, SentimentResult]
CHECKPOINT, WEIGHTS = "checkpoint.safetensors", "model.safetensors"
hf: Any = transformers

PROGRAM = """
import os, signal, sys
from attnflow.paper import *
from attnflow.paper.sentiment import _train

_train._SAVE_STEPS = 5

def on_step(log):
    if (log.epoch, log.step) == (2, 8):
        os.kill(os.getpid(), signal.SIGKILL)

train, dev = (read_sst2(sys.argv[1], part) for part in ("train", "dev"))
train_sentiment(
    train, dev, sys.argv[2], sys.argv[3], recipe={recipe!r}, threads=1, on_step=on_step
)
"""


def _assert_same_run(one: Path, other: Path) -> None:
    names = [sorted(path.name for path in folder.iterdir()) for folder in (one, other)]
    assert names[0] == names[1]
    for name in (WEIGHTS, "config.json", "tokenizer.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    tensors, others = (load_file(folder / CHECKPOINT) for folder in (one, other))
    assert tensors.keys() == others.keys() != set()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)


# ---- results --------------------------------------------------------------------------------


def test_a_run_learns_which_words_are_opinions(complete: Complete) -> None:
    _, result = complete
    assert result.accuracy == 1.0
    assert len(result.epochs) == 3
    assert result.epochs[-1].loss < 0.5 * result.epochs[0].loss
    # The accuracy is that of the last epoch, whose weights are kept.
    assert result.accuracy == result.epochs[-1].validation_accuracy


def test_the_folder_is_an_ordinary_model_of_transformers(complete: Complete) -> None:
    folder, result = complete
    model = hf.AutoModelForSequenceClassification.from_pretrained(folder)
    assert type(model) is hf.BertForSequenceClassification
    assert model.config.id2label == {0: "negative", 1: "positive"}
    words = hf.AutoTokenizer.from_pretrained(folder)
    for text, label in (("the film is great", "positive"), ("a dull story", "negative")):
        logits = model(**words(text, return_tensors="pt")).logits
        assert model.config.id2label[int(logits.argmax())] == label
        own = result.loaded.model(**words(text, return_tensors="pt")).logits
        assert torch.equal(own, logits)


def test_explain_takes_the_folder(complete: Complete) -> None:
    loaded = models.load(complete[0])
    found = af.explain(loaded.model, loaded.tokenizer, "the film is great")
    assert found.prediction.label == "positive"


def test_the_card_states_the_accuracy_the_base_and_the_recipe(complete: Complete) -> None:
    card = (complete[0] / "README.md").read_text()
    for text in ("**1.0000**", "20 sentences of the dev split", "96 sentences and phrases"):
        assert text in card
    assert re.search(r"fine-tuned from models\d+/base\.", card)
    assert re.search(r"\| learning_rate \| +0\.01 \|", card)
    assert str(complete[0].parent) not in card


def test_no_path_of_the_machine_is_in_the_configuration(complete: Complete) -> None:
    assert "_name_or_path" not in (complete[0] / "config.json").read_text()


def test_another_seed_gives_other_weights(
    run: Run, small_recipe: SentimentRecipe, complete: Complete, tmp_path: Path
) -> None:
    _ = run(tmp_path / "run", recipe=replace(small_recipe, seed=1, epochs=1))
    one, other = (load_file(folder / WEIGHTS) for folder in (tmp_path / "run", complete[0]))
    assert one.keys() == other.keys()
    assert not torch.equal(one["classifier.weight"], other["classifier.weight"])


def test_bfloat16_changes_products_alone(
    run: Run, small_recipe: SentimentRecipe, complete: Complete, tmp_path: Path
) -> None:
    result = run(tmp_path / "run", recipe=replace(small_recipe, bf16=True))
    tensors = load_file(tmp_path / "run" / WEIGHTS)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    assert result.epochs[0].loss == pytest.approx(complete[1].epochs[0].loss, rel=0.2)
    assert result.epochs[0].loss != complete[1].epochs[0].loss


@pytest.mark.parametrize("family", ["DistilBert", "Roberta"])
def test_any_encoder_is_a_base(run: Run, family: str, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    if family == "DistilBert":
        sizes = {"dim": 16, "n_heads": 2, "hidden_dim": 16}
    layers = {"n_layers" if family == "DistilBert" else "num_hidden_layers": 1}
    config = getattr(hf, f"{family}Config")(
        vocab_size=21, max_position_embeddings=32, pad_token_id=0, **sizes, **layers
    )
    # With the head of a language model, which is left out.
    getattr(hf, f"{family}ForMaskedLM")(config).save_pretrained(tmp_path / "base")
    _ = tokenizer(tmp_path / "base")
    result = run(tmp_path / "run", base=tmp_path / "base")
    assert type(result.loaded.model) is getattr(hf, f"{family}ForSequenceClassification")


def test_the_learning_rate_rises_and_falls_linearly() -> None:
    recipe = SentimentRecipe(learning_rate=1.0, warmup_ratio=0.2)
    rates = [module._learning_rate(step, 10, recipe) for step in range(10)]
    expected = [0.5, 1.0, *((10 - step) / 8 for step in range(2, 10))]
    assert rates == pytest.approx(expected)


def test_sentences_that_are_too_long_for_the_model_are_cut(run: Run, tmp_path: Path) -> None:
    long = [Review("great " * 100, 1), Review("dull " * 100, 0)]
    assert run(tmp_path / "run", train=long, dev=long).epochs[-1].validation_loss > 0


# ---- stopped and resumed --------------------------------------------------------------------


def test_killed_and_resumed_equals_uninterrupted(
    run: Run,
    small_recipe: SentimentRecipe,
    small_sst2: Path,
    small_base: Path,
    complete: Complete,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    program = PROGRAM.format(recipe=small_recipe)
    command = [sys.executable, "-c", program, small_sst2, small_base, folder]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert {path.name for path in folder.iterdir()} - {".lock"} == {CHECKPOINT}
    steps: list[StepLog] = []
    _ = run(folder, on_step=steps.append)
    # The last checkpoint is that of five steps in the second epoch.
    assert (steps[0].epoch, steps[0].step, len(steps)) == (2, 6, 43)
    _assert_same_run(folder, complete[0])


def test_ctrl_c_saves_between_two_steps(run: Run, complete: Complete, tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def press(log: StepLog) -> None:
        if (log.epoch, log.step) == (1, 3):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _ = run(folder, on_step=press)
    steps: list[StepLog] = []
    _ = run(folder, on_step=steps.append)
    assert (steps[0].epoch, steps[0].step) == (1, 4)
    _assert_same_run(folder, complete[0])


def test_a_model_with_a_parameter_that_is_not_used_is_resumed(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def with_unused(base: Any, *, seed: int) -> Any:
        model: Any = new_classifier(base, seed=seed)
        model.unused = torch.nn.Linear(2, 3)
        return model

    new_classifier = module.new_classifier
    monkeypatch.setattr(module, "new_classifier", with_unused)

    def press(log: StepLog) -> None:
        if (log.epoch, log.step) == (1, 3):
            signal.raise_signal(signal.SIGINT)

    _ = run(tmp_path / "complete")
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        _ = run(folder, on_step=press)
    assert "exp_avg.unused.weight" not in load_file(folder / CHECKPOINT)
    _ = run(folder)
    _assert_same_run(folder, tmp_path / "complete")


def test_ctrl_c_at_the_last_step_of_an_epoch_stops_after_the_epoch(
    run: Run, complete: Complete, tmp_path: Path
) -> None:
    folder = tmp_path / "run"

    def press(log: StepLog) -> None:
        if (log.epoch, log.step) == (1, log.steps):
            signal.raise_signal(signal.SIGINT)

    epochs: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        _ = run(folder, on_step=press, on_epoch=lambda log: epochs.append(log.epoch))
    assert epochs == [1]
    _ = run(folder, on_epoch=lambda log: epochs.append(log.epoch))
    assert epochs == [1, 2, 3]
    _assert_same_run(folder, complete[0])


def test_a_finished_run_trains_no_more(run: Run, complete: Complete, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    _ = (folder / CHECKPOINT).write_bytes((complete[0] / CHECKPOINT).read_bytes())
    steps: list[StepLog] = []
    result = run(folder, on_step=steps.append)
    assert steps == []
    assert result.epochs == complete[1].epochs
    _assert_same_run(folder, complete[0])


# ---- other runs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"seed": 4}, "seed was 0, got 4"), ({"bf16": True}, "bf16 was False, got True")],
)
def test_other_settings_are_refused(
    run: Run,
    small_recipe: SentimentRecipe,
    complete: Complete,
    setting: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(InputError, match=f"belongs to another run: {message}"):
        _ = run(complete[0], recipe=replace(small_recipe, **setting))


def test_other_data_and_other_threads_are_refused(run: Run, complete: Complete) -> None:
    with pytest.raises(InputError, match="the data or the base model was another one"):
        _ = run(complete[0], train=[Review("a film", 1)])
    with pytest.raises(InputError, match="threads was 1, got 2"):
        _ = run(complete[0], threads=2)


def test_another_base_model_is_refused(run: Run, complete: Complete, tmp_path: Path) -> None:
    # The model of the run is an encoder too, with other weights.
    for path in complete[0].iterdir():
        if path.name != CHECKPOINT:
            _ = (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="the data or the base model was another one"):
        _ = run(complete[0], base=tmp_path)


def test_a_folder_with_other_files_is_refused(run: Run, tmp_path: Path) -> None:
    _ = (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"not a training run to resume: it contains thesis\.tex"):
        _ = run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_folder_of_a_verb_number_run_is_refused(run: Run, tmp_path: Path) -> None:
    for name in (CHECKPOINT, "vocabulary.json"):
        _ = (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=r"it contains vocabulary\.json"):
        _ = run(tmp_path)


# ---- wrong arguments ------------------------------------------------------------------------


def test_a_base_that_is_no_model_is_an_input_error(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        _ = run(tmp_path / "run", base=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"expected config\.json in the folder .*, got no files"):
        _ = run(tmp_path / "run", base=tmp_path / "empty")
    assert not (tmp_path / "run").exists()


def test_a_base_without_a_tokenizer_or_padding_is_an_input_error(
    run: Run, small_base: Path, tmp_path: Path
) -> None:
    for name in ("config.json", WEIGHTS):
        _ = (tmp_path / name).write_bytes((small_base / name).read_bytes())
    with pytest.raises(InputError, match="without a tokenizer"):
        _ = run(tmp_path / "run", base=tmp_path)
    words = tokenizer()
    words.pad_token = None
    words.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="without a padding token"):
        _ = run(tmp_path / "run", base=tmp_path)


def test_a_model_without_a_classifier_is_unsupported(run: Run, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    config = hf.ViTConfig(**sizes, num_hidden_layers=1, image_size=8, patch_size=4)
    hf.ViTModel(config).save_pretrained(tmp_path / "base")
    _ = tokenizer(tmp_path / "base")
    with pytest.raises(UnsupportedModelError, match="no sequence classifier for ViTModel"):
        _ = run(tmp_path / "run", base=tmp_path / "base")


@pytest.mark.parametrize("family", ["T5", "GPT2", "Bloom"])
def test_a_base_with_a_decoder_is_refused_before_anything_is_written(
    run: Run, family: str, tmp_path: Path
) -> None:
    sizes: dict[str, dict[str, Any]] = {
        "T5": {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2},
        "GPT2": {"n_embd": 16, "n_head": 2, "n_layer": 1},
        "Bloom": {"hidden_size": 16, "n_head": 2, "n_layer": 1},
    }
    config = getattr(hf, f"{family}Config")(vocab_size=21, pad_token_id=0, **sizes[family])
    getattr(hf, f"{family}Model")(config).save_pretrained(tmp_path / "base")
    _ = tokenizer(tmp_path / "base")
    kind = "an encoder-decoder" if family == "T5" else "a decoder"
    with pytest.raises(UnsupportedModelError, match=f"expected an encoder, got {kind}: "):
        _ = run(tmp_path / "run", base=tmp_path / "base")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["train", "dev"])
def test_sentences_without_labels_are_an_input_error(run: Run, name: str, tmp_path: Path) -> None:
    for reviews, found in (([], "none"), ([Review("a film", None)], "one without")):
        changes: dict[str, Any] = {name: reviews}
        with pytest.raises(InputError, match=f"{name} must be sentences with labels, got {found}"):
            _ = run(tmp_path / "run", **changes)


def test_every_setting_of_a_recipe_is_checked() -> None:
    names = [item.name for item in fields(SentimentRecipe)]
    assert len(names) == 7
    for name in names:
        setting: dict[str, Any] = {name: "x"}
        with pytest.raises(InputError, match=f"{name} must be "):
            _ = SentimentRecipe(**setting)
    with pytest.raises(InputError, match="learning_rate must be a number in"):
        _ = SentimentRecipe(learning_rate=math.inf)


def test_the_accuracy_is_the_share_of_correct_labels(complete: Complete) -> None:
    loaded = complete[1].loaded
    reviews = [Review("the film is great", 1), Review("a dull story", 1)]
    accuracy, loss = paper.sentiment_accuracy(loaded.model, loaded.tokenizer, reviews)
    assert accuracy == 0.5
    words = loaded.tokenizer([review.text for review in reviews], padding=True, return_tensors="pt")
    expected = torch.nn.functional.cross_entropy(loaded.model(**words).logits, torch.tensor([1, 1]))
    assert loss == pytest.approx(expected.item(), rel=1e-5)


def test_the_accuracy_of_sentences_without_labels_is_an_input_error() -> None:
    shipped = paper.load()
    labelled, unlabelled = Review("a film", 0), Review("a film", None)
    for reviews, found in (([], "none"), ([labelled, unlabelled], "one without")):
        with pytest.raises(InputError, match=f"reviews must be sentences with .* got {found}"):
            _ = paper.sentiment_accuracy(shipped.model, shipped.tokenizer, reviews)
