import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnflow import InputError, paper
from attnflow.paper.model import VerbNumberConfig, VerbNumberModel, Vocabulary, model_files

VOCABULARY = Vocabulary.from_texts([["the", "key", "keys", "café"]])


@pytest.fixture
def model() -> VerbNumberModel:
    _ = torch.manual_seed(0)
    return VerbNumberModel(VerbNumberConfig(vocab_size=len(VOCABULARY), resid_pdrop=0.3)).eval()


@pytest.fixture
def folder(tmp_path: Path, model: VerbNumberModel) -> Path:
    for name, content in model_files(model, VOCABULARY).items():
        _ = (tmp_path / name).write_bytes(content)
    return tmp_path


def test_a_saved_model_comes_back_in_half_precision(folder: Path, model: VerbNumberModel) -> None:
    loaded = paper.load(folder)
    weights = loaded.model.state_dict()
    assert weights.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(weights[name][: len(tensor)], tensor.half().float())
    assert loaded.model.config.resid_pdrop == 0.3
    assert loaded.missing == ()


def test_the_unknown_word_comes_last_and_is_nothing(folder: Path) -> None:
    loaded = paper.load(folder)
    embeddings = loaded.model.state_dict()["words.weight"]
    assert len(embeddings) == len(VOCABULARY) + 1
    assert loaded.tokenizer.unk_token_id == len(VOCABULARY)
    assert not embeddings[-1].any()


def test_it_is_ready_to_use(folder: Path) -> None:
    loaded = paper.load(str(folder))
    assert not loaded.model.training
    assert loaded.model.config.id2label == {0: "singular", 1: "plural"}
    inputs = loaded.tokenizer(["The Café", "the keys the"], padding=True, return_tensors="pt")
    assert inputs["input_ids"].tolist() == [
        [2, *(VOCABULARY.ids[w] for w in ("the", "café")), 3, 0],
        [2, *(VOCABULARY.ids[w] for w in ("the", "keys", "the")), 3],
    ]
    assert loaded.model(**inputs).logits.shape == (2, 2)


def test_the_files_are_readable_by_people(folder: Path) -> None:
    assert json.loads((folder / "vocabulary.json").read_text("utf-8")) == [
        *VOCABULARY.words,
        "[UNK]",
    ]
    assert "café" in (folder / "vocabulary.json").read_text("utf-8")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["model_type"] == "attnflow-verb-number"


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _ = paper.load(tmp_path / "nowhere")


def test_a_folder_without_the_files_says_what_it_found(folder: Path) -> None:
    (folder / "vocabulary.json").unlink()
    with pytest.raises(
        InputError, match=r"lacks vocabulary\.json and contains config\.json, model\.safetensors"
    ):
        _ = paper.load(folder)


def test_a_model_of_another_type_is_named(folder: Path) -> None:
    _ = (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="got 'bert'"):
        _ = paper.load(folder)


@pytest.mark.parametrize("content", ["[1]", "[", '"words"', "{}"])
@pytest.mark.parametrize("name", ["config.json", "vocabulary.json"])
def test_files_with_something_else_in_them_are_an_input_error(
    folder: Path, name: str, content: str
) -> None:
    _ = (folder / name).write_text(content)
    with pytest.raises(InputError, match=name):
        _ = paper.load(folder)


def test_a_vocabulary_of_another_model_is_an_input_error(folder: Path) -> None:
    words = json.dumps([*VOCABULARY.words, "more", "[UNK]"])
    _ = (folder / "vocabulary.json").write_text(words)
    with pytest.raises(InputError, match=r"expected 9 words .* got 10"):
        _ = paper.load(folder)


def test_settings_that_make_no_model_are_an_input_error(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    _ = (folder / "config.json").write_text(json.dumps(config | {"n_embd": "wide"}))
    with pytest.raises(InputError, match=r"config\.json is not a valid configuration"):
        _ = paper.load(folder)
    _ = (folder / "config.json").write_text(json.dumps(config | {"n_head": 7}))
    with pytest.raises(InputError, match=r"config\.json is not a valid configuration"):
        _ = paper.load(folder)


def test_a_folder_whose_name_is_too_long_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _ = paper.load(tmp_path / ("x" * 300))


def test_weights_that_are_missing_or_of_another_shape_are_an_input_error(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for changed in (
        {name: tensor for name, tensor in tensors.items() if name != "norm.bias"},
        tensors | {"norm.bias": torch.zeros(5)},
        tensors | {"more": torch.zeros(5)},
    ):
        save_file(changed, path)
        with pytest.raises(
            InputError, match=r"does not contain the weights of the model in config\.json"
        ):
            _ = paper.load(folder)
    _ = path.write_bytes(b"cut off")
    with pytest.raises(InputError, match="does not contain the weights"):
        _ = paper.load(folder)


@pytest.mark.parametrize("folder", [5, "a\0b", "\ud800"])
def test_what_cannot_be_a_path_is_an_error(folder: Any) -> None:
    for call in (paper.load, paper.load_splits, lambda f: paper.train(paper.Splits(), f)):
        with pytest.raises(InputError, match="expected"):
            _ = call(folder)
