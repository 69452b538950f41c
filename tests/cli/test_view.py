"""`attnflow view`: texts and files in, one page out."""

import json
import re
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import Result

import attnflow as af
from attnflow import paper
from attnflow.evaluate import explain
from attnflow.importance import Importance
from attnflow.types import random_attention
from attnflow.view import to_html
from sink_models import put_in_sinks

Run = Callable[..., Result]
TEXT = "the key to the cabinets"


def _document(page: Path) -> dict[str, Any]:
    (text,) = re.findall(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>',
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    return json.loads(text)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def test_a_text_is_explained_by_the_shipped_model(run: Run, page: Path) -> None:
    result = run("view", TEXT, "--out", page)
    assert result.exit_code == 0, result.stderr
    shipped = paper.load()
    assert page.read_text() == to_html(explain(shipped.model, shipped.tokenizer, TEXT))
    assert re.fullmatch(
        rf"wrote {re.escape(str(page))}: \d+ kB, singular, 6 layers, 7 tokens\n", result.stdout
    )
    assert result.stderr == ""


def test_settings_reach_the_page(run: Run, page: Path) -> None:
    options = ["--layer", 2, "--query", 6, "--title", "<Mine>", "--heads", "mean", "--threads", 1]
    assert run("view", TEXT, "--out", page, *options, "--target", "plural").exit_code == 0
    document = _document(page)
    assert (document["layer"], document["query"], document["title"]) == (2, 6, "<Mine>")
    assert document["attention"]["heads"] is None
    shipped = paper.load()
    other = explain(shipped.model, shipped.tokenizer, TEXT, target="plural")
    expected = other.importance["blank_out"].values.tolist()
    assert document["importance"][0]["values"] == expected


def test_importance_against_another_answer_reaches_the_page(run: Run, page: Path) -> None:
    given = ["--target", "plural", "--against", "singular"]
    assert run("view", TEXT, "--out", page, *given).exit_code == 0
    shipped = paper.load()
    other = explain(shipped.model, shipped.tokenizer, TEXT, target="plural", against="singular")
    expected = other.importance["blank_out"].values.tolist()
    assert _document(page)["importance"][0]["values"] == expected


def test_the_page_switches_between_edges(run: Run, page: Path) -> None:
    result = run("view", TEXT, "--edges", "attention, norms,alti", "--out", page)
    assert result.exit_code == 0, result.stderr
    document = _document(page)
    names = [document["edges"], *(other["edges"] for other in document["other_edges"])]
    assert names == ["attention", "norms", "alti"]
    shipped = paper.load()
    explained = explain(
        shipped.model, shipped.tokenizer, TEXT, edges=("attention", "norms", "alti")
    )
    assert page.read_text() == to_html(explained)


def test_a_note_says_that_effective_attention_equals_attention(run: Run, page: Path) -> None:
    result = run("view", TEXT, "--edges", "effective", "--out", page)
    assert result.exit_code == 0
    assert "note: effective attention equals attention here" in result.stderr


def test_edges_alone_take_the_place_of_attention(run: Run, page: Path) -> None:
    assert run("view", TEXT, "--edges", "norms", "--out", page).exit_code == 0
    document = _document(page)
    assert (document["edges"], document["attention"], document["other_edges"]) == (
        "norms",
        None,
        [],
    )
    assert document["prediction"]["label"] == "singular"


def test_the_text_comes_from_a_file_or_the_standard_input_too(
    run: Run, page: Path, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    _ = path.write_text(f"{TEXT}\n", encoding="utf-8")
    assert run("view", "--file", path, "--out", page).exit_code == 0
    assert _document(page)["text"] == TEXT


def test_a_decoder_opens_corrected_unless_it_is_said_not_to(
    run: Run, page: Path, tmp_path: Path
) -> None:
    file = tmp_path / "decoder.npz"
    random_attention(2, 1, 4, causal=True).save(file)
    for option, opens in ((None, True), ("--no-receptive-field", False), ("--receptive-field", 1)):
        assert run("view", file, "--out", page, *([option] if option else [])).exit_code == 0
        assert _document(page)["receptive_field"] is bool(opens)
    wrong = run("view", TEXT, "--out", page, "--receptive-field")
    assert (wrong.exit_code, "is only for causal attention" in wrong.stderr) == (1, True)


def test_sinks_are_taken_out_and_noted_unless_they_are_kept(
    run: Run, page: Path, tmp_path: Path
) -> None:
    file = tmp_path / "sink.npz"
    weights = [[[[0.7, 0.1, 0.1, 0.1]] * 4]]
    af.Attention(weights, ["<s>", "a", "b", "c"]).save(file)
    removed = run("view", file, "--out", page)
    assert removed.exit_code == 0, removed.stderr
    assert "position 0 <s> receives 70 %" in removed.stderr
    assert "the page opens without it" in removed.stderr
    assert (_document(page)["sinks"], _document(page)["keep_sinks"]) == ([0], False)
    kept = run("view", file, "--out", page, "--sinks", "keep")
    assert kept.stderr == ""
    assert _document(page)["keep_sinks"] is True


def test_the_note_about_sinks_is_about_the_edges_that_the_page_opens_with(
    run: Run, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnflow.evaluate._explain._is_small_plain", lambda _: False)
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 0)
    alone = run("view", TEXT, "--out", page)
    assert "note: position 0 [CLS] receives" in alone.stderr
    for edges, named in (("norms", False), ("norms,attention", False), ("attention,norms", True)):
        result = run("view", TEXT, "--edges", edges, "--out", page)
        assert result.exit_code == 0, result.stderr
        assert ("note: edges attention: position 0 [CLS] receives" in result.stderr) is named
        assert ("the page opens without" in result.stderr) is named
        assert _document(page)["sinks"] == ([0] if named else [])


def test_words_that_are_not_in_the_vocabulary_are_noted(run: Run, page: Path) -> None:
    result = run("view", "The qwertyish key", "--out", page)
    assert result.exit_code == 0
    assert "note: not in the model's vocabulary: qwertyish" in result.stderr


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("kind", ["attention", "graph", "scores", "encoder-decoder"])
def test_a_file_is_known_by_what_it_holds(
    run: Run, page: Path, tmp_path: Path, kind: str, suffix: str
) -> None:
    attention = random_attention(2, 2, 4, seed=1, tokens=["a", "b", "c", "d"])
    decoder = random_attention(1, 2, 4, causal=True).weights
    shown: Any = {
        "attention": attention,
        "graph": attention.graph(),
        "scores": af.rollout(attention),
        "encoder-decoder": af.EncoderDecoderAttention(
            attention.weights, decoder, attention.weights[:1]
        ),
    }[kind]
    source = tmp_path / f"shown.{suffix}"
    shown.save(source)
    result = run("view", source, "--out", page)
    assert result.exit_code == 0, result.stderr
    assert page.read_text() == to_html(shown)


def test_an_earlier_page_is_replaced_completely_or_not_at_all(
    run: Run, page: Path, tmp_path: Path, attention_file: Path
) -> None:
    _ = page.write_text("earlier")
    broken = tmp_path / "broken.npz"
    _ = broken.write_bytes(attention_file.read_bytes()[:100])
    assert run("view", broken, "--out", page).exit_code == 1
    assert page.read_text() == "earlier"
    assert run("view", attention_file, "--out", page).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "attention.npz",
        "broken.npz",
        "page.html",
    ]


@pytest.mark.parametrize("found", [True, False])
def test_the_page_is_opened_where_there_is_a_browser(
    run: Run, page: Path, attention_file: Path, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    opened: list[str] = []

    def open_address(address: str) -> bool:
        opened.append(address)
        return found

    monkeypatch.setattr(webbrowser, "open", open_address)
    result = run("view", attention_file, "--out", page, "--open")
    assert result.exit_code == 0
    assert opened == [page.resolve().as_uri()]
    assert ("no browser was found" in result.stderr) == (not found)


def test_nothing_is_opened_unasked(
    run: Run, page: Path, attention_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("a browser was opened"))
    assert run("view", attention_file, "--out", page).exit_code == 0


WORDS = ["[PAD]", "[UNK]", "[MASK]", "good", "bad", "a", "film"]
SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "pad_token_id": 0,
}


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Any], Path]:
    """The folder of a small model with random weights, and a tokenizer of whole words."""

    def save(model: Any) -> Path:
        folder = tmp_path / "model"
        names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
        numbers = {word: number for number, word in enumerate(WORDS)}
        words = Tokenizer(models.WordLevel(numbers, unk_token=names["unk_token"]))
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        _ = hf.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)
        model.save_pretrained(folder)
        return folder

    return save


