"""`attnflow reproduce figure-4 --data`: counts over Winogender and WinoBias next to the figure."""

import csv
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import attnflow
from attnflow.models import Loaded
from attnflow.paper.data._winobias import WINOBIAS_FILES

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def gpt(varied_gpt: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a decoder that knows the words of `winogender`."""
    folder = tmp_path_factory.mktemp("gpt")
    _ = varied_gpt.tokenizer.save_pretrained(folder)
    varied_gpt.model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def winogender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sentences with two pronouns each, and a broken row."""
    rows = ["sentid\tsentence"]
    for one, other in itertools.permutations(("author", "book", "love", "house"), 2):
        for gender, pronoun in (("male", "his"), ("female", "her")):
            sentence = f"The {one} saw the {other} at {pronoun} door."
            rows.append(f"{one}.{other}.0.{gender}.txt\t{sentence}")
    rows.append("author.book\tThe author saw the book.")
    folder = tmp_path_factory.mktemp("data") / "winogender"
    folder.mkdir()
    _ = (folder / "all_sentences.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.parametrize("inside", [False, True])
def test_counts_are_printed_and_written_next_to_the_figure(
    run: Run, tmp_path: Path, gpt: Path, winogender: Path, inside: bool
) -> None:
    folder = winogender.parent if inside else winogender
    out = tmp_path / "new"
    result = run("reproduce", "figure-4", "--model", gpt, "--data", folder, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "figure-4-winogender.csv", "figure-4-winogender.csv.sentences.csv",
        "figure-4-winogender.svg", "figure-4.svg",
    ]  # fmt: skip
    assert "1 rows could not be read" in result.stderr
    assert "all_sentences.tsv, line 26: expected a sentid such as" in result.stderr
    lines = result.stdout.splitlines()
    heading = next(line for line in lines if line.startswith("Winogender: 25 rows, 12 distinct"))
    with (out / "figure-4-winogender.csv.sentences.csv").open(newline="") as file:
        sentences = list(csv.DictReader(file))
    counted = [row for row in sentences if not row["left_out"]]
    assert len(sentences) == 12
    assert heading.endswith(f"{len(counted)} counted")
    reported = sum(int(line.split()[0]) for line in lines if " left out: " in line)
    assert reported == 12 - len(counted)
    with (out / "figure-4-winogender.csv").open(newline="") as file:
        settings = {row["settings"] for row in csv.DictReader(file)}
    assert len(settings) == 1
    stored = json.loads(settings.pop())
    assert (stored["model"], stored["data"], stored["folder"]) == (
        str(gpt), "Winogender", str(folder),
    )  # fmt: skip
    assert (stored["rows"], stored["sentences"]) == (25, 12)
    assert sum(stored["left_out"].values()) == 12 - len(counted)
    assert stored["receptive_field"] is True
    assert stored["attnflow"] == attnflow.__version__
    assert "[95 % Wilson interval]; chance is 0.50" in result.stdout
    rules = ("first candidate", "nearest candidate", "larger support", "larger effect")
    assert sum(line.startswith(tuple(f"| {rule}" for rule in rules)) for line in lines) == 4
    assert "corrected for the receptive field" in result.stdout
    assert sum(line.startswith(("| 1 ", "| 2 ", "| 3 ")) for line in lines) == 3
    assert (out / "figure-4-winogender.svg").read_bytes().startswith(b"<?xml")


def test_the_same_sentences_in_the_files_of_winobias_give_the_same_shares(
    run: Run, tmp_path: Path, gpt: Path, winogender: Path
) -> None:
    nouns, both = ("author", "book", "love", "house"), tmp_path / "both"
    _ = shutil.copytree(winogender, both / "winogender")
    (both / "winobias").mkdir()
    for name in WINOBIAS_FILES:
        pronoun = "his" if name.startswith("pro") else "her"
        lines = [
            f"{number} [The {one}] saw the {other} at [{pronoun}] door."
            for number, (one, other) in enumerate(itertools.permutations(nouns, 2), start=1)
        ]
        lines = {"male_occupations.txt": nouns[:2], "female_occupations.txt": nouns[2:]}.get(
            name, lines
        )
        _ = (both / "winobias" / name).write_text("\n".join(lines) + "\n")
    result = run("reproduce", "figure-4", "--model", gpt, "--data", both, "--out", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "WinoBias: 96 rows, 12 distinct sentences" in result.stdout
    shares: list[list[dict[str, str]]] = []
    for name in ("winogender", "winobias"):
        with (tmp_path / f"figure-4-{name}.csv").open(newline="") as file:
            shares.append(list(csv.DictReader(file)))
    assert len(shares[0]) > 9
    for one, other in zip(*shares, strict=True):
        assert json.loads(one.pop("settings"))["data"] == "Winogender"
        assert json.loads(other.pop("settings"))["data"] == "WinoBias"
        assert one == other


def test_the_format_is_that_of_both_figures(
    run: Run, tmp_path: Path, gpt: Path, winogender: Path
) -> None:
    options = ["--model", gpt, "--data", winogender, "--out", tmp_path, "--format", "png"]
    result = run("reproduce", "figure-4", *options)
    assert result.exit_code == 0, result.stderr
    for name in ("figure-4.png", "figure-4-winogender.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_data_is_an_error_before_any_work(
    run: Run, tmp_path: Path, gpt: Path
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    _ = (data / "notes.txt").write_text("x")
    result = run("reproduce", "figure-4", "--model", gpt, "--data", data, "--out", out)
    assert result.exit_code == 1
    message = " ".join(result.stderr.split())
    assert "expected the folders winogender and winobias" in message
    assert "notes.txt" in message
    assert not out.exists()


def test_the_figure_stays_if_no_sentence_can_be_counted(
    run: Run, tmp_path: Path, gpt: Path
) -> None:
    rows = [
        "sentid\tsentence",
        "author.book.0.male.txt\tThe author saw his book.",
        "author.book.0.female.txt\tThe author saw her book.",
    ]
    _ = (tmp_path / "all_sentences.tsv").write_text("\n".join(rows))
    result = run("reproduce", "figure-4", "--model", gpt, "--data", tmp_path, "--out", tmp_path)
    assert result.exit_code == 1
    assert "a candidate comes after the pronoun" in " ".join(result.stderr.split())
    assert (tmp_path / "figure-4.svg").exists()
