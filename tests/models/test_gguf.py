"""Language models in GGUF files: the same weights and tokens as those of a folder."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from attnflow.errors import InputError, MissingDependencyError
from attnflow.models import attend, load

pytest.importorskip("accelerate")
gguf: Any = pytest.importorskip("gguf")

SIZES: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
HEADS: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2}


def _tokens() -> list[str]:
    """All bytes as GPT-2 writes them, and special tokens; no merges but one."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return ["<unk>", "<s>", "</s>", *sorted(bytes_to_unicode().values()), "he"]


@pytest.fixture(scope="module")
def model() -> Any:
    _ = torch.manual_seed(0)
    config = hf.LlamaConfig(
        vocab_size=len(_tokens()), max_position_embeddings=64, tie_word_embeddings=True,
        initializer_range=0.2, **SIZES, **HEADS,
    )  # fmt: skip
    return hf.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def file(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, its configuration and its tokenizer as llama.cpp writes them, in float32."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    config = model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(_tokens())
    writer.add_token_types([2, 3, 3] + [1] * (config.vocab_size - 3))
    writer.add_token_merges(["h e"])
    for name, number in (("unk", 0), ("bos", 1), ("eos", 2)):
        getattr(writer, f"add_{name}_token_id")(number)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":  # tied
            values = _permuted(name, tensor.numpy(), config)
            writer.add_tensor(names.get_name(name, (".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _permuted(name: str, weights: Any, config: Any) -> Any:
    """Queries and keys in the order of llama.cpp's rotary embedding."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for part, count in heads.items():
        if part in name:
            rows = weights.reshape(count, 2, weights.shape[0] // count // 2, -1)
            return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weights.shape))
    return weights


@pytest.mark.parametrize("as_folder", [False, True])
def test_the_model_is_the_one_that_was_written(model: Any, file: Path, as_folder: bool) -> None:
    loaded = load(file.parent if as_folder else str(file))
    assert isinstance(loaded.model, hf.LlamaForCausalLM)
    assert loaded.missing == ()
    assert not loaded.model.training
    ids = torch.tensor([[5, 40, 41, 7, 100]])
    with torch.no_grad():
        assert torch.allclose(loaded.model(ids).logits, model(ids).logits, atol=1e-4)
    assert loaded.tokenizer.convert_ids_to_tokens(loaded.tokenizer("he")["input_ids"]) == ["he"]
    attention: Any = attend(loaded.model, loaded.tokenizer, "he said")
    assert attention.n_layers == 2
    assert attention.causal


def test_nothing_is_printed(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _ = load(file)
    assert capfd.readouterr() == ("", "")


def test_several_files_in_a_folder_are_refused(file: Path, tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).symlink_to(file)
    with pytest.raises(InputError, match=r"2 GGUF files: a.gguf, b.gguf. Pass the path of one"):
        _ = load(tmp_path)
    assert load(tmp_path / "a.gguf").tokenizer is not None


def test_a_folder_with_config_is_an_ordinary_one(file: Path, tmp_path: Path) -> None:
    model = hf.BertModel(hf.BertConfig(vocab_size=8, **SIZES, num_attention_heads=2))
    model.save_pretrained(tmp_path)
    (tmp_path / "other.gguf").symlink_to(file)
    assert isinstance(load(tmp_path).model, hf.BertModel)


def test_a_broken_file_is_an_error_in_one_sentence(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    _ = path.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match=r"broken.gguf cannot be loaded: the file is .*damaged"):
        _ = load(path)
    _ = path.write_bytes(b"no model at all")
    with pytest.raises(InputError, match=r"broken.gguf cannot be loaded: the file is .*damaged"):
        _ = load(path)


def test_a_missing_package_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "gguf" else find(name)
    )
    with pytest.raises(MissingDependencyError, match="pip install gguf accelerate"):
        _ = load(file)


def test_code_beside_the_file_is_not_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.gguf").symlink_to(file)
    given: list[dict[str, Any]] = []
    auto: Any = hf.AutoTokenizer
    original = auto.from_pretrained

    def recorded(*args: Any, **settings: Any) -> Any:
        given.append(settings)
        return original(*args, **settings)

    monkeypatch.setattr(auto, "from_pretrained", recorded)
    assert load(tmp_path).tokenizer is not None
    assert [settings["trust_remote_code"] for settings in given] == [False]


def test_a_folder_that_cannot_be_read_is_an_error_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        _ = load(tmp_path)