def test_a_model_without_a_head_is_shown_with_a_note(
    run: Run, page: Path, saved: Callable[[Any], Path]
) -> None:
    folder = saved(hf.BertModel(hf.BertConfig(**SMALL)))
    result = run("view", "a good film", "--model", folder, "--out", page)
    assert result.exit_code == 0, result.stderr
    note = "note: the page shows only attention, without a prediction: BertModel: expected"
    assert result.stderr.startswith(note)
    document = _document(page)
    assert (document["prediction"], document["importance"]) == (None, [])
    assert document["tokens"] == ["a", "good", "film"]
    assert document["text"] == "a good film"


def test_edges_of_a_model_without_a_head_are_shown_with_a_note(
    run: Run, page: Path, saved: Callable[[Any], Path]
) -> None:
    folder = saved(hf.BertModel(hf.BertConfig(**SMALL)))
    options = ["--model", folder, "--edges", "norms,attention", "--out", page]
    result = run("view", "a good film", *options)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("note: the page shows only norms, attention, without a pred")
    document = _document(page)
    assert (document["edges"], document["prediction"]) == ("norms", None)
    assert document["other_edges"][0]["attention"]["heads"]["shape"] == [2, 2, 3, 3]


def test_edges_that_a_model_does_not_have_are_an_error(
    run: Run, page: Path, saved: Callable[[Any], Path]
) -> None:
    folder = saved(hf.BertModel(hf.BertConfig(**SMALL)))
    result = run("view", "a film", "--model", folder, "--edges", "gradient", "--out", page)
    assert result.exit_code == 1
    assert "expected an output with logits" in result.stderr
    assert not page.exists()


