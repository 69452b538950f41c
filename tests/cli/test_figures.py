"""`attnflow reproduce figure-1` to `figure-4`: pictures in a folder."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from attnflow.models import Loaded
from sink_models import put_in_sinks

Run = Callable[..., Result]
HEADS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.fixture(scope="module")
def bert(small_bert: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a masked language model that knows the words of Figure 4."""
    return _saved(small_bert, tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def gpt(small_gpt: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a decoder that knows the words of Figure 4."""
    return _saved(small_gpt, tmp_path_factory.mktemp("gpt"))


def _saved(loaded: Loaded, folder: Path) -> Path:
    _ = loaded.tokenizer.save_pretrained(folder)
    loaded.model.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The cache of the hub is empty, and no network is asked."""
    empty = str(tmp_path_factory.mktemp("hub"))
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", empty)


@pytest.mark.parametrize(
    ("figure", "kind"), [("figure-1", "svg"), ("figure-2", "pdf"), ("figure-3", "png")]
)
def test_a_figure_is_written_and_its_predictions_are_printed(
    run: Run, tmp_path: Path, figure: str, kind: str
) -> None:
    out = tmp_path / "new"
    result = run("reproduce", figure, "--out", out, "--format", kind)
    assert result.exit_code == 0, result.stderr
    *predictions, last = result.stdout.splitlines()
    assert last == f"wrote {out / figure}.{kind}"
    assert predictions[0].startswith("The key to the cabinets <?>: singular 0.9")
    assert len(predictions) == (1 if figure == "figure-1" else 3)
    assert (out / f"{figure}.{kind}").read_bytes().startswith(HEADS[kind])
    assert len(list(out.iterdir())) == 1


def test_the_name_of_a_file_is_refused_as_a_folder(run: Run, tmp_path: Path) -> None:
    result = run("reproduce", "figure-1", "--out", tmp_path / "f.png")
    assert result.exit_code == 2
    assert "which looks like a file" in " ".join(result.stderr.replace("\u2502", "").split())
    assert list(tmp_path.iterdir()) == []


def test_svg_is_the_default_format(run: Run, tmp_path: Path) -> None:
    assert run("reproduce", "figure-1", "--out", tmp_path).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["figure-1.svg"]


def test_figure_4_takes_any_masked_language_model(run: Run, tmp_path: Path, bert: Path) -> None:
    result = run("reproduce", "figure-4", "--model", bert, "--out", tmp_path)
    assert result.exit_code == 0, result.stderr
    first, second, last = result.stdout.splitlines()
    assert first.startswith("The author talked to Sara about [MASK] book: his 0.")
    assert second.startswith("Mary convinced John of [MASK] love: her 0.")
    assert "most probable" in first
    assert last == f"wrote {tmp_path / 'figure-4.svg'}"


def test_figure_4_takes_another_sentence(run: Run, tmp_path: Path, bert: Path) -> None:
    own = ["--sentence", "John talked to Mary of [MASK] book"]
    own += ["--candidates", "John, Mary", "--pronouns", "his,her"]
    result = run("reproduce", "figure-4", "--model", bert, "--out", tmp_path, *own)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("John talked to Mary of [MASK] book: his 0.")
    assert len(result.stdout.splitlines()) == 2


def test_figure_4_says_how_scores_were_made_and_takes_the_papers(
    run: Run, tmp_path: Path, gpt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_sinks(monkeypatch, "attnflow.paper.results._pronouns", 0)
    arguments = ("reproduce", "figure-4", "--model", gpt, "--out", tmp_path)
    made = run(*arguments)
    assert made.exit_code == 0, made.stderr
    text = "The author talked to Sara about"
    assert made.stdout.startswith(
        f"{text} (without The, corrected for the receptive field): his 0."
    )
    assert "without it, --sinks keep puts it back" in made.stderr
    assert "--no-receptive-field leaves it out" in made.stderr
    drawn = (tmp_path / "figure-4.svg").read_bytes()
    assert "Mary convinced John of (Mary is an attention sink, corrected for" in made.stdout
    kept = run(*arguments, "--sinks", "keep")
    assert "is an attention sink" not in kept.stdout
    assert kept.stdout.startswith(f"{text} (corrected for the receptive field): his 0.")
    assert "--sinks" not in kept.stderr
    assert (tmp_path / "figure-4.svg").read_bytes() != drawn
    plain = run(*arguments, "--sinks", "keep", "--no-receptive-field")
    assert plain.stdout.startswith(f"{text}: his 0.")
    assert "note:" not in plain.stderr


def test_without_a_model_figure_4_says_what_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", "figure-4")
    assert result.exit_code == 1
    for part in ("bert-base-uncased", "hf download", "--model"):
        assert part in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_default_model_may_be_a_folder_here(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert-base-uncased").symlink_to(bert)
    assert run("reproduce", "figure-4").exit_code == 0
    assert (tmp_path / "figure-4.svg").exists()


def test_the_default_model_may_be_in_the_cache(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bert: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = tmp_path / "cache"
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(cache))
    state = "0123456789abcdef0123456789abcdef01234567"
    kept = cache / "models--google-bert--bert-base-uncased"
    (kept / "snapshots").mkdir(parents=True)
    (kept / "refs").mkdir()
    _ = (kept / "refs" / "main").write_text(state)
    (kept / "snapshots" / state).symlink_to(bert)
    result = run("reproduce", "figure-4", "--out", tmp_path)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["figure-1", "--out", "no/such"], 2, "does not exist"),
        (["figure-1", "--out", "file"], 2, "got the file 'file'"),
        (["figure-1", "--out", "x" * 300], 2, "cannot be a path"),
        (["figure-1", "--format", "gif"], 2, "--format"),
        (["figure-1", "--model", "."], 1, "not a verb-number model"),
        (["figure-4", "--candidates", "a,b"], 2, "--sentence"),
        (["figure-4", "--sentence", "a [MASK]"], 2, "--candidates"),
        (
            ["figure-4", "--sentence", "a b", "--candidates", "a,b", "--pronouns", "his,her"],
            2,
            "at the position of the pronoun",
        ),
        (["figure-5"], 2, "figure-5"),
    ],
)
def test_bad_input_is_an_error_before_any_work(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    _ = (tmp_path / "file").write_text("")
    result = run("reproduce", *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("figure", ["figure-1", "figure-4"])
def test_a_missing_matplotlib_is_an_error_before_any_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: str
) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    result = run("reproduce", figure, "--out", tmp_path)
    assert result.exit_code == 1
    assert 'pip install "matplotlib>=' in result.stderr


def test_a_classifier_is_refused(run: Run, tmp_path: Path) -> None:
    import attnflow.paper as paper_package

    folder = Path(paper_package.__file__).parent / "verb-number"
    result = run("reproduce", "figure-4", "--model", folder, "--out", tmp_path)
    assert result.exit_code == 1
    assert "a masked language model" in result.stderr
    assert list(tmp_path.iterdir()) == []
