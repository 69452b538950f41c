"""Loading is honest: nothing stays random, nothing is half unpacked, what is missing is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filled import from_folder, from_weights
from onnx_weights import onnx_weights
from packages import NotInstalledError, need, package_file
from real_models import REAL_MODELS, RealModel
from transformers import BertConfig, BertForMaskedLM, BertModel
from unpacked import unpacked
from vocabularies import RESIDUE, SMILES, bert_words, plain_words, roberta_words

SMALL = BertConfig(
    vocab_size=10,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=16,
)


# ---- every weight comes from the file -------------------------------------------------------


def test_a_weight_that_is_not_in_a_folder_is_an_error(tmp_path: Path):
    BertModel(SMALL).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"not in the file: \['cls.predictions.*not in the model"):
        _ = from_folder(BertForMaskedLM, tmp_path, left_out=["bert.pooler"])


def test_a_weight_that_the_model_does_not_want_is_an_error_unless_it_is_named(tmp_path: Path):
    BertModel(SMALL).save_pretrained(tmp_path)
    options: dict[str, Any] = {"add_pooling_layer": False}
    with pytest.raises(ValueError, match=r"not in the model: \['pooler.dense.bias"):
        _ = from_folder(BertModel, tmp_path, **options)
    model = from_folder(BertModel, tmp_path, left_out=["pooler."], **options)
    assert not model.training


def test_weights_by_name_fill_the_model_or_are_an_error():
    weights = BertModel(SMALL).state_dict()
    filled = from_weights(BertModel(SMALL), weights)
    assert filled.state_dict().keys() == weights.keys() != set()
    assert all(torch.equal(w, weights[name]) for name, w in filled.state_dict().items())
    removed = weights.pop("pooler.dense.bias")
    with pytest.raises(ValueError, match=r"not in the file: \['pooler.dense.bias'\]"):
        _ = from_weights(BertModel(SMALL), weights)
    with pytest.raises(RuntimeError, match="size mismatch"):
        _ = from_weights(BertModel(SMALL), {**weights, "pooler.dense.bias": removed[:-1]})


# ---- ONNX -----------------------------------------------------------------------------------


def _onnx_file(path: Path, operator: str) -> None:
    """One linear layer "a.b", its matrix quantised by 0.5 · (q − 2), and an embedding table."""
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    helper, to_tensor = onnx.helper, onnx.numpy_helper.from_array
    values = {
        "onnx::MatMul_7_quantized": np.array([[2, 3, 4], [2, 1, 0]], np.int8),
        "onnx::MatMul_7_scale": np.array(0.5, np.float32),
        "onnx::MatMul_7_zero_point": np.array(2, np.int8),
        "a.b.bias": np.array([1, 2, 3], np.float32),
        "words.weight_quantized": np.array([[4, 6]], np.uint8),
        "words.weight_scale": np.array(0.25, np.float32),
        "words.weight_zero_point": np.array(4, np.uint8),
    }
    matrix = "onnx::MatMul_7_quantized"
    if operator == "MatMul":
        matrix = "onnx::MatMul_7_DequantizeLinear_Output"
    nodes = [helper.make_node(operator, ["x", matrix], ["y"], name="/a/b/MatMul")]
    tensors = [to_tensor(value, name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "small", [], [], tensors)
    onnx.save(helper.make_model(graph), path)


@pytest.mark.real
@pytest.mark.parametrize("operator", ["MatMul", "MatMulInteger"])
def test_quantised_matrices_come_back_with_the_names_of_their_layers(tmp_path: Path, operator: str):
    _onnx_file(tmp_path / "small.onnx", operator)
    weights = onnx_weights(tmp_path / "small.onnx")
    assert {name: weight.tolist() for name, weight in weights.items()} == {
        "a.b.weight": [[0.0, 0.0], [0.5, -0.5], [1.0, -1.0]],
        "a.b.bias": [1.0, 2.0, 3.0],
        "words.weight": [[0.0, 0.5]],
    }


@pytest.mark.real
def test_a_matrix_that_no_layer_uses_is_an_error(tmp_path: Path):
    _onnx_file(tmp_path / "small.onnx", "Add")
    with pytest.raises(KeyError, match="no linear layer multiplies by onnx::MatMul_7"):
        _ = onnx_weights(tmp_path / "small.onnx")


# ---- tokenizers -----------------------------------------------------------------------------


def test_a_reaction_is_split_into_atoms_bonds_and_an_arrow(tmp_path: Path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "C", "Cl", "[Na+]", ">>", "."]
    file = tmp_path / "vocab.txt"
    _ = file.write_text("\n".join(words), encoding="utf-8")
    found = bert_words(file, SMILES)("CCl.[Na+]>>[MASK]Br", return_offsets_mapping=True)
    assert found.tokens() == [
        "[CLS]", "C", "Cl", ".", "[Na+]", ">>", "[MASK]", "[UNK]", "[SEP]",
    ]  # fmt: skip
    assert found.input_ids == [2, 5, 6, 9, 7, 8, 4, 1, 3]
    assert found.offset_mapping[2] == (1, 3)


def test_residues_are_letters_and_special_tokens_are_not_split(tmp_path: Path):
    bert, roberta = tmp_path / "vocab.txt", tmp_path / "dict.txt"
    _ = bert.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\nC\n[HUMAN]", encoding="utf-8")
    _ = roberta.write_text("A 1\nC 1\n", encoding="utf-8")
    assert plain_words(bert, RESIDUE)("[HUMAN]CA").input_ids == [7, 6, 5]
    assert roberta_words(roberta, RESIDUE)("AC<mask>").input_ids == [0, 4, 5, 6, 2]


# ---- packages and folders -------------------------------------------------------------------


def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(NotInstalledError, match="the package no-such-weights is not installed"):
        _ = package_file("no-such-weights", "model")
    with pytest.raises(NotInstalledError, match="the package no_such_reader is not installed"):
        need("pytest", "no_such_reader")


def test_a_test_without_its_package_is_skipped_and_says_which(
    real: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
):
    def absent() -> tuple[Any, Any]:
        return package_file("no-such-weights", "model"), None

    monkeypatch.setitem(REAL_MODELS, "absent", RealModel(absent))
    with pytest.raises(pytest.skip.Exception, match="no-such-weights is not installed; `make test"):
        _ = real("absent")


def test_a_version_without_the_weights_is_named():
    with pytest.raises(NotInstalledError, match=r"pytest \d.* has no pytest/weights"):
        _ = package_file("pytest", "pytest/weights")


def test_a_model_is_unpacked_once(tmp_path: Path):
    def write(folder: Path) -> None:
        _ = (folder / "weights").write_text("1")

    def fail(folder: Path) -> None:
        raise AssertionError(folder)

    folder = unpacked("model", write, tmp_path / "cache")
    assert unpacked("model", fail, tmp_path / "cache") == folder
    assert (folder / "weights").read_text() == "1"


def test_a_model_that_was_half_unpacked_is_not_there(tmp_path: Path):
    def stop(folder: Path) -> None:
        _ = (folder / "weights").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _ = unpacked("model", stop, tmp_path)
    assert list(tmp_path.iterdir()) == []