def test_an_encoder_decoder_is_shown_with_a_note(
    run: Run, page: Path, saved: Callable[[Any], Path]
) -> None:
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    sizes |= {"vocab_size": len(WORDS), "pad_token_id": 0, "decoder_start_token_id": 0}
    config = hf.T5Config(**sizes, eos_token_id=None)
    folder = saved(hf.T5ForConditionalGeneration(config))
    result = run("view", "a good film", "--model", folder, "--out", page)
    assert result.exit_code == 0, result.stderr
    assert "is an encoder-decoder" in result.stderr
    document = _document(page)
    assert document["tokens"][:3] == ["a", "good", "film"]
    assert len(document["graph"]) == 3


def test_options_about_an_answer_that_there_is_none_of_are_an_error(
    run: Run, page: Path, saved: Callable[[Any], Path]
) -> None:
    folder = saved(hf.BertModel(hf.BertConfig(**SMALL)))
    result = run("view", "a film", "--model", folder, "--out", page, "--target", "0")
    assert result.exit_code == 1
    assert "makes no prediction; leave out --target to view its attention" in result.stderr
    assert "expected an output with logits" in result.stderr
    assert not page.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "--out"),
        (["--out", "page.html"], 2, "expected one of TEXT, FILE"),
        ([TEXT, "--file", "x.txt", "--out", "page.html"], 2, "expected one of TEXT, FILE"),
        ([TEXT, "--out", "page.txt"], 2, "expected a name that ends in .html"),
        ([TEXT, "--out", "-"], 2, "expected a name that ends in .html"),
        ([TEXT, "--out", "folder.html"], 2, "expected a file, got the folder"),
        ([TEXT, "--out", "nowhere/page.html"], 2, "the folder 'nowhere' does not exist"),
        ([TEXT, "--out", f"{'x' * 300}.html"], 2, "cannot be a path"),
        (["missing.npz", "--out", "page.html"], 1, "missing.npz does not exist"),
        (["text.txt", "--out", "page.html"], 2, "Pass --file to read its text"),
        (["text.npz", "--out", "page.html"], 1, "text.npz is not a readable"),
        (["importance.npz", "--out", "page.html"], 1, "importance.npz: expected weights"),
        (["--file", "words.html", "--out", "words.html"], 2, "is the file to read"),
        (["attention.npz", "--out", "page.html", "--model", "m"], 2, "has no meaning with the"),
        (["attention.npz", "--out", "page.html", "--edges", "norms"], 2, "'--edges'"),
        ([TEXT, "--out", "page.html", "--edges", "best"], 2, "got 'best'"),
        ([TEXT, "--out", "page.html", "--edges", "norms,"], 2, "got ''"),
        ([TEXT, "--out", "page.html", "--edges", "norms,norms"], 2, "expected distinct names"),
        (["attention.npz", "--out", "page.html", "--layout", "l.json"], 2, "the computed arrays"),
        (["attention.npz", "--out", "page.html", "--truncate"], 2, "has no meaning with the"),
        (
            ["attention.npz", "--out", "page.html", "--layer", "4"],
            1,
            "--layer must be 1 to 3",
        ),
        (
            ["attention.npz", "--out", "page.html", "--query", "4"],
            1,
            "--query must be 0 to 3",
        ),
        (["attention.npz", "--out", "page.html", "--heads", "some"], 2, "--heads"),
        (["", "--out", "page.html"], 1, "TEXT is empty"),
        (["x" * 5000, "--out", "folder.html"], 2, "expected a file, got the folder"),
        ([TEXT, "--out", "page.html", "--layer", "7"], 1, "error: --layer must be 1 to 6, got 7"),
        ([TEXT, "--out", "page.html", "--target", "dual"], 1, "singular, plural"),
        (["word " * 100, "--out", "page.html"], 1, "--truncate"),
        ([TEXT, "--out", "page.html", "--model", "no/such/folder"], 1, "no/such/folder"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    run: Run,
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    attention_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(attention_file.parent)
    Importance([0.5], ["a"], "blank_out").save("importance.npz")
    (tmp_path / "folder.html").mkdir()
    for name in ("text.txt", "text.npz", "words.html"):
        _ = (tmp_path / name).write_text("the key")
    before = sorted(tmp_path.iterdir())
    result = run("view", *arguments)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_single_heads_of_an_encoder_decoder_are_refused_with_the_reason(
    run: Run, page: Path, tmp_path: Path
) -> None:
    one = [[[[1.0]]]]
    af.EncoderDecoderAttention(one, one, one).save(tmp_path / "pair.npz")
    result = run("view", tmp_path / "pair.npz", "--out", page, "--heads", "all")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: --heads must not be 'all': ")
    assert "those of an encoder-decoder, a graph, scores or a mean" in result.stderr


def test_a_folder_that_no_file_can_be_written_to_is_an_error_before_any_work(
    run: Run, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    result = run("view", TEXT, "--out", page, "--model", "no/such/model")
    assert result.exit_code == 2
    assert "no file can be written" in " ".join(result.stderr.split())


def test_a_disk_that_is_full_is_an_error(
    run: Run, page: Path, attention_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = run("view", attention_file, "--out", page)
    assert result.exit_code == 1
    assert "cannot be written: No space left on device" in result.stderr
    assert [path.name for path in page.parent.iterdir()] == ["attention.npz"]
