"""Reading SST-2: the files of GLUE, and files that are not."""

import re
from pathlib import Path

import pytest

from attnflow import InputError
from attnflow.paper import Review, read_sst2


def _write(folder: Path, name: str, content: str) -> Path:
    _ = (folder / name).write_bytes(content.encode())
    return folder


def test_a_split_is_its_sentences_and_labels_in_order(tmp_path: Path) -> None:
    content = "\ufeffsentence\tlabel\r\na charming journey \t1\r\n\r\nbleak\t0\r\n"
    folder = _write(tmp_path, "dev.tsv", content)
    assert read_sst2(folder, "dev") == [Review("a charming journey", 1), Review("bleak", 0)]


def test_columns_may_come_in_any_order_and_quotes_are_text(tmp_path: Path) -> None:
    folder = _write(tmp_path, "train.tsv", 'label\tindex\tsentence\n1\t7\t"so" good\n')
    assert read_sst2(folder, "train") == [Review('"so" good', 1)]


@pytest.mark.parametrize("name", ["test.tsv", "test_unlabelled.tsv"])
def test_the_test_split_has_no_labels(tmp_path: Path, name: str) -> None:
    folder = _write(tmp_path, name, "index\tsentence\n0\tuneasy mishmash\n")
    assert read_sst2(folder, "test") == [Review("uneasy mishmash", None)]


@pytest.mark.parametrize("inner", ["sst2", "SST-2"])
def test_a_folder_of_data_sets_is_searched(tmp_path: Path, inner: str) -> None:
    (tmp_path / inner).mkdir()
    _ = _write(tmp_path / inner, "dev.tsv", "sentence\tlabel\nbleak\t0\n")
    assert read_sst2(tmp_path, "dev") == [Review("bleak", 0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\tlabel\nbleak\t0\n", "sentence missing in ['text', 'label']"),
        ("sentence\nbleak\n", "label missing in ['sentence']"),
        ("", "sentence, label missing in ['']"),
        ("sentence\tlabel\n", "expected sentences, got none"),
        ("sentence\tlabel\nfine\t1\nbleak\n", "line 3: expected 2 tab-separated fields, got 1"),
        ("sentence\tlabel\nbleak\t2\n", "line 2: expected the label 0 or 1, got '2'"),
        ("sentence\tlabel\n \t1\n", "line 2: expected a sentence, got none"),
    ],
)
def test_a_file_that_is_not_sst2_is_an_input_error(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _ = read_sst2(_write(tmp_path, "dev.tsv", content), "dev")


def test_a_missing_file_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected train\.tsv of SST-2 in .*, got no files"):
        _ = read_sst2(tmp_path, "train")
    _ = _write(tmp_path, "dev.tsv", "")
    expected = r"expected test\.tsv or test_unlabelled\.tsv of SST-2 in .*, got dev\.tsv"
    with pytest.raises(InputError, match=expected):
        _ = read_sst2(tmp_path, "test")


def test_a_folder_that_does_not_exist_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        _ = read_sst2(tmp_path / "nowhere", "dev")
    with pytest.raises(InputError, match="expected a folder, got the file"):
        _ = read_sst2(_write(tmp_path, "dev.tsv", "") / "dev.tsv", "dev")
    with pytest.raises(InputError, match="part must be one of train, dev, test, got 'validation'"):
        _ = read_sst2(tmp_path, "validation")  # pyright: ignore[reportArgumentType]


def test_the_real_splits_have_their_known_sizes(data: Path) -> None:
    sizes = {"train": 67_349, "dev": 872, "test": 1821}
    for part, size in sizes.items():
        reviews = read_sst2(data, part)  # pyright: ignore[reportArgumentType]
        assert len(reviews) == size
        assert {review.label for review in reviews} == ({None} if part == "test" else {0, 1})
