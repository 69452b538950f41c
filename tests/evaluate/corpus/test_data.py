"""Data files: every format gives the same texts, and what is wrong is named with its place."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from attnflow.errors import InputError
from attnflow.evaluate import EvaluationPlan, LabelledText
from attnflow.evaluate.corpus._data import Corpus, open_corpus

TEXTS = ["the key, to the cabinets", 'a "quoted" word', "ünïcödé 日本", "", "x " * 10_000]
LABELS = [0, 1, 1, 0, 1]
BOTH = EvaluationPlan(target="label", metrics=("spearman", "pointing"))


def _open(path: Path, plan: EvaluationPlan | None = None, **given: Any) -> Corpus:
    names = ("text_column", "label_column", "position_column", "limit")
    settings: dict[str, Any] = {**dict.fromkeys(names), "part_size": 2, **given}
    return open_corpus(path, plan or EvaluationPlan(), **settings)


def _texts(path: Path, plan: EvaluationPlan | None = None, **given: Any) -> list[LabelledText]:
    corpus = _open(path, plan, **given)
    return [text for part in corpus.parts(corpus.scan()) for text in part.texts]


def _write(path: Path, content: str | bytes) -> Path:
    _ = path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _write_tsv(path: Path) -> Path:
    rows = [f"{text}\t{label}\t{at}" for at, (text, label) in enumerate(_rows())]
    return _write(path / "data.tsv", "\n".join(["sentence\tlabel\tposition", *rows]) + "\n")


def _write_csv(path: Path) -> Path:
    quoted = [(text.replace('"', '""'), label) for text, label in _rows()]
    rows = [f'"{text}",{label},{at}' for at, (text, label) in enumerate(quoted)]
    return _write(path / "data.csv", "\r\n".join(["text,label,position", *rows]) + "\r\n")


def _write_jsonl(path: Path) -> Path:
    rows = [
        json.dumps({"id": "a", "text": text, "label": label, "position": at})
        for at, (text, label) in enumerate(_rows())
    ]
    return _write(path / "data.jsonl", "\n".join(rows))  # without a last line break


def _table() -> pa.Table:
    return pa.table({"text": TEXTS, "label": LABELS, "position": range(len(TEXTS))})


def _write_parquet(path: Path) -> Path:
    parquet.write_table(_table(), path / "data.parquet", row_group_size=2)
    return path / "data.parquet"


def _write_dataset(path: Path, shards: Sequence[pa.Table] | None = None) -> Path:
    """The files that `save_to_disk` of Hugging Face datasets 4 writes, in two shards."""
    folder = path / "data"
    folder.mkdir()
    shards = shards or (_table()[:3], _table()[3:])
    names = [f"data-{number:05}-of-{len(shards):05}.arrow" for number in range(len(shards))]
    for name, rows in zip(names, shards, strict=True):
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, rows.schema) as s:
            s.write_table(rows)
    state = {"_data_files": [{"filename": name} for name in names], "_indices_files": None}
    _ = _write(folder / "state.json", json.dumps(state))
    return folder


def _rows() -> list[tuple[str, int]]:
    return list(zip(TEXTS, LABELS, strict=True))


WRITERS = [_write_tsv, _write_csv, _write_jsonl, _write_parquet, _write_dataset]


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_gives_the_texts_labels_and_positions(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    expected = [LabelledText(text, label, at) for at, (text, label) in enumerate(_rows())]
    assert _texts(write(tmp_path), BOTH) == expected


def test_all_formats_have_one_digest(tmp_path: Path) -> None:
    digests = {_open(write(tmp_path), BOTH).scan().digest for write in WRITERS}
    assert len(digests) == 1


def test_lines_of_text_are_texts_whatever_they_contain(tmp_path: Path) -> None:
    path = _write(tmp_path / "texts.txt", '\ufeffone\r\n\n\tthree, "3"\nlast')
    assert [text.text for text in _texts(path)] == ["one", "", '\tthree, "3"', "last"]


def test_a_quoted_field_may_have_line_breaks(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", 'text,n\n"one\ntwo",1\nthree,2\n')
    assert [text.text for text in _texts(path)] == ["one\ntwo", "three"]
    path = _write(tmp_path / "b.csv", 'text,n\n"one\ntwo",1\nthree\n')
    with pytest.raises(InputError, match=r"line 4: expected 2 fields \(text, n\), got 1"):
        _ = _texts(path)


def test_a_field_may_be_longer_than_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    before = csv.field_size_limit(131_072)
    try:
        path = _write(tmp_path / "a.csv", f"text,n\n{'x' * 200_000},1\n")
        assert [len(text.text) for text in _texts(path)] == [200_000]
    finally:
        _ = csv.field_size_limit(before)


def test_parts_are_the_same_however_the_data_is_limited(tmp_path: Path) -> None:
    path = _write_tsv(tmp_path)
    corpus = _open(path)
    parts = list(corpus.parts(corpus.scan()))
    assert [(part.number, part.first, len(part.texts)) for part in parts] == [
        (0, 0, 2), (1, 2, 2), (2, 4, 1),
    ]  # fmt: skip
    fewer = _open(path, limit=4)
    assert list(fewer.parts(fewer.scan())) == parts[:2]


def test_the_digest_of_the_data_does_not_depend_on_the_size_of_parts(tmp_path: Path) -> None:
    path = _write_tsv(tmp_path)
    assert _open(path).scan().digest == _open(path, part_size=3).scan().digest
    assert _open(path).scan().digest != _open(path, limit=3).scan().digest


def test_labels_of_text_files_are_numbers_or_names(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "text\tlabel\na\t1\nb\tplural\nc\t-1\n")
    plan = EvaluationPlan(target="label")
    assert [text.label for text in _texts(path, plan)] == [1, "plural", -1]
    assert _open(path, plan).scan().labels == {1: 2, "plural": 3, -1: 4}


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.tsv", "id\tsentence\n1\ta\n", "sentence"),
        ("a.csv", "sentence,text\na,b\n", "text"),
        ("a.csv", "words\na\n", "words"),
        ("a.csv", '"text, raw"\na\n', "text, raw"),
        ("a.jsonl", '{"id": 1, "words": "a"}\n', "words"),
    ],
)
def test_the_text_column_is_found(tmp_path: Path, name: str, content: str, column: str) -> None:
    assert _open(_write(tmp_path / name, content)).text_column == column


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"good\nbad \xff\xfe\n", r"a.txt, line 2: byte 5 of the line \(0xff\) is not"),
        ("a.tsv", b"text\nd\xe9j\xe0 vu\n", r"line 2: byte 2 of the line \(0xe9\) is not UTF-8"),
        ("a.txt", "text".encode("utf-16"), r"line 1: byte 1 of the line \(0xff\) is not UTF-8"),
        ("a.txt", "text".encode("utf-16-le"), "line 1: character 2 of the line is NUL.*UTF-16"),
        ("a.csv", "text,n\n".encode("utf-16-be"), "line 1: character 1 of the line is NUL"),
        ("a.txt", b"one\rtwo\rthree\r", r"has carriage returns \(CR\) and no line feeds"),
        ("a.csv", b"text;label\na;1\n", "expected a comma between .*, got a semicolon: 'text;lab"),
        ("a.csv", b"text\tlabel\na\t1\n", "expected a comma between the names .*, got a tab"),
        ("a.tsv", b"text,label\na,1\n", "expected a tab between the names .*, got a comma"),
        ("a.json", b'[{"text": "a"}]', "got a .json file. Save it as JSON lines, with .* .jsonl"),
        ("a.tsv.gz", b"\x1f\x8b", r"is compressed \(.gz\).*Decompress it first"),
        ("a.jsonl", b"{}\n", "text_column: .*, got None. It has no columns$"),
        ("a.txt", b"", "has no texts"),
        ("a.tsv", b"", "is empty: expected a header"),
        ("a.tsv", b"text\tlabel\n", "has no texts"),
        ("a.jsonl", b"", "is empty: expected one JSON object a line"),
        ("a.tsv", b"text\tn\na\t1\nb\n", r"line 3: expected 2 fields \(text, n\), got 1"),
        ("a.tsv", b"text\tn\na\t1\n\n", r"line 3: expected 2 fields \(text, n\), got 1"),
        ("a.csv", b"text,n\na,1,2\n", r"line 2: expected 2 fields \(text, n\), got 3"),
        ("a.csv", b'text\n"a\n', "line 2: not comma-separated values: unexpected end of data"),
        ("a.csv", b'text\n"a"b\n', "line 2: not comma-separated values"),
        ("a.csv", b"text,text\na,b\n", "expected different names in the header"),
        ("a.tsv", b"one\ttwo\na\tb\n", "text_column: expected the name .* columns: one, two"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2: expected a JSON object, got"),
        ("a.jsonl", b'{"text": "a"}\n\n', "line 2: expected a JSON object, got"),
        ("a.jsonl", b'["a"]\n', "line 1: expected a JSON object, got list"),
        ("a.jsonl", b'{"text": "a"}\n{"id": 1}\n', "line 2: expected a value for 'text', got only"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 1}\n', "line 2: expected a text in the column"),
        ("a.jsonl", rb'{"text": "a \ud800"}', "character 3 of the text is '.ud800'"),
        ("a.parquet", b"no parquet", "cannot be read as a Parquet file"),
    ],
)
def test_broken_files_are_errors_that_name_the_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = _texts(_write(tmp_path / name, content))


def test_a_line_that_has_no_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnflow.evaluate.corpus._text_files._MAX_LINE", 10)
    with pytest.raises(InputError, match="line 2: expected at most 10 bytes in a line"):
        _ = _texts(_write(tmp_path / "a.txt", "a\n" + 11 * "b"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text_column": "words"}, "text_column: .* has no column 'words'. Its columns: text, n"),
        ({"plan": EvaluationPlan(target="label")}, "label_column: .* has no column 'label'"),
        (
            {"plan": EvaluationPlan(metrics=("pointing",))},
            "position_column: .* no column 'position'",
        ),
        ({"label_column": "n"}, "label_column must be left out without target='label'"),
        ({"position_column": "n"}, "position_column must be left out without the metric"),
        ({"limit": 0}, "limit must be 1 or more, got 0"),
        ({"part_size": 0}, "part_size must be 1 or more, got 0"),
    ],
)
def test_columns_are_checked_and_those_there_are_named(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = _open(_write(tmp_path / "a.csv", "text,n\na,1\n"), **given)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"label": None}, "row 1: expected a number or a name in the column 'label', got"),
        ({"label": True}, "expected a number or a name"),
        ({"label": 0.5}, "expected a number or a name"),
        ({"position": -1}, "expected a number of 0 or more in the column 'position', got -1"),
        ({"position": None}, "expected a number of 0"),
        ({"text": None}, "expected a text in the column 'text', got None"),
    ],
)
def test_values_of_another_type_are_errors(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    full = {"text": "a", "label": 1, "position": 0} | row
    path = tmp_path / "a.parquet"
    table = pa.table({name: [value] for name, value in full.items()})
    parquet.write_table(table, path)
    with pytest.raises(InputError, match=message):
        _ = _texts(path, BOTH, text_column="text")


def test_a_carriage_return_within_a_text_is_kept(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "one\rstill one\ntwo\r\n")
    assert [text.text for text in _texts(path)] == ["one\rstill one", "two"]
    assert [text.text for text in _texts(_write(tmp_path / "b.txt", "one\r"))] == ["one"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_type_of_strings_of_arrow_is_text(tmp_path: Path, kind: Any) -> None:
    table = pa.table({"id": pa.array(["a"]), "text": pa.array(["the key"], kind)})
    assert _texts(_write_dataset(tmp_path, [table])) == [LabelledText("the key")]


def test_a_column_that_is_no_text_is_named_with_its_type(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": [b"the key"], "n": [1]}), tmp_path / "a.parquet")
    message = r"no column of strings with the name text .* columns: text \(binary\), n \(int64\)"
    with pytest.raises(InputError, match=message):
        _ = _texts(tmp_path / "a.parquet")


def test_text_of_a_parquet_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    values = pa.array([b"good", b"b\xff"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"text": values}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="row 2: byte 2 of the text is not UTF-8"):
        _ = _texts(tmp_path / "a.parquet")


def test_a_dataset_with_splits_or_indices_says_what_to_pass(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    _ = _write(folder / "dataset_dict.json", '{"splits": ["train"]}')
    _ = _write_dataset(folder).rename(folder / "train")
    with pytest.raises(InputError, match=r"several splits: train. Pass the folder of one, as in"):
        _ = _open(folder)
    assert len(_texts(folder / "train")) == len(TEXTS)
    state = json.loads((folder / "train" / "state.json").read_text("utf-8"))
    _ = _write(folder / "train" / "state.json", json.dumps({**state, "_indices_files": [{}]}))
    with pytest.raises(InputError, match=r"flatten_indices\(\)"):
        _ = _open(folder / "train")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "expected a folder that save_to_disk .* with other"),
        ("{", "does not list the files of a dataset"),
        ('{"_data_files": []}', "expected a dataset with at least one row"),
        ('{"_data_files": [{"filename": "../a.arrow"}]}', "expected names of files"),
        ('{"_data_files": [{"filename": "other"}]}', "other cannot be read as an Arrow file"),
    ],
)
def test_a_folder_that_is_no_dataset_is_an_error(
    tmp_path: Path, state: str | None, message: str
) -> None:
    _ = _write(tmp_path / "other", "")
    if state is not None:
        _ = _write(tmp_path / "state.json", state)
    with pytest.raises(InputError, match=message):
        _ = _open(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in ("a.txt", "a.tsv", "a.parquet"):
        with pytest.raises(InputError, match=f"{name} does not exist"):
            _ = _texts(tmp_path / name)


def test_data_that_changes_between_two_passes_is_an_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "one\ntwo\nthree\nfour\n")
    corpus = _open(path)
    scan = corpus.scan()
    for changed in ("one\ntwo\nthree\n4\n", "one\ntwo\n", "one\ntwo\nthree\nfour\nfive\n"):
        _ = _write(path, changed)
        parts = corpus.parts(scan)
        assert next(parts).texts == (LabelledText("one"), LabelledText("two"))
        with pytest.raises(InputError, match="was changed during the run"):
            _ = list(parts)
